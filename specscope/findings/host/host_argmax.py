"""The drafter's tokens are selected on the host: its logits are copied from the device for every draft.

Looks at: the copies of the drafter where a trace shows them; else ``--no-spec-draft-backend-sampling``,
``-sm tensor``, and the log's ``backend offload failed .. using CPU sampler`` and ``backend sampling not supported
with SPLIT_MODE_TENSOR``.

Why it matters: selecting on the device leaves a few bytes per drafted token to copy; on the host the logits of
every draft row (4 bytes x vocabulary) cross the bus each cycle. One published case gained 5.6 % by moving the
selection to the device; on an H200 pair it made no difference within noise, and on a CPU the host is even faster.
So the path is reported always, a loss only when it was measured.

What to do: drop ``--no-spec-draft-backend-sampling`` (or ``-sm tensor``), measure, and keep what is faster.

Evidence: the drafter's logits among the copies of each turn, or the flag or the log line. Copies that show the
selection on the device outweigh a flag.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.rule import Rule
from specscope.session.backend_path import DRAFT_ON_HOST

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen
    from specscope.session.state import Target

NOT_MEASURED: Final = "not measured here"


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    types = target.config.types
    if types is not None and not any(t.startswith("draft-") for t in types):
        return ()
    path, evidence = target.backend_path, list[tuple[str, str]]()
    if path.evidence == "exact" and path.draft != "unknown":
        if path.draft == "device":
            return ()
        evidence.append(("copies", path.draft_why))
    if target.flags is not None and target.flags.spec_draft_backend_sampling is False:
        evidence.append(("flag", "--no-spec-draft-backend-sampling"))
    evidence += [("log", text) for code, text in DRAFT_ON_HOST.items() if code in target.log_said]
    if not evidence:
        return ()
    vocabulary = target.models["target"].n_vocab if "target" in target.models else None
    if vocabulary:
        evidence.append(("logits per draft row", f"{vocabulary * 4:,} bytes ({vocabulary:,} x 4)"))
    evidence.append(("cost", _cost(target)))
    return (
        RULE.found(
            case,
            "draft tokens are selected on the host",
            tuple(evidence),
            "drop --no-spec-draft-backend-sampling, compare ms per cycle, keep what is faster",
            settled=evidence[0][0] != "copies",
        ),
    )


def _cost(target: Target) -> str:
    """What is known of it. What the other path would take is not: it is measured by switching and comparing."""
    parts = target.anatomy.parts if target.anatomy is not None else None
    if parts is None or parts.draft_ms is None or parts.draft_sampling_ms is None:
        return NOT_MEASURED
    return f"{NOT_MEASURED}; sampling is {parts.draft_sampling_ms:.2f} of the draft's {parts.draft_ms:.2f} ms a turn"


RULE = Rule("SPC501", "host_argmax", "info", look)
