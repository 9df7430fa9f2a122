"""The server's slots: what each is doing and how full its context is."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from specscope.views.figures import MARKS, UNKNOWN, decimal, whole
from specscope.views.widgets.bars import level_bar
from specscope.views.widgets.panel import Panel

if TYPE_CHECKING:
    from rich.style import Style
    from textual.strip import Strip

    from specscope.session.request_state import Slot
    from specscope.session.state import Target
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

NEARLY_FULL: Final = 0.9
BAR_CELLS: Final = (10, 40)
MADE_CELLS: Final = 8
"""A longer count of the tokens made so far says by itself that the slot is busy."""


class Slots(Panel):
    """A row per slot."""

    CALM_S: ClassVar[float] = 0.6

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """A title and the rows; where not all fit, the busy ones."""
        target = frame.target
        slots = target.slots if target is not None else ()
        if target is None or not slots:
            return [ink.rule("slots", width, "not seen: /slots is off or not read yet")]
        busy = sum(bool(s.busy) for s in slots)
        said = f"{busy} of {len(slots)} busy"
        shown = slots
        if len(slots) > height - 1:
            shown = sorted(sorted(slots, key=lambda s: not s.busy)[: height - 1], key=lambda s: s.id)
            said += f", {len(slots) - len(shown)} more not shown"
        if target.server != "ready":
            said = f"as last seen, {said}"
        rows = [_row(slot, target, ink, width) for slot in shown]
        return [ink.rule("slots", width, said + ", context filled"), *rows]


def _row(slot: Slot, target: Target, ink: Ink, width: int) -> Line:
    line = ink.line().add(f" {slot.id} ", ink.slot(slot.id))
    word, style = _doing(slot, ink)
    line.left(word, 14, style if target.server == "ready" else ink.muted)
    line.left(f"task {slot.task}" if slot.busy and slot.task is not None else "", 10, ink.muted)
    _context(line, slot, ink, max(BAR_CELLS[0], min(BAR_CELLS[1], width - 95)))
    mark = MARKS[target.cycle_evidence] if slot.tau is not None else ""
    for text, style in (
        (f"  tau {decimal(slot.tau, 2)}{mark}", ink.text),
        (f"  most so far {whole(slot.fill_max_tokens)}", ink.muted),
        (f"  {whole(slot.tally_cycles)} cycles" if slot.tally_cycles else "", ink.muted),
    ):
        if line.cells + len(text) <= width:
            line.add(text, style)
    return line


def _doing(slot: Slot, ink: Ink) -> tuple[str, Style]:
    if slot.busy is None:
        return UNKNOWN, ink.muted
    if not slot.busy:
        return "idle", ink.muted
    if not slot.decoded:
        return f"prefill {whole(slot.prefill_tokens)}" if slot.prefill_tokens else "prefill", ink.warn
    made = f"{whole(slot.decoded)} tok"
    return made if len(made) > MADE_CELLS else f"busy {made}", ink.good


def _context(line: Line, slot: Slot, ink: Ink, cells: int) -> None:
    """The KV fill as a bar and in words; what was not seen is a dash."""
    if slot.fill_tokens is None or not slot.n_ctx:
        line.add(f"{whole(slot.fill_tokens)} of {whole(slot.n_ctx)}", ink.muted)
        return
    share = slot.fill_tokens / slot.n_ctx
    style = ink.warn if share >= NEARLY_FULL else ink.accepted
    level_bar(line, share, cells, style, ink.faint)
    line.add(f" {whole(slot.fill_tokens)} of {whole(slot.n_ctx)} ({100 * share:.0f} %)", ink.text)
