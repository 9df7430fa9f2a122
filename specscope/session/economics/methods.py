"""The steps of each drafting method, of several together and without a draft: how many, what they yield and take."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, hypot, log, sqrt
from typing import TYPE_CHECKING, Final, NamedTuple

from specscope.session.economics.acceptance import clustering
from specscope.session.economics.batches import t95
from specscope.session.economics.cost_model import mean_cost
from specscope.session.economics.method_book import TOGETHER
from specscope.session.economics.state import Span
from specscope.session.economics.strata import stratum

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specscope.session.economics.method_book import MethodBook, MethodCount
    from specscope.session.economics.state import PlainTime

ORDER: Final = (
    *("ngram-simple", "ngram-map-k", "ngram-map-k4v", "ngram-mod", "ngram-cache"),
    *("draft-simple", "draft-eagle3", "draft-mtp", "draft-dflash", "draft-dspark"),
)
"""In which the server asks its methods (llama.cpp common/speculative.cpp, common_speculative_init, b11434); the order
of --spec-type says nothing."""

LEAST_CYCLES: Final = 30
"""Cycles of a method before its gain is told: with an accepted length's standard deviation near its mean, tau is then
known to about a third, and the gain's interval says so."""

FEW: Final = 0.05
"""Share of the steps without a method that may be of a kind whose time is not known."""

OR: Final = " or "


@dataclass(frozen=True)
class Known:
    """A method's count with its figures."""

    name: str
    count: MethodCount
    tau: Span | None
    cycle_ms: Span | None

    @property
    def cycles(self) -> int:
        """How many."""
        return self.count.tally.cycles


def named(name: str, types: Sequence[str]) -> str:
    """Which of the methods in force a trace means that cannot tell two apart."""
    meant = [method for method in name.split(OR) if method in types]
    return meant[0] if len(meant) == 1 else name


def asked(name: str) -> int:
    """A method's place in the order of asking; unknown ones come last."""
    first = name.split(OR, maxsplit=1)[0]
    return ORDER.index(first) if first in ORDER else len(ORDER)


def known_methods(book: MethodBook, types: Sequence[str], slots: int, depth: float | None) -> list[Known]:
    """The methods that a trace told of, in the order of asking, their times for so many slots and at this depth."""
    known = [
        Known(named(raw, types), count, _tau(count), _cycle_ms(count, slots, depth))
        for raw, count in book.counts.items()
    ]
    return sorted(known, key=lambda method: asked(method.name))


def _tau(count: MethodCount) -> Span | None:
    """Tokens per cycle; None with fewer than two cycles."""
    joint, n = count.tally.joint, count.tally.cycles
    if n < 2:  # noqa: PLR2004  no spread in one
        return None
    mean = 1 + count.tally.accepted / n
    together = clustering(count.lengths.mean())
    spread = sum((1 + a - mean) ** 2 * c for (_, a), c in joint.items()) / (n - 1)
    half = t95(n / together - 1) * sqrt(together * spread / n)
    return Span(mean, max(1.0, mean - half), mean + half)


def _cycle_ms(count: MethodCount, slots: int, depth: float | None) -> Span | None:
    strata = stratum({key: cell for key, cell in count.cells.items() if key.slots == slots}, depth)
    return mean_cost(strata, {TOGETHER: 1}) if strata is not None else None


class Steps(NamedTuple):
    """Steps of one kind or of several: how many, tokens and milliseconds of one, and what they are."""

    number: int
    tokens: Span
    ms: Span
    name: str

    def tok_s(self) -> Span:
        """Tokens per second of one slot."""
        value = 1000 * self.tokens.value / self.ms.value
        low, high = spread_of(self.tokens)
        cheap, dear = spread_of(self.ms)
        return Span(value, value * exp(-hypot(low, dear)), value * exp(hypot(high, cheap)))


def mixed(kinds: Sequence[Steps]) -> Steps:
    """Steps of several kinds as they came; what is not known of one is independent of the others."""
    n = sum(kind.number for kind in kinds)

    def mean(spans: list[Span]) -> Span:
        value = sum(kind.number * span.value for kind, span in zip(kinds, spans, strict=True)) / n
        down, up = (
            sqrt(sum((kind.number * off) ** 2 for kind, off in zip(kinds, offs, strict=True))) / n
            for offs in ([s.value - s.low for s in spans], [s.high - s.value for s in spans])
        )
        return Span(value, max(1e-6, value - down), value + up)

    return Steps(n, mean([k.tokens for k in kinds]), mean([k.ms for k in kinds]), " and ".join(k.name for k in kinds))


def cycles_of(method: Known) -> Steps | None:
    """A method's cycles; None before enough of them were seen and timed."""
    if method.cycles < LEAST_CYCLES or method.tau is None or method.cycle_ms is None:
        return None
    return Steps(method.cycles, method.tau, method.cycle_ms, f"{method.cycles:,} cycles of {method.name}")


def plain_steps(count: int, plain: PlainTime | None) -> Steps | None:
    """Steps without a draft, of which the server made ``count``; None where their time is not known."""
    if plain is None or plain.how == "floor":
        return None
    name = f"{count:,} plain steps" if count else "plain decoding"
    return Steps(count, Span(1.0, 1.0, 1.0), Span(plain.ms, plain.low, plain.high), name)


def all_cycles(known: Sequence[Known]) -> Steps | None:
    """The cycles of all methods together; None where the time of more than a few is not known."""
    told = [steps for method in known if (steps := cycles_of(method)) is not None]
    cycles = sum(method.cycles for method in known)
    few = sum(steps.number for steps in told) >= (1 - FEW) * cycles
    return mixed(told) if told and few else None


def spread_of(span: Span) -> tuple[float, float]:
    """How far the ends of the interval are from the figure, as logarithms of a factor."""
    return log(span.value / max(span.low, 1e-9)), log(max(span.high, span.value) / span.value)
