"""What panels draw with: one style per meaning, made from a theme; without colour, from bold, dim and reverse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.style import Style
from textual.color import Color

from specscope.views.widgets.line import Line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.theme import Theme

    from specscope.findings.rule import Severity
    from specscope.session.state import Evidence

_HUES: Final = ("primary", "secondary", "accent", "success", "warning", "error")


@dataclass(frozen=True, eq=False, slots=True)
class Ink:
    """Styles by meaning.

    Attributes:
        ascii: draw with ASCII characters only.
        colour: whether styles may carry colour; without it, shapes must tell everything.
        strong, text, muted, faint: writing, loudest first; ``faint`` is for lines and fillings only.
        good, warn, bad: judgements, always beside a word or a symbol. ``alarm`` is a bad one on a filled ground.
        badge: a neutral mark on a filled ground.
        accepted, rejected, edge: the cycle tape; ``edge`` is accepted above rejected within one cell.
        slots: one style per slot, repeating.
        parts: one style per part of a turn, in the order of ``turn_parts.LETTERS``.
    """

    ascii: bool
    colour: bool
    strong: Style
    text: Style
    muted: Style
    faint: Style
    title: Style
    good: Style
    warn: Style
    bad: Style
    alarm: Style
    badge: Style
    accepted: Style
    rejected: Style
    edge: Style
    slots: tuple[Style, ...]
    parts: tuple[Style, ...]

    def line(self) -> Line:
        """A new row to write on."""
        return Line(self.text, ascii_only=self.ascii)

    def rule(self, name: str, width: int, said: str = "") -> Line:
        """The first row of a panel: its name, a few words, and a rule to the right edge."""
        line = self.line().add("─ ", self.faint).add(name, self.title).add(" ", self.faint)
        if said:
            line.add(said, self.muted).add(" ", self.faint)
        return line.fill(width, "─", self.faint)

    def slot(self, slot: int) -> Style:
        """The style of a slot."""
        return self.slots[slot % len(self.slots)]

    def evidence(self, evidence: Evidence) -> Style:
        """The style of an evidence mark: only a count that parted is loud."""
        return self.bad if evidence == "parted" else self.good if evidence == "exact" else self.muted

    def severity(self, severity: Severity) -> Style:
        """The style of a finding."""
        return {"critical": self.bad, "warning": self.warn, "info": self.muted}[severity]


def ink_from(theme: Theme, *, colour: bool, ascii_only: bool) -> Ink:
    """The ink of a theme."""
    return _coloured(theme.to_color_system().generate(), ascii_only) if colour else _plain(ascii_only)


def _coloured(colours: Mapping[str, str], ascii_only: bool) -> Ink:
    named = {name: Color.parse(colours[name]) for name in ("foreground", "background", *_HUES)}
    front, ground = named["foreground"], named["background"]

    def style(colour: Color, on: Color = ground, *, bold: bool = False) -> Style:
        return Style(color=colour.rich_color, bgcolor=on.rich_color, bold=bold)

    accepted = named["primary"]
    rejected = accepted.blend(ground, 0.68, alpha=1)
    return Ink(
        ascii=ascii_only,
        colour=True,
        strong=style(front, bold=True),
        text=style(front),
        muted=style(front.blend(ground, 0.33, alpha=1)),
        faint=style(front.blend(ground, 0.72, alpha=1)),
        title=style(named["primary"], bold=True),
        good=style(named["success"]),
        warn=style(named["warning"], bold=True),
        bad=style(named["error"], bold=True),
        alarm=style(ground, named["error"], bold=True),
        badge=style(ground, named["warning"], bold=True),
        accepted=style(accepted),
        rejected=style(rejected),
        edge=style(accepted, rejected),
        slots=tuple(style(named[name]) for name in ("primary", "accent", "success", "secondary", "warning")),
        parts=tuple(style(colour) for colour in _part_colours(named)),
    )


def _part_colours(named: Mapping[str, Color]) -> list[Color]:
    """A colour for each part of a turn; the fourth is the hue that is least like the others, for themes differ."""
    front, ground = named["foreground"], named["background"]
    rest = front.blend(ground, 0.6, alpha=1)
    found = [named["primary"], front, named["success"], named["accent"], rest]
    odd = max(("secondary", "warning", "error"), key=lambda hue: min(distance(named[hue], c) for c in found))
    return [*found[:3], named[odd], *found[3:]]


def distance(one: Color, other: Color) -> float:
    """How far apart two colours are, 0 to 442."""
    return sum((a - b) ** 2 for a, b in zip(one.rgb, other.rgb, strict=True)) ** 0.5


def _plain(ascii_only: bool) -> Ink:
    none, bold, dim = Style(), Style(bold=True), Style(dim=True)
    filled = Style(bold=True, reverse=True)
    return Ink(
        ascii=ascii_only,
        colour=False,
        strong=bold,
        text=none,
        muted=none,
        faint=dim,
        title=bold,
        good=none,
        warn=bold,
        bad=bold,
        alarm=filled,
        badge=filled,
        accepted=none,
        rejected=dim,
        edge=none,
        slots=(none,),
        parts=(none,) * 6,
    )
