"""Where a turn's time goes without a trace: only what other sources let one say of it, and by what.

The turn's length is the time between cycles. The drafter's share is in the log's statistics (``dur(b,g,a)``, -lv 4):
the generate time of all drafts. How long the server's thread sleeps bounds its work from above; a thread that is
always busy tells nothing, because waiting for CUDA spins. Everything else stays within ``other_ms``.

How busy the device is bounds what it waits for the host; that is said in the basis and is no part, because the
driver's figure is the share of the time with any kernel running, of all processes on the device.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from specscope.session.anatomy import fit
from specscope.session.turn_state import Anatomy, Parts

if TYPE_CHECKING:
    from specscope.events import ProcessSampled, StatisticsLogged
    from specscope.session.state import Rates

MIN_DRAFTS: Final = 20
"""Drafts before their mean is told: the first ones of a server are slower (29 drafts took 3.40 ms each and 986 took
3.41 on an H200, while single ones range over a few tens of percent)."""

SPINNING: Final = 95.0
"""Percent of one core. cudaStreamSynchronize spins by default, so that a thread this busy may be waiting."""

USAGE_S: Final = 2.5
"""A sample of the process covers the time since the one before: 2 s (sources/process.py), on a busy machine more."""


@dataclass(eq=False)
class StatisticsBook:
    """The first and latest statistics of each drafting method; they are sums since the server started.

    Attributes:
        base: those at which all counts began anew; empty: they count from the server's start.
    """

    first: dict[str, StatisticsLogged] = field(default_factory=dict["str", "StatisticsLogged"])
    latest: dict[str, StatisticsLogged] = field(default_factory=dict["str", "StatisticsLogged"])
    base: dict[str, StatisticsLogged] = field(default_factory=dict["str", "StatisticsLogged"])

    def logged(self, e: StatisticsLogged) -> None:
        """Take in a line. Sums that went backwards are those of a server that started anew."""
        before = self.latest.get(e.method)
        if before is None or e.drafts < before.drafts:
            self.first[e.method] = e
            self.base.pop(e.method, None)
        self.latest[e.method] = e

    def begun_anew(self) -> StatisticsBook:
        """The same for counts that begin here."""
        return StatisticsBook(dict(self.latest), dict(self.latest), dict(self.latest))

    def sums(self) -> dict[str, StatisticsLogged]:
        """By method, since all counts began anew, else since the server started."""
        return {method: _since(now, self.base.get(method)) for method, now in self.latest.items()}

    def drafting(self) -> tuple[int, float] | None:
        """Drafts and the milliseconds they took, since the first line where there were any, else since the start."""
        drafts, took_ms = 0, 0.0
        for method, now in self.latest.items():
            then = self.first[method]
            if now.generate_ms is None:
                continue
            since = now.drafts > then.drafts and then.generate_ms is not None
            drafts += now.drafts - (then.drafts if since else 0)
            took_ms += now.generate_ms - ((then.generate_ms or 0.0) if since else 0.0)
        return (drafts, took_ms) if drafts >= MIN_DRAFTS and took_ms > 0 else None


def _since(now: StatisticsLogged, then: StatisticsLogged | None) -> StatisticsLogged:
    """The increase; with nothing to begin from, the sums themselves."""
    if then is None:
        return now
    sums = ("drafts", "drafts_accepted", "drafted", "accepted", "calls", "verified", "generate_ms")
    pairs = {name: (getattr(now, name), getattr(then, name)) for name in sums}
    return replace(now, **{name: None if None in (a, b) else a - b for name, (a, b) in pairs.items()})


def estimate(
    rates: Rates,
    statistics: StatisticsBook,
    usage: ProcessSampled | None,
    *,
    decoding: tuple[float, float] | None,
    device: bool | None,
    busy_pct: float | None = None,
) -> Anatomy | None:
    """What is known of a turn; None when no part of it is.

    Args:
        rates: the cycle time, and how many slots share a turn.
        statistics: of the drafting methods.
        usage: the process's threads.
        decoding: begin and end of a time in which the server decoded without a pause; None: it paused.
        device: whether the layers lie on a device.
        busy_pct: how busy the only device was while the server worked.
    """
    whole_ms, drafting = turn_ms(rates), statistics.drafting()
    asleep = _asleep(usage, decoding) if device else None
    draft_ms = wait_ms = None
    if drafting is not None:
        drafts, took_ms = drafting
        draft_ms = took_ms / drafts * max(1.0, rates.busy_slots or 1.0)
    elif asleep is not None and whole_ms is not None and rates.cycle_ms is None:
        draft_ms, wait_ms = 0.0, asleep * whole_ms  # it does not draft: there is nothing else to sleep for
    if whole_ms is None or draft_ms is None:
        return None
    (draft, wait), other = fit(whole_ms, (draft_ms, wait_ms))
    return Anatomy(
        evidence="estimated",
        basis=_basis(whole_ms, drafting, asleep, busy_pct),
        parts=Parts(whole_ms, draft, None, wait, None, None, other),
        turns=0,
        cycles=drafting[0] if drafting is not None else 0,
        span_s=rates.span_s,
        asynchronous=device,
    )


def _basis(whole_ms: float, drafting: tuple[int, float] | None, asleep: float | None, busy_pct: float | None) -> str:
    words = [f"turn of {whole_ms:.1f} ms from the time between steps"]
    if drafting is not None:
        words.append(f"draft from the log's statistics of {drafting[0]:,} drafts")
    if asleep is not None:
        words.append(f"the busiest thread sleeps {asleep:.0%}: at most {(1 - asleep) * whole_ms:.1f} ms are host work")
    if busy_pct is not None:
        idle_ms = (1 - busy_pct / 100) * whole_ms
        words.append(f"the GPU is busy {busy_pct:.0f} % of the time: it waits {idle_ms:.1f} ms for the host")
    return "; ".join(words)


def turn_ms(rates: Rates) -> float | None:
    """The time between cycles of one slot; without drafts, between tokens. Slots that decode at once share turns."""
    if rates.cycle_ms is not None:
        return rates.cycle_ms or None
    if rates.tau != 1.0 or not rates.tok_s or rates.busy_slots is None:
        return None
    return 1000 * rates.busy_slots / rates.tok_s


def _asleep(usage: ProcessSampled | None, decoding: tuple[float, float] | None) -> float | None:
    """Share of the time that the busiest thread sleeps while the server decodes; None: unknown, or it never does."""
    if usage is None or decoding is None or not usage.threads:
        return None
    begin, end = decoding
    busiest = max(pct for _, pct in usage.threads)
    if not begin + USAGE_S <= usage.at <= end or busiest >= SPINNING:
        return None
    return 1 - busiest / 100
