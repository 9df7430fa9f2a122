"""What speculation gains, and what that rests on: plain decoding, break-even, costs, assumptions; and what to try."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from specscope.session.economics.cost_model import KERNEL_ROWS
from specscope.session.economics.verdict import pays
from specscope.session.economics.words import PLAIN_RUN, evidence_of, next_run, plain_words, told_of, upper
from specscope.views.figures import MARKS, percent
from specscope.views.gain_keys import economics_key
from specscope.views.gain_words import half_cells, half_row
from specscope.views.widgets.line import wrapped
from specscope.views.widgets.panel import Panel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.strip import Strip

    from specscope.session.economics.state import Economics, Span
    from specscope.session.economics.words import Told
    from specscope.session.state import Target
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

LABEL: Final = 12
"""Cells left of what is told."""

TEXT_MOST: Final = 3
"""Rows that one of the facts may take."""

BASIS_INDENT: Final = 3
BASIS_MOST: Final = 2
"""Rows that the basis of half a verdict may take below it."""

STEP: Final = 1.1
"""A rise of the cost from 8 rows to 9 by less than a tenth is told by the table alone."""

_BY: Final = {
    "block": "one pass for all tokens",
    "token": "a pass for each token",
    "table": "a look-up",
    "unknown": "how it grows with width is not known",
}
_JUDGED: Final = {True: "speculation pays", False: "speculation does not pay", None: "too close to tell"}
_MARK: Final = MARKS["estimated"]


class Gain(Panel):
    """The verdict, and a row or more for each thing that it rests on; what matters most comes first."""

    CALM_S: ClassVar[float] = 0.9

    def watched(self, frame: Frame) -> object:
        """The economics, and whether the cycles are those that the server counted."""
        return economics_key(frame), frame.target and frame.target.cycle_evidence

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """The rows that fit."""
        if frame.target is None:
            return []
        economics = frame.target.economics
        if not told_of(frame.target) and economics.plain is None:
            rule = ink.rule("what speculation gains", width)
            return [rule, ink.line().add(" nothing is known of it: no draft was seen", ink.muted)]
        rows: list[Line | Strip] = [ink.rule("what speculation gains", width, _where(economics))]
        rows += _verdict(frame.target, ink, width)
        for label, text in _facts(economics):
            for number, part in enumerate(_parts(text, width)):
                name = "" if number else label
                rows.append(ink.line().add(f" {name}".ljust(LABEL), ink.muted).add(part, ink.text))
        return rows[:height]


def rows_wanted(target: Target, width: int) -> int:
    """How many rows show everything."""
    verdict = sum(1 + len(_basis_below(half, width)) for half in told_of(target))
    return 1 + verdict + sum(len(_parts(text, width)) for _, text in _facts(target.economics))


def _parts(text: str, width: int) -> list[str]:
    return wrapped(text, max(1, width - LABEL - 1), TEXT_MOST)


def _where(economics: Economics) -> str:
    """At which depth and with how many slots the figures hold."""
    words = f"{economics.slots} slots at once" if economics.slots > 1 else "one slot"
    return words + (f", at {economics.depth:,.0f} resident tokens" if economics.depth is not None else "")


def _verdict(target: Target, ink: Ink, width: int) -> Iterator[Line]:
    """Both halves, each with its interval: where a row is too short for a half, its basis stands below."""
    for half in told_of(target):
        below = _basis_below(half, width)
        told = half._replace(forms=((half.forms[0][0], ""),)) if below else half
        yield half_row(ink.line().add(" ", ink.text), told, evidence_of(target), ink)
        yield from (ink.line().add(" " * BASIS_INDENT + part, ink.muted) for part in below)


def _basis_below(half: Told, width: int) -> list[str]:
    """The basis in rows of its own; none where it fits behind what is said."""
    if half_cells(half, 0) < width:
        return []
    return wrapped(f"({half.forms[0][1]})", max(1, width - BASIS_INDENT), BASIS_MOST)


def _facts(e: Economics) -> Iterator[tuple[str, str]]:
    """(label, text) of what is known, what matters most first."""
    if e.try_next is not None:
        what, command = next_run(e.try_next)
        yield "try next", f"{what}: {e.try_next.why} ({command})"
    if e.tau_at_most is not None:
        yield (
            "off",
            f"no width yields more than {upper(e.tau_at_most)} tokens a cycle, and a cycle takes a plain step or more",
        )
    if e.tau is not None and e.break_even_tau is not None and e.speedup is not None:
        needed, gained = _span(e.break_even_tau), _span(e.tau)
        yield "break-even", f"tau {needed}{_MARK}; cycles give {gained}: {_JUDGED[pays(e.speedup)]}"
    if e.plain is not None:
        ms = _span_of(e.plain.ms, e.plain.low, e.plain.high)
        yield "plain step", f"{ms} ms{_MARK}, {plain_words(e.plain, e.slots)}: {e.plain.basis}"
    elif e.curve:
        yield "plain step", f"not measured: {PLAIN_RUN} prints how it is"
    if e.cycle_ms is not None:
        yield "cycle", f"{_span(e.cycle_ms)} ms, mean of {_averaged(e)}{_outliers(e.outliers)}"
    yield from _costs(e)
    if e.floor_ms is not None:
        share = f", {percent(e.bound_share, 0)} of a plain step" if e.bound_share is not None else ""
        yield "bandwidth", f"weights and KV cache take at least {e.floor_ms:.2f} ms to read{share}"
    for assumed in e.assumes:
        yield "assumed", assumed


def _costs(e: Economics) -> Iterator[tuple[str, str]]:
    at = {p.width: p for p in e.costs}
    few, many = at.get(KERNEL_ROWS - 1), at.get(KERNEL_ROWS)
    if few is not None and many is not None and many.ms > STEP * few.ms:
        rise = 100 * (many.ms / few.ms - 1)
        told = f"{few.ms:.1f} ms at width {few.width}, {many.ms:.1f} at {many.width} ({rise:+.0f} %)"
        yield "step", f"{told}: above {KERNEL_ROWS} rows" + (", as CUDA's kernels have it" if e.kernel_step else "")
    drafting = e.drafting
    if drafting is not None and drafting.ms is not None:
        share = f" ({percent(drafting.share, 0)})" if drafting.share is not None else ""
        yield "drafter", f"{drafting.ms:.1f} ms of a turn{share}, {_BY[drafting.by]}"


def _averaged(e: Economics) -> str:
    """Which cycles a mean is of, and how many of them have a time of their own."""
    if e.timed is None:
        return "all methods' cycles"
    return f"{e.cycles:,} cycles" + (f", {e.timed:,} of them timed" if e.timed < e.cycles else "")


def _outliers(count: int) -> str:
    return f", {count:,} outlier{'s' if count > 1 else ''} left out" if count else ""


def _span(span: Span) -> str:
    return _span_of(span.value, span.low, span.high)


def _span_of(value: float, low: float, high: float) -> str:
    return f"{value:.2f} ({low:.2f} to {high:.2f})"
