"""What a trace tells beyond single cycles, in phrases: copies, paths of tokens, stalls, and how it is traced."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.views.figures import MARKS, data_size, span, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specscope.session.state import SourceView, Target
    from specscope.session.turn_state import Anatomy, BackendPath, CopyRow, SavedRow, Stalls, TraceView

SOURCE: Final = "trace"
"""The name of the source that traces."""

STALE_S: Final = 3.0
"""Figures of the last turns are called old when the last of them ended this long ago."""

NOT_EXPLAINED: Final = "not explained by the models' sizes"

_SEVERAL: Final = 1.05
"""From so many cycles a turn on, the turns are said to serve several."""

_ALWAYS: Final = 0.98
"""A burst that takes this share of its period is no burst."""


def basis_words(anatomy: Anatomy) -> str:
    """Of what the figures are the mean, and by what they are estimated where they are."""
    if anatomy.evidence == "estimated":
        return f"estimated: {anatomy.basis}" if anatomy.basis else "estimated"
    what = "turn" if anatomy.cycles else "plain step"
    each = anatomy.cycles / anatomy.turns if anatomy.turns else 0.0
    serves = f", {each:.1f} cycles in each" if each >= _SEVERAL else ""
    if not anatomy.turns:
        return f"in a {what}"
    return f"in a {what}, mean of {whole(anatomy.turns)} in {anatomy.span_s:.1f} s{serves}"


def age_words(anatomy: Anatomy, now: float) -> str:
    """How old the figures are, where they are not of the present; empty otherwise."""
    if not anatomy.seconds:
        return ""
    age = now - anatomy.seconds[-1][0] - 1.0
    return f"last one {span(age)} ago" if age >= STALE_S else ""


def copied_per_turn(copies: Sequence[CopyRow]) -> float:
    """Bytes that go to the host's memory in a turn."""
    return sum(row.bytes_each * row.per_turn for row in copies)


def copies_phrase(copies: Sequence[CopyRow]) -> str:
    """``to host 4.46 MB a turn, most: target logits of 16 rows``; empty when nothing is known."""
    if not copies:
        return ""
    most = max(copies, key=lambda row: row.bytes_each * row.per_turn)
    said = f"to host {data_size(copied_per_turn(copies))} a turn"
    return f"{said}, most: {most.owner} {most.meaning}" if most.meaning else said


def saved_phrases(saved: Sequence[SavedRow]) -> tuple[str, ...]:
    """What was copied in no turn, and what it is, or most of it: in full and shorter; empty where nothing was."""
    if not saved:
        return ()
    size, copies = sum(row.bytes_each * row.copies for row in saved), sum(row.copies for row in saved)
    told, most = saved[0].meaning or NOT_EXPLAINED, "most: " if len(saved) > 1 else ""
    number = f"{whole(copies)} cop{'y' if copies == 1 else 'ies'}"
    return (
        f"besides, in no turn: {data_size(size)} in {number}, {most}{told}",
        f"besides: {data_size(size)}, {most}{told}",
        f"besides: {data_size(size)}, {told}",
    )


def path_phrases(path: BackendPath) -> list[str]:
    """Where tokens are chosen, each with its mark; what is not known is not said."""
    sign = MARKS[path.evidence].strip()
    said = (("draft selection", path.draft), ("target sampling", path.target))
    return [f"{what}: {where}{sign}" for what, where in said if where != "unknown"]


def sampled_words(stalls: Stalls) -> str:
    """How much of the time the stalls were looked at: ``sampled 0.5 s in 10 s``."""
    if stalls.burst_s is not None and stalls.every_s:
        return (
            "seen all the time" if stalls.burst_s >= _ALWAYS * stalls.every_s else _duty(stalls.burst_s, stalls.every_s)
        )
    return f"sampled {sum(b.span_s for b in stalls.bursts):.1f} s in all"


def _duty(burst_s: float, every_s: float) -> str:
    return f"sampled {round(burst_s, 1):g} s in {round(every_s, 1):g} s"


def has_stalls(target: Target) -> bool:
    """Whether stalls were seen; where the CPU computes there is no device to wait for."""
    stalls = target.stalls
    known = (target.anatomy, target.trace)
    by_cpu = any(k is not None and k.asynchronous is False for k in known)
    return stalls is not None and not by_cpu and any(b.span_s > 0 for b in stalls.bursts)


def stalls_phrase(target: Target) -> str:
    """``CPU waits 46 %, GPU idle 41 % (sampled 0.5 s in 10 s)``; empty when not seen."""
    stalls = target.stalls
    if stalls is None or not has_stalls(target):
        return ""
    return f"CPU waits {_share(stalls.waiting)}, GPU idle {_share(stalls.idle)} ({sampled_words(stalls)})"


def _share(share: float) -> str:
    return f"{100 * share:.0f} %"


def trace_phrase(trace: TraceView, before: str = "") -> str:
    """What is traced: ``auto, dear probes 0.5 s in 10 s``; the mode is left out when ``before`` begins with it."""
    mode = f"{before}, " if before.startswith(trace.mode) else f"{trace.mode}, {before}{', ' if before else ''}"
    if trace.burst_s is None or not trace.burst_every_s:
        return f"{mode}dear probes never"
    if trace.burst_s >= _ALWAYS * trace.burst_every_s:
        return f"{mode}dear probes as often as they can be armed"
    return f"{mode}dear probes {trace.burst_s:g} s in {trace.burst_every_s:g} s"


def missing_phrase(trace: TraceView) -> str:
    """Which functions this build lacks; empty when none."""
    return f"not in this build: {', '.join(trace.missing)}" if trace.missing else ""


def trace_source(target: Target) -> SourceView | None:
    """The source that traces."""
    return next((source for source in target.sources if source.name == SOURCE), None)


def untraced_words(target: Target) -> tuple[str, str]:
    """Why nothing is traced, and what lifts it; both empty while a trace runs."""
    source = trace_source(target)
    if source is None:
        if target.trace is not None:
            return "", ""
        return "nothing is traced here: this watch or recording has no tracing source", ""
    if source.state == "attached":
        return "", ""
    return f"not traced: {source.detail or 'the trace ended'}", source.hint
