"""The sentence that says how far the figures can be trusted: captured cycles beside the server's own count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.views.figures import decimal, percent, whole

if TYPE_CHECKING:
    from specscope.session.state import RefereeCount, Target


def referee_sentence(target: Target, *, speculating: bool | None) -> tuple[str, bool]:
    """The sentence, and whether it must be loud."""
    if speculating is False:
        said = f" (by {target.config.types_from})" if target.config.types_from else ""
        return f"no speculation{said}: every step makes one token, tau is 1", False
    evidence = target.cycle_evidence
    if evidence == "parted":
        return _parted(target), True
    if evidence == "polled":
        return _polled(target), False
    if evidence == "unknown":
        return _nothing(target), False
    return _captured(target), False


def _captured(target: Target) -> str:
    referee = target.referee
    parts: list[str] = []
    if referee.count is not None:
        parts.append(f"cycles {whole(referee.count.captured_cycles)} = server {whole(referee.count.cycles)}")
        parts.append(f"accepted {whole(referee.count.captured_accepted)} = {whole(referee.count.accepted)}")
    elif referee.waiting:
        parts.append(f"not yet compared with the server's count: {referee.waiting}")
    if referee.requests_checked:
        parts.append(f"{whole(referee.requests_checked)} requests = log totals")
    if referee.missed:
        parts.append(f"{whole(referee.missed)} missed since, so not exact until the counts agree again")
    return ", ".join(parts)


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
    if target.referee.waiting:
        return f"no cycle seen yet: {target.referee.waiting}" + _lift(target)
    return "no cycle seen yet" + _lift(target)


def _lift(target: Target) -> str:
    hint = next((s.hint for s in target.sources if s.hint), "")
    return f"; {hint}" if hint else ""
