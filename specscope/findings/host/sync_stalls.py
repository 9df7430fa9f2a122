"""The device has no work for most of the time, because the host has not handed it the next graph yet.

Looks at: bursts of probes on waiting and submitting, on a server whose graphs run on a device: the time from the
end of a wait to the next submit; and what the host does in a turn meanwhile.

Why it matters: draft, verification and the handing over of features are graphs that follow one another, and
between them the host selects, samples and prepares. On an H200 the device is idle for about a third of a DFlash
cycle; beyond half of it the host sets the pace, and a faster GPU or a smaller quant changes nothing.

What to do: shorten what the host does: ``--top-k`` or ``--backend-sampling`` for sampling,
``--spec-draft-backend-sampling`` for the selection of the drafts, fewer slots or a faster core for the rest.

Evidence: 50 % or more idle over at least 3 bursts. On the H200 it is 30 % of an untraced cycle and up to 40 % in a
burst, whose own probes make the host 11 % slower. The cost is the device's idle time in a turn beyond those 40 %.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.rule import Inapplicable, Rule
from specscope.findings.unjudged import ON_CPU, untraced, wait

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen
    from specscope.session.state import Target

MIN_BURSTS: Final = 3
"""One burst may fall on the end of a request; half a second of three holds dozens of cycles."""

IDLE: Final = 0.5
"""The device waits for longer than it works."""

LESS_IDLE: Final = 0.45
"""Below it, a raised finding is cleared: midway to the 40 % that is normal in a burst."""

NORMAL: Final = 0.4
"""Of the time in a burst: what is idle beyond it is what an H200 does not lose."""

MOST: Final = 3
"""Of the host's parts so many are named."""


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    stalls, trace = target.stalls, target.trace
    if trace is None:
        return untraced(target) or ()
    if trace.asynchronous is False:
        return ON_CPU
    if trace.asynchronous is None:
        return wait(target, "a traced turn")
    if trace.burst_s is None:
        return Inapplicable("no bursts are traced (--trace auto)")
    bursts = len(stalls.bursts) if stalls is not None else 0
    if stalls is None or bursts < MIN_BURSTS:
        return wait(target, f"{MIN_BURSTS} bursts in which the server decodes ({bursts} so far)")
    if not case.holds(stalls.idle, raise_at=IDLE, clear_at=LESS_IDLE):
        return ()
    whole_ms = target.anatomy.parts.whole_ms if target.anatomy is not None and target.anatomy.turns else None
    seconds = sum(b.span_s for b in stalls.bursts)
    return (
        RULE.found(
            case,
            f"the device is idle {stalls.idle:.0%} of the time: the host has no work ready for it",
            (
                ("device idle", f"{stalls.idle:.0%} of {seconds:.1f} s in {bursts} bursts"),
                ("host waits for the device", f"{stalls.waiting:.0%}"),
                *_meanwhile(target),
            ),
            "shorten the host's part: --top-k 40 or --backend-sampling for sampling, --spec-draft-backend-sampling "
            "for the drafts' selection, a faster core for the rest",
            cost_ms=(stalls.idle - NORMAL) * whole_ms if whole_ms is not None else None,
        ),
    )


def _meanwhile(target: Target) -> tuple[tuple[str, str], ...]:
    """The host's largest parts of a turn."""
    anatomy = target.anatomy
    if anatomy is None or not anatomy.turns:
        return ()
    parts = anatomy.parts
    of_host = {
        "sampling": parts.sampling_ms,
        "the drafts' selection": parts.draft_sampling_ms,
        "handing features over": parts.features_ms,
        "submitting": parts.submit_ms,
        "other": parts.other_ms,
    }
    largest = sorted(((ms, name) for name, ms in of_host.items() if ms), reverse=True)[:MOST]
    told = ", ".join(f"{name} {ms:.1f} ms" for ms, name in largest)
    return (("the host meanwhile", f"{told} of {parts.whole_ms:.1f} ms a turn"),) if told else ()


RULE = Rule("SPC504", "sync_stalls", "warning", look)
