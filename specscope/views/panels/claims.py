"""The picked setting: all places that set it, which of them won and why the others lost, and who recommends what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.session.provenance.values import written
from specscope.views.setting_words import SHOWN_BY, origin_sentence, value_words, with_modes
from specscope.views.widgets.line import shorten, wrapped
from specscope.views.widgets.panel import Panel

if TYPE_CHECKING:
    from textual.strip import Strip

    from specscope.session.provenance.state import Claim, Recommendation, Setting
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

ORIGIN_CELLS: Final = 14
NAME_CELLS: Final = 28
VALUE_CELLS: Final = 8
VALUE_MOST: Final = 28
WIDE: Final = 100


class Claims(Panel):
    """A row per claim."""

    def __init__(self) -> None:
        super().__init__()
        self._setting: Setting | None = None

    def pick(self, setting: Setting | None) -> None:
        """Tell of this setting."""
        self._setting = setting

    def watched(self, frame: Frame) -> object:
        """The setting, and which request was the latest."""
        return self._setting, frame.target.provenance.asked_by if frame.target is not None else None

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """Title, claims, recommendations; of what does not fit the last is left out."""
        setting = self._setting
        if setting is None or frame.target is None:
            return [ink.rule("claims", width), ink.line().add(" no setting is known yet", ink.muted)]
        origin = origin_sentence(setting, frame.target.provenance.asked_by)
        said = ", ".join(filter(None, (f"{value_words(setting)} {origin}".strip(), SHOWN_BY[setting.known_by])))
        title = ink.rule(setting.name, width, said)
        rows: list[Line | Strip] = [title]
        long = written(setting.value)
        if len(long) > VALUE_MOST:
            rows += [ink.line().add(f"   {text}", ink.text) for text in wrapped(long, max(1, width - 4), 2)]
        rows += [ink.line().add(f"   {setting.note}", ink.text)] if setting.note else []
        rows += [_claim(claim, ink, width) for claim in setting.claims]
        if not setting.claims:
            rows.append(ink.line().add("   nothing seen sets it", ink.muted))
        if setting.value is not None and not setting.certain:
            rows.append(ink.line().add(f"   {_hidden(setting)}", ink.muted))
        told = [r for r in (setting.recommended, *setting.others) if r is not None]
        rows += [_recommended(r, ink, counts=r is setting.recommended, bad=setting.deviates) for r in told]
        return rows[:height]


def _hidden(setting: Setting) -> str:
    if setting.origin == "unknown":
        return "its command line or environment, which cannot be read from here, may set it"
    return "its command line or environment, which cannot be read from here, may say the same"


def _claim(claim: Claim, ink: Ink, width: int) -> Line:
    """``✓ command line   --top-k   20`` with why it lost, where there is room."""
    style = ink.strong if claim.won else ink.muted
    line = ink.line().add(" ✓ " if claim.won else "   ", ink.good)
    line.left(claim.origin, ORIGIN_CELLS, style).add(" ", style)
    line.left(claim.name, min(NAME_CELLS, max(16, width // 4)), style).add(" ", style)
    value = shorten(written(claim.value), VALUE_MOST if width >= WIDE else 2 * VALUE_CELLS)
    line.add(value.ljust(VALUE_CELLS), style)
    return line.add("  in force" if claim.won else f"  {claim.why}", ink.good if claim.won else ink.muted)


def _recommended(found: Recommendation, ink: Ink, *, counts: bool, bad: bool) -> Line:
    """What an adviser says; the one that counts first."""
    line = ink.line().add(" ! " if counts and bad else "   ", ink.warn)
    line.left("recommended" if counts else "also says", ORIGIN_CELLS, ink.warn if counts and bad else ink.muted)
    return line.add(f" {with_modes(found)} ", ink.text if counts else ink.muted).add(
        f"by {found.who} ({found.source})", ink.muted
    )
