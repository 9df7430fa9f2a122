"""The state as plain text: for a snapshot without --json, and the summary at the end."""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Final

from specscope.reports.config_text import config_lines
from specscope.reports.gpu_text import gpu_lines
from specscope.session.economics.words import evidence_of, factor, kinds, of_slots, told_of
from specscope.session.tiers import evidence_words
from specscope.session.turn_parts import seen_parts

if TYPE_CHECKING:
    from specscope.session.economics.method_state import MethodRow
    from specscope.session.economics.state import Regime
    from specscope.session.state import Evidence, Rates, Session, Target
    from specscope.session.turn_state import CopyRow

MARKS: Final[dict[Evidence, str]] = {
    "exact": "=",
    "unconfirmed": "·",
    "parted": "≠",
    "polled": "°",
    "counted": "+",
    "estimated": "~",
    "unknown": "",
}
"""The sign behind a number that says how it is known."""

UNKNOWN: Final = "—"


def summary(session: Session) -> str:
    """A few lines per target: what was seen."""
    return "\n".join(printable(line) for t in session.targets for line in _target(t)) or "nothing was seen"


def printable(text: str) -> str:
    """Text from outside on one line, without what a terminal would obey."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def _target(target: Target) -> list[str]:
    totals, config = target.totals, target.config
    mark = MARKS[totals.evidence]
    types = UNKNOWN if config.types is None else ", ".join(config.types) or "none"
    lines = [f"{target.url or target.id}  {target.server}  speculation: {types}  evidence: {evidence_words(target)}"]
    lines.append(f"  {_rolling(target.rates)}")
    if totals.cycles is not None:
        lines.append(
            f"  {totals.cycles:,} cycles{mark}, drafted {_count(totals.drafted)}{mark}, "
            f"accepted {_count(totals.accepted)}{mark}, acceptance {_percent(totals.acceptance)}, "
            f"tau {_number(totals.tau)}, tau_draft {_number(totals.tau_draft)}"
        )
        lines.append(f"  {referee_sentence(target)}")
    lines += _methods(target)
    lines += _gains(target)
    lines += _turns(target)
    lines += gpu_lines(target)
    lines += config_lines(target)
    finished = [r for r in target.requests if r.ended_at is not None]
    counted = [r.generated for r in finished if r.generated is not None]
    tokens = _count(sum(counted) if counted or not finished else None)
    which = "them" if len(counted) in (0, len(finished)) else f"{len(counted)} of them"
    ended = "1 request" if len(finished) == 1 else f"{len(finished)} requests"
    lines.append(f"  {ended} ended, {tokens} tokens in {'it' if len(finished) == 1 else which}")
    if target.restarts:
        times = "once" if len(target.restarts) == 1 else f"{len(target.restarts)} times"
        lines.append(f"  the server restarted {times}; the figures are of its last run")
    return lines


def _rolling(rates: Rates) -> str:
    if not rates.span_s:
        return "no decoding was seen"
    return (
        f"last {rates.span_s:,.0f} s of decoding: {_number(rates.tok_s, 1)} tok/s, tau {_number(rates.tau)}, "
        f"median {_number(rates.cycle_ms, 1)} ms/cycle"
    )


def _methods(target: Target) -> list[str]:
    """Two lines for each drafting method, where there are several: what it did, and what it gains."""
    rows = target.by_method if len(target.by_method) > 1 else ()
    unit = of_slots(target.economics.slots)
    return [line for row in rows for line in (f"  {_method(row)}", f"    {_gained(row, unit)}")]


def _method(row: MethodRow) -> str:
    mark = MARKS[row.evidence]
    words = [
        f"{row.name}: {_count(row.cycles)} cycles{mark}",
        f"accepted {row.accepted:,} of {row.drafted:,}{mark} ({_percent(row.acceptance)})",
        f"{_number(row.tau_draft)} tokens a cycle",
    ]
    times = {"draft": row.draft_ms, "cycle": row.cycle_ms.value if row.cycle_ms is not None else None}
    words += [f"{name} {_number(ms)} ms" for name, ms in times.items() if ms is not None]
    return ", ".join(words)


def _gained(row: MethodRow, unit: str) -> str:
    gain, speed, without = row.gain_pct, row.tok_s, row.without_tok_s
    if gain is None or speed is None or without is None:
        if row.gain_at_most_pct is not None:
            most = f"{ceil(row.gain_at_most_pct)} %{MARKS['estimated']}"
            return (
                f"gains at most {most} over plain decoding, for no cycle is shorter than a plain step: run without it"
            )
        return f"gain unknown: {row.collecting}"
    whole = f", the server {row.server_gain_pct.value:+.0f} %" if row.server_gain_pct is not None else ""
    return (
        f"{speed.value:,.0f} {unit} instead of {without.value:,.0f}{MARKS['estimated']}: {gain.value:+.0f} % "
        f"({gain.low:+.0f} to {gain.high:+.0f}){whole} ({row.basis})"
    )


def _gains(target: Target) -> list[str]:
    """What speculation gains and which width is best, each with its basis; and the regimes where there are several."""
    mark, told, several = MARKS[evidence_of(target)], told_of(target), kinds(target.regimes)
    halves = [
        half.forms[0][0] + (mark if half.verdict else "") + (f" ({half.forms[0][1]})" if half.forms[0][1] else "")
        for half in told
    ]
    lines = [f"  {'; '.join(halves)}"] if halves else []
    if len(several) > 1:
        unit = of_slots(len(target.slots))
        lines.append(f"  by regime: {'; '.join(_regime(r, unit) for r in several if r.how != 'all')}")
    return lines


def _regime(row: Regime, unit: str) -> str:
    time = f", {row.share_time:.0%} of the time" if row.share_time is not None else ""
    gained = f", {factor(row.speedup)}{MARKS['estimated']}" if row.speedup is not None else ""
    speed = f"tau {_number(row.tau)}, {_number(row.tok_s, 1)} {unit}{gained}"
    return f"{row.name} {row.share_tokens:.0%} of the tokens{time}, {speed}"


def _turns(target: Target) -> list[str]:
    """Where a turn's time goes, what it copies, where tokens are chosen and who waits: as far as it is known."""
    anatomy, path, stalls = target.anatomy, target.backend_path, target.stalls
    lines: list[str] = []
    if anatomy is not None:
        parts, mark = anatomy.parts, MARKS[anatomy.evidence]
        known = ", ".join(f"{name} {ms:.1f}" for name, ms in seen_parts(anatomy))
        lines.append(f"  a turn of {parts.whole_ms:.1f} ms{mark}: {known} ({anatomy.basis})")
    if target.copies:
        copied = sum(r.bytes_each * r.per_turn for r in target.copies)
        lines.append(f"  copies to the host: {copied / 1e6:,.2f} MB a turn, most of it {_copies(target.copies[0])}")
    if target.saved:
        apart = sum(r.bytes_each * r.copies for r in target.saved)
        most = target.saved[0]
        told = f" ({most.meaning})" if most.meaning else ""
        lines.append(
            f"  copied besides, in no turn: {apart / 1e6:,.2f} MB, most of it {most.copies:,} x "
            f"{most.bytes_each:,} bytes{told}"
        )
    if path.evidence != "unknown":
        lines.append(f"  chosen on: draft {path.draft}, target {path.target}{MARKS[path.evidence]}")
    if stalls is not None:
        lines.append(f"  host waits for the device {stalls.waiting:.0%}, device idle {stalls.idle:.0%} of the time")
    return lines


