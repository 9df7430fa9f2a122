"""Each drafted token brings experts of its own: verifying even a few rows takes much longer than a plain step.

Looks at: a target with experts in its header; the time of a cycle of 1 to 3 drafted tokens, the drafter's part taken
off, beside a plain step; experts that are kept on the CPU.

Why it matters: a dense model reads the same weights for one row and for four. A mixture of experts reads those of
each token, so that few rows cost nearly as much as decoding them one by one; from the host's memory it is the slowest
read of all. tau then has to be that much higher.

What to do: draft only what is sure (``--spec-draft-p-min``, a narrow ``--spec-draft-n-max``), keep more experts on
the device (``--n-cpu-moe``), and compare with speculation off.

Evidence: the verification of 1 to 3 tokens takes 1.6 plain steps and more, by the ends of both 95 % intervals
(cleared below 1.4). Experts on the CPU (``--cpu-moe``, ``--n-cpu-moe``, ``--override-tensor`` of exps) of which no
plain time was seen are reported as such. Nothing is said where speculation is known to pay all the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.dialect import flag_of
from specscope.findings.drafting import against_plain, judged, pays_off, plain_words, set_width
from specscope.findings.rule import Collecting, Inapplicable, Rule
from specscope.findings.unjudged import HEADER, PLAIN, no_method, wait
from specscope.session.economics.state import Economics

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Finding, Seen
    from specscope.session.economics.state import CostPoint
    from specscope.session.state import Target

LINK: Final = "https://github.com/ikawrakow/ik_llama.cpp/issues/1630"

FEW: Final = 3
"""Drafted tokens: with more, the experts of many are shared."""

DEAR: Final = 1.6
LESS_DEAR: Final = 1.4


def look(case: Case) -> Seen:
    """Judge one server."""
    target, economics = case.target, judged(case.target)
    if not _experts(target):
        dense = Inapplicable("the model has no experts") if "target" in target.models else None
        return no_method(target) or dense or wait(target, HEADER)
    if not isinstance(economics, Economics):
        return economics
    if pays_off(economics):
        return ()
    few = [p for p in economics.costs if p.width <= FEW and p.cycles]
    point = max(few, key=lambda p: p.cycles, default=None)
    if economics.plain is None:
        return (_unmeasured(case),) if _on_host(target) else PLAIN
    if point is None:  # what was raised for want of a plain time is over
        return () if case.raised else Collecting(f"cycles of 1 to {FEW} drafted tokens (specscope recipe width {FEW})")
    verify_ms = _verifying(economics, point)
    if verify_ms is None:
        return Collecting("the drafter's part of a cycle (--trace auto, or -lv 4)")
    if not case.holds(verify_ms / economics.plain.high, raise_at=DEAR, clear_at=LESS_DEAR):
        return ()
    return (
        RULE.found(
            case,
            f"verifying a draft of {point.width} takes {verify_ms / economics.plain.ms:.1f} plain steps at least: each "
            "token brings its own experts",
            (
                ("experts", _experts(target)),
                (f"cycle of width {point.width}", f"{point.ms:.2f} ms ({point.low:.2f} to {point.high:.2f})"),
                ("a plain step takes", plain_words(economics.plain)),
                *against_plain(economics),
            ),
            _advice(target),
            severity="warning" if pays_off(economics) is False else None,
            link=LINK,
        ),
    )


def _verifying(economics: Economics, point: CostPoint) -> float | None:
    """What a cycle takes at least without its drafting; None where the drafter's part is not known."""
    drafting = economics.drafting
    if drafting is None or (drafting.ms is None and drafting.by != "table"):
        return None
    ms = drafting.ms or 0.0
    if drafting.by == "token" and drafting.width:
        ms *= min(1.0, point.width / drafting.width)
    return point.low - ms


def _experts(target: Target) -> str:
    """How many experts the target has, and how many of them a token takes; empty: none."""
    model = target.models.get("target")
    count = model.hparams.get("expert_count") if model is not None else None
    if model is None or not isinstance(count, int) or not count:
        return ""
    used = model.hparams.get("expert_used_count")
    words = f"{count}, {used} for each token" if isinstance(used, int) else f"{count}"
    return f"{words}{', some on the CPU' if _on_host(target) else ''}"


def _on_host(target: Target) -> bool:
    flags = target.flags
    if flags is None:
        return False
    moved = flags.override_tensor or ""
    return bool(flags.cpu_moe or flags.n_cpu_moe or ("exps" in moved and "CPU" in moved))


def _unmeasured(case: Case) -> Finding:
    return RULE.found(
        case,
        "experts on the CPU: each drafted token reads its own from the host's memory",
        (
            ("experts", _experts(case.target)),
            ("cost", "not measured: plain decoding has not been seen (specscope recipe plain)"),
        ),
        _advice(case.target),
        link=LINK,
    )


def _advice(target: Target) -> str:
    p_min = flag_of(target, "--spec-draft-p-min")
    return (
        f"draft only what is sure ({p_min} 0.75, or {set_width(target, 1)}), keep more experts on the device "
        "(--n-cpu-moe), and compare with speculation off"
    )


RULE = Rule("SPC130", "moe_verify_cost", "info", look)
