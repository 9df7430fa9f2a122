"""Less of the drafts is accepted than in the recorded run, although they are drafted in the same way.

Looks at: acceptance against the recording of ``check --against``, of the latest 128 requests of both and of each
labelled kind of work by itself; builds, model files and settings of both runs.

Why it matters: the same files gave 0.70 on one build and 0.50 on the next, 0.92 on one backend and 0.36 on another.
Prompts are blamed first; beside a recorded run of the same work it shows that they are not the cause. A sampling
default that changed does the same: ``min_p`` 0.05 instead of 0 cost a published case 8 % of its speed.

What to do: look at what else differs: another build, other files, ``--spec-draft-type-k``, sampling. Go back to the
recorded build or setting, and report it with both figures.

Evidence: acceptance moved by more than three standard errors between requests and by more than 5 %, with at least 3
requests and 200 drafted tokens on each side (cleared when it is within 3 %). Methods and draft width must be alike:
a wider draft has a lower acceptance by itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.recorded import recorded
from specscope.findings.rule import Collecting, Inapplicable, Rule
from specscope.findings.unjudged import no_method, wait
from specscope.session.provenance.against import configured_otherwise, moved
from specscope.session.provenance.values import written

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Finding, Seen
    from specscope.session.provenance.against import Moved
    from specscope.session.state import Target

LINK: Final = "https://github.com/ggml-org/llama.cpp/issues/26750"

FELL: Final = -0.05
"""As a share of what it was: repeats of one published run lay 4.1 % apart."""

NEARLY: Final = -0.03

LEAST: Final = "3 requests and 200 drafted tokens of each kind of work in both runs"

MOST: Final = 6
"""Differences that are named."""


def look(case: Case) -> Seen:
    """Judge one server."""
    target, before = case.target, recorded(case)
    if not target.config.types and not target.totals.cycles:
        return no_method(target) or Collecting(LEAST)
    if case.against is None:
        return wait(target, "a recorded run to compare with (specscope check --against FILE)")
    if before is None:
        return Inapplicable("the recording has no server with this model")
    if not before.totals.cycles:
        return Inapplicable("the recorded run made no drafts")
    if not target.totals.cycles:
        return wait(target, LEAST)
    if not _drafts_alike(target, before):
        return Inapplicable("the recorded run drafted with other methods or another width")
    figures = moved(target, before, "acceptance")
    if not figures:
        return Collecting(LEAST)
    return tuple(_told(case, before, figure) for figure in figures if _fell(case, figure))


def _drafts_alike(now: Target, before: Target) -> bool:
    """Whether methods and width are those of the recorded run; a width that is not known is judged by the drafts."""
    widths = [t.config.n_max_effective or t.economics.n_max for t in (now, before)]
    return now.config.types == before.config.types and widths[0] == widths[1]


def _fell(case: Case, figure: Moved) -> bool:
    part = figure.label
    return (figure.beyond or case.subject(part) in case.raised) and case.holds(
        figure.change, raise_at=FELL, clear_at=NEARLY, part=part
    )


def _told(case: Case, before: Target, figure: Moved) -> Finding:
    differs = configured_otherwise(case.target, before)
    named = [f"{d.what} {written(d.before)} -> {written(d.now)}" for d in differs[:MOST]]
    more = f" and {len(differs) - MOST} more" if len(differs) > MOST else ""
    what = "; ".join(named) + more if named else "nothing that is seen: not the configuration"
    of = f" of {figure.label}" if figure.label else ""
    return RULE.found(
        case,
        f"acceptance{of} fell from {figure.before:.0%} to {figure.now:.0%} against the recorded run",
        (
            ("recorded", f"{figure.before:.1%}"),
            ("now", f"{figure.now:.1%} ({100 * figure.change:+.0f} %, standard error {figure.error:.1%})"),
            ("what differs", what),
        ),
        "go back to what differs, or if nothing does compare the drafter's KV type (--spec-draft-type-k) and the text",
        part=figure.label,
        link=LINK,
    )


RULE = Rule("SPC122", "acceptance_regressed", "warning", look)
