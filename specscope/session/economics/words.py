"""The verdict in words: what speculation gains, which width is best, and what either rests on.

A verdict never stands without its basis; what is not known is said in as few words.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Final, NamedTuple

from specscope.session.economics.verdict import pays

if TYPE_CHECKING:
    from specscope.session.economics.state import CostHow, Economics, PlainHow, PlainTime, Regime, TryNext, WidthPoint
    from specscope.session.state import Evidence, Target

TEN: Final = 10.0
TWO: Final = 2.0

PLAIN_RUN: Final = "specscope recipe plain"
"""The command that prints how plain decoding is measured."""

HOW: Final[dict[CostHow | PlainHow, str]] = {
    "seen": "seen",
    "cut": "seen in cut drafts",
    "recorded": "recorded",
    "between": "not seen, between others",
    "suggested": "not seen, across 8 rows",
    "this run": "seen here",
    "with drafter": "with drafter fed",
    "fit": "from cycle times",
    "floor": "memory bandwidth",
}
"""How a time is known, in few words."""


class Told(NamedTuple):
    """One half of the verdict.

    Attributes:
        forms: (what is said, what it rests on), the longest form first.
        verdict: it holds a figure that was worked out, and wants the mark for that.
        loud: speculation costs more than it gains, or another width is better.
        interval: the first form alone has the figure's interval; else no form leaves one out.
    """

    forms: tuple[tuple[str, str], ...]
    verdict: bool = True
    loud: bool = False
    interval: bool = False


def factor(value: float) -> str:
    """A speedup: ``4.7x``, ``1.44x``, ``0.62x``, ``12x``."""
    digits = 2 if value < TWO else 1 if value < TEN else 0
    return f"{value:.{digits}f}x"


def upper(value: float) -> str:
    """The end that a figure does not exceed, to the next hundredth: ``1.02``."""
    return f"{ceil(100 * value) / 100:.2f}"


def speed(value: float) -> str:
    """Tokens per second: ``17.98``, ``343``, ``1,052``."""
    return f"{value:,.0f}" if value >= TEN * TEN else f"{value:.1f}" if value >= TWO * TEN else f"{value:.2f}"


def of_slots(slots: int) -> str:
    """The unit of one slot's speed: where several decode at once, it is not that of all together."""
    return "tok/s a slot" if slots > 1 else "tok/s"


def plain_words(plain: PlainTime, slots: int) -> str:
    """``17.98 tok/s recorded``, with several slots at work ``17.98 tok/s a slot recorded``."""
    return f"{speed(1000 / plain.ms)} {of_slots(slots)} {HOW[plain.how]}"


def told_of(target: Target) -> list[Told]:
    """What is to be said: of the speed, and of the width; nothing of a server of which no draft is known."""
    if not target.config.types and not target.totals.cycles:
        return []
    return [told for told in (speedup_told(target.economics), width_told(target.economics)) if told is not None]


def evidence_of(target: Target) -> Evidence:
    """How the verdict is known: worked out, or of cycles that are not those that the server counted."""
    return "parted" if target.cycle_evidence == "parted" else "estimated"


def speedup_told(economics: Economics) -> Told | None:
    """What speculation gains over plain decoding, or why that is not known; None where there is nothing to judge."""
    e = economics
    if e.collecting:
        return Told(((f"collecting: {e.collecting}", ""),), verdict=False)
    if e.speedup is not None and e.plain is not None:
        plain, gained = plain_words(e.plain, e.slots), factor(e.speedup.value)
        word = {True: "", False: "slower than plain, ", None: "no sure gain, "}[pays(e.speedup)]
        said = f"{gained} plain decode"
        forms = (
            (said, f"{word}{factor(e.speedup.low)} to {factor(e.speedup.high)}, plain {plain}"),
            (said, word + plain),
            (f"{gained} plain", word.replace(" than plain", "") + plain.replace(" tok/s", "", 1)),
        )
        return Told(forms, loud=pays(e.speedup) is False, interval=True)
    if e.speedup_at_least is not None and e.speedup_at_least > 1:
        return Told(((f"at least {factor(e.speedup_at_least)} plain decode", "by memory bandwidth"),))
    if e.speedup_at_most is not None:
        return Told(((f"at most {upper(e.speedup_at_most)}x plain decode", "no cycle is shorter than a plain step"),))
    if e.n_max is None:
        return None
    unknown, why = "speedup not known", "no plain decode seen"
    return Told(((unknown, f"{why}: {PLAIN_RUN}"), (unknown, why)), verdict=False)


def width_told(economics: Economics) -> Told | None:
    """Which draft width is best, beside today's; None before that is asked.

    It is best so far, while another that is not known may be better.
    """
    e = economics
    if e.collecting or e.n_max is None or e.cycle_ms is None:
        return None
    basis = costs_words(e)
    best, gain = e.best_n_max, e.gain_pct
    if best == 0 and gain is None and e.tau_at_most is not None:
        said = f"width {e.n_max} -> off is best"
        return Told(((said, f"no width can pay: tau at most {upper(e.tau_at_most)}"),), loud=True)
    if best is None or gain is None:
        run = f", try {width_name(e.try_next.n_max)}" if e.try_next is not None else ""
        said = f"width {e.n_max}: best not known{run}"
        return Told(((said, basis), (said, "")), verdict=False)
    now = f"width {e.n_max} -> {width_name(best)}"
    is_best = "is best so far" if e.try_next is not None and e.try_next.n_max else "is best"
    if best == e.n_max:
        said = f"{now} {is_best if e.sure else 'seems best'}"
        return Told(((said, f"{basis}, wider not seen" if e.hidden else basis), (said, basis)))
    said = f"{now} {is_best if e.sure else 'may be better'}, {gain.value:+.0f} %"
    forms = ((said, f"{gain.low:+.0f} to {gain.high:+.0f} %, {basis}"), (said, basis))
    return Told(forms, loud=e.sure, interval=True)


def costs_words(economics: Economics) -> str:
    """At how many widths the cycle time is known: ``9 widths seen, 1 recorded``."""
    seen = sum(p.how in ("seen", "cut") for p in economics.costs)
    recorded = sum(p.how == "recorded" for p in economics.costs)
    words = f"{seen} width{'s' if seen != 1 else ''} seen"
    return f"{words}, {recorded} recorded" if recorded else words


def width_name(n_max: int) -> str:
    """``7``, or ``off`` for none."""
    return str(n_max) if n_max else "off"


def next_run(run: TryNext) -> tuple[str, str]:
    """What to try, and the command that prints how: (``n_max 7``, ``specscope recipe width 7``)."""
    if not run.n_max:
        return "a run with speculation off", PLAIN_RUN
    return f"n_max {run.n_max}", f"specscope recipe width {run.n_max}"


def is_figure(point: WidthPoint) -> bool:
    """Whether a width's speed is a figure; between widths that were seen only its interval is a claim."""
    return point.tok_s is not None and point.how not in ("between", "suggested")


def kinds(regimes: tuple[Regime, ...]) -> tuple[Regime, ...]:
    """The regimes that are worth telling apart: the whole first, unless a single kind is all there is."""
    if len(regimes) == 2 and regimes[0].requests == regimes[1].requests:  # noqa: PLR2004  the whole and its only part
        return regimes[1:]
    return regimes
