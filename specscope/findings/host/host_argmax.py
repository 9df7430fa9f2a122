"""The drafter's tokens are selected on the host: its logits are copied from the device for every draft.

Looks at: the copies of the drafter where a trace shows them; else ``--no-spec-draft-backend-sampling``,
``-sm tensor``, the log's ``backend offload failed .. using CPU sampler`` and ``backend sampling not supported with
SPLIT_MODE_TENSOR``, or the traffic on the bus.

Why it matters: selecting on the device leaves a few bytes per drafted token to copy; on the host the logits of
every draft row (4 bytes x vocabulary) cross the bus each cycle. One published case gained 5.6 % by moving the
selection to the device; on an H200 pair it made no difference within noise, and on a CPU the host is even faster.
So the path is reported always, a loss only when it was measured.

What to do: drop ``--no-spec-draft-backend-sampling`` (or split by layer), measure, and keep what is faster. Against a
recording of the same server that selects on the device (``check --against``), the difference is told.

Evidence: the drafter's logits among the copies of each turn, the flag, the log line, or bytes on the bus that only
they explain. Copies that show the selection on the device outweigh a flag. The cost is the time of a step less that of
the recording, where it moved beyond noise and nothing else was set otherwise.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.as_written import as_written
from specscope.findings.recorded import recorded
from specscope.findings.rule import Rule
from specscope.findings.unjudged import TABLES_ALONE, no_method, untraced, wait
from specscope.session.backend_path import DRAFT_ON_HOST
from specscope.session.provenance.against import configured_otherwise, moved

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen
    from specscope.session.state import Target

NOT_MEASURED: Final = "not measured here"
OFF: Final = "--no-spec-draft-backend-sampling"
SETTING: Final = "spec_draft_backend_sampling"


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    types = target.config.types
    if types is not None and not any(t.startswith("draft-") for t in types):
        return no_method(target) or TABLES_ALONE
    path = target.backend_path
    if path.evidence == "exact" and path.draft == "device":
        return ()
    seen = ("copies", path.draft_why) if path.evidence == "exact" else ("seen by", path.draft_why)
    told = _told(target)
    if path.draft == "host" and (path.evidence == "exact" or not told):
        told = [seen, *told]
    if not told:
        return () if path.draft == "device" else _unknown(target)
    evidence, vocabulary = list(told), target.models["target"].n_vocab if "target" in target.models else None
    if vocabulary:
        evidence.append(("logits per draft row", f"{vocabulary * 4:,} bytes ({vocabulary:,} x 4)"))
    cost_ms, beside = _beside(case)
    evidence.append(("cost", beside or _parts(target)))
    return (
        RULE.found(
            case,
            "draft tokens are selected on the host",
            tuple(evidence),
            f"{_advice(target)}, compare ms per cycle, keep what is faster",
            settled=told[0] is not seen,
            cost_ms=cost_ms,
        ),
    )


def _unknown(target: Target) -> Seen:
    """What is said where neither copies nor flags nor the bus tell where they are selected."""
    none = no_method(target) if target.config.types is None else None
    return none or untraced(target) or wait(target, "copies of the drafter in a burst of the trace (--trace auto)")


def _told(target: Target) -> list[tuple[str, str]]:
    """Flags and lines of the log that say so."""
    flags, told = target.flags, list[tuple[str, str]]()
    if flags is not None and flags.spec_draft_backend_sampling is False:
        told.append(("flag", as_written(target, SETTING, OFF)))
    if flags is not None and flags.split_mode == "tensor" and target.config.types:
        told.append(("flag", as_written(target, "split_mode", "--split-mode", "tensor")))
    return told + [("log", text) for code, text in DRAFT_ON_HOST.items() if code in target.log_said]


def _beside(case: Case) -> tuple[float | None, str]:
    """What a step takes more than in the recording of the same server with the other path, and in words."""
    before = recorded(case)
    if before is None or before.backend_path.draft != "device":
        return None, ""
    step = next((m for m in moved(case.target, before, "step_ms") if not m.label), None)
    if step is None:
        return None, ""
    others = [d.what for d in configured_otherwise(case.target, before) if d.what != SETTING]
    if others:
        return None, f"{NOT_MEASURED}: the recording differs in {others[0]} as well"
    steps = f"{step.now:.2f} ms a step, {step.before:.2f} in the recording that selects on the device"
    if not step.beyond:
        return None, f"none beyond noise: {steps}"
    return step.now - step.before, steps


def _parts(target: Target) -> str:
    """What is known of it. What the other path would take is not: it is measured by switching and comparing."""
    parts = target.anatomy.parts if target.anatomy is not None else None
    if parts is None or parts.draft_ms is None or parts.draft_sampling_ms is None:
        return NOT_MEASURED
    return f"{NOT_MEASURED}; sampling is {parts.draft_sampling_ms:.2f} of the draft's {parts.draft_ms:.2f} ms a turn"


def _advice(target: Target) -> str:
    """What to change, by the name it was given with."""
    flags = target.flags
    if flags is not None and flags.spec_draft_backend_sampling is False:
        return f"drop {as_written(target, SETTING, OFF)}"
    if "backend_sampling_unsupported" in target.log_said or (flags is not None and flags.split_mode == "tensor"):
        return f"try {as_written(target, 'split_mode', '--split-mode', 'layer')}"
    return "try --spec-draft-backend-sampling, on a build whose backend can do it"


RULE = Rule("SPC501", "host_argmax", "info", look)