def _copies(row: CopyRow) -> str:
    times = f"{row.per_turn:.1f}".removesuffix(".0")
    return f"{times} x {row.bytes_each:,} bytes" + (f" ({row.meaning})" if row.meaning else "")


def referee_sentence(target: Target) -> str:
    """What the server's own counters say of the captured cycles, in one line."""
    count, referee = target.referee.count, target.referee
    if target.cycle_evidence == "parted" and target.poll.completeness is not None and count is not None:
        return (
            f"polling is too slow here: it saw {count.captured_accepted:,} accepted, the server counted "
            f"{count.accepted:,}; LLAMA_TRACE=1 shows every cycle"
        )
    if target.evidence == "counted" and not target.poll.completeness and count is not None and count.cycles:
        return f"the server counted {count.cycles:,} cycles; polling could tell none of them apart"
    if target.cycle_evidence == "polled" and target.poll.completeness is not None and count is not None:
        polls = f", {target.poll.per_step:.1f} polls a step" if target.poll.per_step is not None else ""
        return f"polled {target.poll.completeness:.1%} of the server's {count.cycles:,} cycles{polls}"
    if count is not None:
        sign = "=" if count.agrees else "≠"
        more = count.beyond(target.totals.cycles)
        rest = f", {more:,} more not compared" if more else ""
        return f"cycles {count.captured_cycles:,} {sign} server {count.cycles:,}{rest}"
    if referee.requests_checked:
        agreed = referee.requests_checked - referee.requests_parted
        return f"{agreed} of {referee.requests_checked} requests equal the totals in the log"
    return f"not compared with the server's own counters: {referee.waiting}" if referee.waiting else ""


def _number(value: float | None, digits: int = 2) -> str:
    return UNKNOWN if value is None else f"{value:,.{digits}f}"


def _count(value: int | None) -> str:
    return UNKNOWN if value is None else f"{value:,}"


def _percent(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.1%}"
