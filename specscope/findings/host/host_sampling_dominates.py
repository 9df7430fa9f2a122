"""The host samples for so long that the device waits for it most of the turn.

Looks at: the traced share of a turn's time in the target's sampling, on a server whose graphs run on a device.

Why it matters: verification samples position by position on one thread of the host, and the device has nothing to
do meanwhile. On an H200 that is 26-31 % of a DFlash cycle and normal; penalties (25-33 % of the speed in a comment on
llama.cpp issue 23708), a grammar, a large vocabulary without top_k, or a slow core make it the largest part of the
cycle, which no faster GPU shortens.

What to do: keep few candidates (``--top-k``), switch off penalties and samplers that are not needed, or sample on
the device with ``--backend-sampling``, where the build has it and no grammar is used.

Evidence: the mean of at least 50 traced turns with 45 % or more in sampling: half as much again as the most that
is normal (31 %), and far below the 82 % of a sorted vocabulary. The cost is what sampling takes beyond 31 %.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.rule import Collecting, Rule
from specscope.findings.unjudged import ON_CPU, untraced, wait

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen
    from specscope.session.state import Target
    from specscope.session.turn_state import Anatomy

MIN_TURNS: Final = 50
"""Turns before the mean is judged: single ones vary by a few tens of percent, the mean of 50 by a few."""

NORMAL: Final = 0.31
"""Share of a DFlash cycle on an H200 at its highest (b11434, vocabulary 49,152, width 15)."""

TOO_MUCH: Final = 0.45
"""Half as much again as is normal."""

LESS: Final = 0.38
"""Midway between the two: below it, a raised finding is cleared."""

LEAST_WAIT: Final = 0.05
"""A device that verifies takes more of the turn than this (half of it on an H200). With less, the waiting was not
seen apart: builds that do not wait on their own do so within the first sampling."""

SHOWN: Final = ("top_k", "top_p", "min_p", "repeat_penalty", "presence_penalty", "frequency_penalty")


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    anatomy = target.anatomy
    if anatomy is None or anatomy.evidence == "estimated" or anatomy.asynchronous is None:
        on_cpu = ON_CPU if target.trace is not None and target.trace.asynchronous is False else None
        return untraced(target) or on_cpu or wait(target, f"{MIN_TURNS} traced turns (0 so far)")
    if not anatomy.asynchronous:
        return ON_CPU
    parts = anatomy.parts
    if parts.sampling_ms is None or parts.wait_ms is None:
        return Collecting("probes on the sampler (--trace auto)")
    if anatomy.turns < MIN_TURNS:
        return Collecting(f"{MIN_TURNS} traced turns ({anatomy.turns} so far)")
    share = parts.sampling_ms / parts.whole_ms
    if not case.holds(share, raise_at=TOO_MUCH, clear_at=LESS):
        return ()
    if parts.wait_ms < LEAST_WAIT * parts.whole_ms:
        return Collecting("a build whose waiting can be told from its sampling")
    usual = NORMAL / (1 - NORMAL) * (parts.whole_ms - parts.sampling_ms)
    return (
        RULE.found(
            case,
            f"sampling on the host takes {share:.0%} of each turn; the device waits meanwhile",
            (
                ("host sampling", f"{parts.sampling_ms:.1f} of {parts.whole_ms:.1f} ms a turn ({share:.0%})"),
                *_per_token(anatomy),
                ("device", f"{parts.wait_ms:.1f} ms a turn are waited for it"),
                *_parameters(target),
            ),
            "keep few candidates (--top-k 40 or the model card's), drop samplers and penalties that are not needed, "
            "or try --backend-sampling",
            cost_ms=parts.sampling_ms - usual,
        ),
    )


def _per_token(anatomy: Anatomy) -> tuple[tuple[str, str], ...]:
    if not anatomy.samples or anatomy.parts.sampling_ms is None:
        return ()
    each = anatomy.parts.sampling_ms * anatomy.turns / anatomy.samples
    return (("tokens sampled", f"{anatomy.samples / anatomy.turns:.1f} a turn, {each:.2f} ms each"),)


def _parameters(target: Target) -> tuple[tuple[str, str], ...]:
    known = {name: target.config.sampling.get(name) for name in SHOWN}
    shown = [f"{name} {value:.4g}" for name, value in known.items() if isinstance(value, (int, float))]
    return (("sampling", ", ".join(shown)),) if shown else ()


RULE = Rule("SPC502", "host_sampling_dominates", "warning", look)
