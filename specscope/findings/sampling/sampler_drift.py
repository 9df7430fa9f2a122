"""Requests are sampled differently: from each other, or from a recorded run.

Looks at: the sampling parameters of each request on /slots, and with ``--against`` those of the recording.

Why it matters: temperature, top_k and their like decide which drafts are accepted. Two clients that send different
ones share one server and one set of figures: tau and tok/s are then a mix of both, and a comparison of two runs
compares their sampling. It may be meant (a tool that wants greedy answers), so it is no fault by itself.

What to do: give the values to the server once and let clients send none, or label and compare each kind apart.

Evidence: each set of values with how many requests had it, what tells their clients apart, and how fast they were.
Seeds and limits are each request's own affair. Two requests that differ are enough: the values are the server's own
words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.recorded import recorded
from specscope.findings.rule import Rule
from specscope.findings.unjudged import wait
from specscope.session.provenance.against import settings_moved
from specscope.session.provenance.known import SAMPLING_NAMES
from specscope.session.provenance.values import written

if TYPE_CHECKING:
    from collections.abc import Iterable

    from specscope.findings.rule import Case, Finding, Seen
    from specscope.session.provenance.state import RequestSet
    from specscope.session.state import Target

LEAST_REQUESTS: Final = 2

MOST_SETS: Final = 4
MOST_NAMES: Final = 6
"""Shown of each, the most frequent first."""

NO_MATTER: Final = frozenset({"n_probs"})
"""It asks for more in the answer, not for another answer."""

RECORDED: Final = "against the recording"


def look(case: Case) -> Seen:
    """Judge one server."""
    found = (*_between_requests(case), *_against(case))
    requests = case.target.provenance.requests.requests
    if found or case.raised or requests >= LEAST_REQUESTS:
        return found
    return wait(case.target, f"{LEAST_REQUESTS} requests whose parameters are seen on /slots ({requests} so far)")


def _between_requests(case: Case) -> tuple[Finding, ...]:
    drift = case.target.provenance.requests
    names = [name for name in drift.varying if name not in NO_MATTER][:MOST_NAMES]
    if not names:
        return ()
    ways = len(drift.sets) + drift.unlisted
    more = ways - min(ways, MOST_SETS)
    return (
        RULE.found(
            case,
            f"{drift.requests:,} requests were sampled in {ways} ways: "
            f"{', '.join(names)} differ{'s' if len(names) == 1 else ''}",
            (
                *(_row(one, names) for one in drift.sets[:MOST_SETS]),
                *((("more", f"{more} other ways"),) if more else ()),
                ("changes", f"{drift.changed:,} from one request to the next"),
            ),
            f"give {_flags(case.target, names)} to the server and let no client send its own, or compare them apart",
            severity="info",
            settled=True,
        ),
    )


def _row(one: RequestSet, names: Iterable[str]) -> tuple[str, str]:
    kind = f", {one.kinds[0][0]}" if one.kinds else ""
    values = dict(one.values)
    told = ", ".join(f"{name} {written(values.get(name))}" for name in names)
    speed = [f"tau {one.tau:.2f}"] if one.tau is not None else []
    speed += [f"{one.tok_s:,.0f} tok/s"] if one.tok_s is not None else []
    noun = "request" if one.requests == 1 else "requests"
    return f"{one.requests:,} {noun}{kind}", told + (f" ({', '.join(speed)})" if speed else "")


def _flags(target: Target, names: Iterable[str]) -> str:
    settings = [target.provenance.setting(name) for name in names]
    flags = [setting.flag for setting in settings if setting is not None and setting.flag]
    return " ".join(flags) or "the values"


def _against(case: Case) -> tuple[Finding, ...]:
    before = recorded(case)
    if before is None:
        return ()
    moved = [d for d in settings_moved(case.target, before) if d.what in SAMPLING_NAMES]
    if not moved:
        return ()
    names = [difference.what for difference in moved]
    return (
        RULE.found(
            case,
            f"not sampled as in the recording: {', '.join(names[:MOST_NAMES])}",
            tuple((d.what, f"{written(d.before)} then, {written(d.now)} now") for d in moved),
            f"for a comparison give {_flags(case.target, names)} the recorded values",
            part=RECORDED,
        ),
    )


RULE = Rule("SPC203", "sampler_drift", "warning", look)
