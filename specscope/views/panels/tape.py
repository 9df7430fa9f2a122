"""The cycle tape: every cycle a column, so that a bad stretch shows as what it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.segment import Segment
from textual.strip import Strip

from specscope.session.tiers import COUNT_NAMES
from specscope.views.figures import span, whole
from specscope.views.widgets.line import printable
from specscope.views.widgets.panel import Panel
from specscope.views.widgets.tape import Divider, Scale, bar_rows, base_row, items_of

if TYPE_CHECKING:
    from specscope.session.state import Cycle, Target
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

AXIS: Final = 5
"""Cells left of the bars: the number of tokens, and a rule."""

LANE_ROWS: Final = 5
"""A slot gets a tape of its own when it can have this many rows, the row under the bars included."""

LABEL_CELLS: Final = 24

MARK_HINT_FROM: Final = 100
"""From this width on the label in force stands beside the key that changes it."""


class Tape(Panel):
    """One tape, or one per slot where several are at work and there is room."""

    def watched(self, frame: Frame) -> object:
        """The cycles by number, and what stands beside them."""
        target = frame.target
        if target is None:
            return None
        ends = (len(target.cycles), target.cycles[-1].number, target.cycles[0].number) if target.cycles else ()
        idle = int(frame.activity.for_s or 0) if frame.activity.stale else None
        scale = (target.config.n_max_effective, target.totals.width_max, target.totals.cycles)
        return target.id, target.epoch, ends, frame.session.marks, target.server, idle, scale, target.cycle_evidence

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """A title, then one lane or several."""
        target = frame.target
        if target is None or not target.cycles:
            rule = ink.rule("cycles", width, "none seen")
            return [rule, *([ink.line()] * ((height - 2) // 2)), ink.line().add(f"   {_why_none(frame)}", ink.muted)]
        dividers = _dividers(frame, target)
        room = width - AXIS
        slots = _slots_shown(target.cycles, room)
        lanes = slots if len(slots) > 1 and (height - 1) // len(slots) >= LANE_ROWS else [None]
        mixed = len(slots) > 1 and lanes == [None]
        rows: list[Line | Strip] = []
        counts: list[str] = []
        left = height - 1
        for number, slot in enumerate(lanes):
            lane_rows = left // (len(lanes) - number)
            left -= lane_rows
            items = items_of(target.cycles, dividers, slot, room)
            shown = sum(i.cycle is not None for i in items)
            counts.append(_count(slot, slots, shown, mixed=mixed))
            scale = Scale(lane_rows - 1, _top(target, [i.cycle for i in items if i.cycle is not None]))
            bars = bar_rows(items, scale, ink, room)
            rows += [_with_axis(row, scale, y, ink) for y, row in enumerate(bars)]
            rows.append(_with_slot(base_row(items, ink, room, slots=mixed), slot, ink))
        return [_title(frame, target, counts, ink, width), *rows]


def _slots_shown(cycles: tuple[Cycle, ...], count: int) -> list[int]:
    return sorted({c.slot for c in cycles[-count:]})


def _dividers(frame: Frame, target: Target) -> list[Divider]:
    dividers = [Divider(at, printable(label)[:LABEL_CELLS] or "end") for at, label in frame.session.marks]
    dividers += [Divider(at, "restart") for at in target.restarts]
    return sorted(dividers, key=lambda d: d.at)


def _top(target: Target, cycles: list[Cycle]) -> int:
    """The scale's top: the width in force, and anything wider that was seen."""
    seen = max((max(c.drafted or 0, c.accepted) for c in cycles), default=0)
    return max(1, seen, target.config.n_max_effective or 0)


def _count(slot: int | None, slots: list[int], shown: int, *, mixed: bool) -> str:
    if mixed:
        return f"slots {', '.join(map(str, slots))} mixed, last {whole(shown)}"
    return f"slot {slots[0] if slot is None else slot}, last {whole(shown)}"


def _title(frame: Frame, target: Target, counts: list[str], ink: Ink, width: int) -> Line:
    total = target.totals.cycles if target.totals.cycles is not None else target.cycles[-1].number
    said = f"{'; '.join(counts)} of {whole(total)} ({COUNT_NAMES[target.totals.evidence]})"
    line = ink.line().add("─ ", ink.faint).add("cycles ", ink.title).add(said, ink.text).add(" ", ink.faint)
    if frame.activity.stale and frame.activity.for_s is not None:
        line.add(f"last one {span(frame.now - target.cycles[-1].at)} ago ", ink.warn)
    label = frame.session.marks[-1][1] if frame.session.marks else ""
    if label:
        line.add("─ ", ink.faint).add(printable(label)[:LABEL_CELLS], ink.warn)
        line.add(" │ mark: m " if width >= MARK_HINT_FROM else " ", ink.muted)
    legend = _legend(target.cycles[-width:], ink, width - line.cells - 2)
    if not legend.cells:
        return line.fill(width, "─", ink.faint)
    return line.fill(width - legend.cells - 1, "─", ink.faint).append(legend).add(" ", ink.faint)


def _legend(shown: tuple[Cycle, ...], ink: Ink, room: int) -> Line:
    """What the bars are drawn with; where not all fits, the least obvious words stay."""
    unseen = any(c.drafted is None for c in shown)
    shade = "░" if ink.ascii or not ink.colour else "█"
    entries = [
        (2, "█", ink.accepted, "accepted"),
        *([(1, shade, ink.rejected, "rejected")] if any(c.drafted is not None for c in shown) else []),
        *([(0, "┊", ink.muted, "width not seen")] if unseen else []),
        (3, "┼", ink.text, "request"),
    ]
    while entries and sum(len(word) + 3 for _, _, _, word in entries) > room:
        entries.remove(max(entries, key=lambda entry: entry[0]))
    legend = ink.line()
    for _, character, style, word in entries:
        legend.add(" ", ink.faint).add(character, style).add(f" {word}", ink.muted)
    return legend


def _with_axis(row: Strip, scale: Scale, y: int, ink: Ink) -> Strip:
    """The row behind its part of the axis: the top and the middle are labelled."""
    from_top = {0: scale.top}
    if scale.rows >= LANE_ROWS and scale.top > 1:
        half = scale.top // 2
        from_top[scale.rows - 1 - (max(0, scale.eighths(half) - 1) // 8)] = half
    label = f"{from_top[y]:>3} " if y in from_top else "    "
    return Strip([Segment(label, ink.muted), Segment("│", ink.faint), *row], row.cell_length + AXIS)


def _with_slot(row: Strip, slot: int | None, ink: Ink) -> Strip:
    """The row under the bars: nothing accepted is here; with lanes, whose they are."""
    label, style = ("  0 ", ink.muted) if slot is None else (f"s{slot}".rjust(3) + " ", ink.slot(slot))
    return Strip([Segment(label, style), Segment("└", ink.faint), *row], row.cell_length + AXIS)


def _why_none(frame: Frame) -> str:
    target = frame.target
    if target is None:
        return "no server seen yet"
    if frame.speculating is False:
        return "no speculation: there are no cycles to draw"
    if target.server != "ready":
        return "the server is not ready"
    if target.tier in ("none", "totals", "log"):
        hint = next((s.hint for s in target.sources if s.hint), "")
        return "no source attached that sees single cycles" + (f": {hint}" if hint else "")
    return "waiting for the first cycle"
