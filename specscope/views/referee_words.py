"""The sentence that says how far the figures can be trusted: captured cycles beside the server's own count."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.session.referee_state import LASTING, METRICS_OFF
from specscope.views.figures import decimal, percent, whole

if TYPE_CHECKING:
    from specscope.session.referee_state import Referee, RefereeCount
    from specscope.session.state import Target


def referee_sentence(target: Target, *, speculating: bool | None) -> tuple[str, bool]:
    """The sentence, and whether it must be loud."""
    if speculating is False:
        said = f" (by {target.config.types_from})" if target.config.types_from else ""
        return f"no speculation{said}: every step makes one token, tau is 1", False
    evidence = target.cycle_evidence
    if evidence == "parted":
        return _too_slow(target) or _parted(target), True
    if evidence == "polled":
        return _polled(target), False
    if evidence == "unknown":
        return _nothing(target), False
    return (_exact(target) if evidence == "exact" else _unconfirmed(target)), False


def _exact(target: Target) -> str:
    """What the cycles were found equal to; the word ``exact`` is the caller's."""
    count, checks = target.referee.count, _checks(target.referee)
    if count is None:
        waiting = target.referee.waiting
        return f"{checks}; {waiting if waiting in LASTING else _WHEN_IDLE}"
    parts = [f"cycles {whole(count.captured_cycles)} = server {whole(count.cycles)}{_later(target, count)}"]
    parts.append(f"accepted {whole(count.captured_accepted)} = {whole(count.accepted)}")
    return ", ".join([*parts, checks] if checks else parts)


_WHEN_IDLE: Final = "counters are compared when the slots are idle"


def _later(target: Target, count: RefereeCount) -> str:
    """How many cycles the count does not cover. With all slots idle they may also lie before the first count."""
    more = count.beyond(target.totals.cycles)
    if not more:
        return ""
    busy = any(slot.busy for slot in target.slots)
    return f", {whole(more)} since then not yet compared" if busy else f", {whole(more)} more not compared"


def _checks(referee: Referee) -> str:
    """How many requests equal the totals that the log printed for them; empty when none was compared."""
    if not referee.requests_checked:
        return ""
    equal = referee.requests_checked - referee.requests_parted
    return f"{whole(equal)} of {whole(referee.requests_checked)} requests = log totals"


def _unconfirmed(target: Target) -> str:
    referee, checks = target.referee, _checks(target.referee)
    parts: list[str] = []
    if referee.missed:
        since = ""
        if referee.count is not None:
            since = f" since cycles {whole(referee.count.captured_cycles)} = server {whole(referee.count.cycles)}"
        parts.append(f"{whole(referee.missed)} missed{since}")
    if referee.waiting:
        parts.append(referee.waiting)
    if checks:
        parts.append(checks)
    return "not yet confirmed: " + (", ".join(parts) or _WHEN_IDLE)


def _too_slow(target: Target) -> str:
    """The case of cycles that end faster than /slots can be read; empty when it is another."""
    count = target.referee.count
    polled = target.poll.completeness is not None or any(c.seen_by == "polled" for c in target.cycles[-1:])
    if count is None or not polled or count.captured_accepted <= count.accepted:
        return ""
    saw, told = whole(count.captured_accepted), whole(count.accepted)
    return (
        f"POLLING IS TOO SLOW HERE: it saw {saw} accepted, the server counted {told}: LLAMA_TRACE=1 shows every cycle"
    )


def _parted(target: Target) -> str:
    referee = target.referee
    parts: list[str] = []
    if referee.count is not None and not referee.count.agrees:
        parts += _differences(referee.count)
    if referee.requests_parted:
        checked = whole(referee.requests_checked)
        parts.append(f"{whole(referee.requests_parted)} of {checked} requests ≠ log totals")
    if referee.missed:
        parts.append(f"{whole(referee.missed)} missed")
    return "NOT EXACT: " + ", ".join(parts)


def _differences(count: RefereeCount) -> list[str]:
    pairs = [
        ("cycles", count.captured_cycles, count.cycles),
        ("drafted", count.captured_drafted, count.drafted),
        ("accepted", count.captured_accepted, count.accepted),
    ]
    return [f"{name} {whole(seen)} ≠ server {whole(told)}" for name, seen, told in pairs if seen not in (None, told)]


def _polled(target: Target) -> str:
    poll, count = target.poll, target.referee.count
    polls = f", {decimal(poll.per_step)} polls a cycle" if poll.per_step is not None else ""
    if count is not None and poll.completeness is not None:
        expected = max(count.captured_cycles, round(count.captured_cycles / max(poll.completeness, 1e-9)))
        what = "cycles" if expected == count.cycles else "steps"
        seen = whole(count.captured_cycles)
        return f"polled {seen} of {whole(expected)} {what} ({percent(poll.completeness)}){polls}"
    seen = whole(target.totals.cycles if target.totals.evidence == "polled" else len(target.cycles))
    why = target.referee.waiting or "the server tells no count"
    return f"polled {seen} cycles, how many were missed is not known yet: {why}{polls}"


def _nothing(target: Target) -> str:
    if target.totals.evidence == "counted":
        return "single cycles are not seen; these are the server's counts of ended requests" + _lift(target)
    if target.referee.waiting and target.referee.waiting != METRICS_OFF:
        return f"no cycle seen yet: {target.referee.waiting}" + _lift(target)
    return "no cycle seen yet" + _lift(target)


def _lift(target: Target) -> str:
    hint = next((s.hint for s in target.sources if s.hint), "")
    return f"; {hint}" if hint else ""
