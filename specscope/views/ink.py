"""What panels draw with: one style per meaning, made from a theme; without colour, from bold, dim and reverse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.style import Style
from textual.color import Color

from specscope.views.widgets.line import Line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from textual.theme import Theme

    from specscope.findings.rule import Severity
    from specscope.session.state import Evidence


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

    def line(self) -> Line:
        """A new row to write on."""
        return Line(ascii_only=self.ascii)

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
    front, ground = Color.parse(colours["foreground"]), Color.parse(colours["background"])

    def style(name: str, towards_ground: float = 0.0, *, bold: bool = False) -> Style:
        colour = Color.parse(colours[name]).blend(ground, towards_ground, alpha=1)
        return Style(color=colour.rich_color, bold=bold)

    rejected = Color.parse(colours["primary"]).blend(ground, 0.68, alpha=1)
    accepted = Color.parse(colours["primary"])
    bad = Color.parse(colours["error"])
    return Ink(
        ascii=ascii_only,
        colour=True,
        strong=Style(color=front.rich_color, bold=True),
        text=style("foreground"),
        muted=style("foreground", 0.33),
        faint=style("foreground", 0.72),
        title=style("primary", bold=True),
        good=style("success"),
        warn=style("warning", bold=True),
        bad=style("error", bold=True),
        alarm=Style(color=ground.rich_color, bgcolor=bad.rich_color, bold=True),
        badge=Style(color=ground.rich_color, bgcolor=Color.parse(colours["warning"]).rich_color, bold=True),
        accepted=Style(color=accepted.rich_color),
        rejected=Style(color=rejected.rich_color),
        edge=Style(color=accepted.rich_color, bgcolor=rejected.rich_color),
        slots=tuple(style(name) for name in ("primary", "accent", "success", "secondary", "warning")),
    )


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
    )
