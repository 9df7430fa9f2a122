"""The drafter's tokens are selected on the host: its logits are copied from the device for every draft.

Looks at: ``--no-spec-draft-backend-sampling``, ``-sm tensor``, and the log's ``backend offload failed .. using CPU
sampler`` and ``backend sampling not supported with SPLIT_MODE_TENSOR``.

Why it matters: selecting on the device leaves a few bytes per drafted token to copy; on the host the logits of
every draft row (4 bytes x vocabulary) cross the bus each cycle. One published case gained 5.6 % by moving the
selection to the device; on an H200 pair it made no difference within noise, and on a CPU the host is even faster.
So the path is reported always, a loss only when it was measured.

What to do: drop ``--no-spec-draft-backend-sampling`` (or ``-sm tensor``), measure, and keep what is faster.

Evidence: the flag or the log line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.findings.rule import Rule

if TYPE_CHECKING:
    from specscope.findings.rule import Collecting, Finding
    from specscope.session.state import Target
    from specscope.settings import Profile

LOG_LINES: dict[str, str] = {
    "backend_offload_failed": "backend offload failed; using CPU sampler",
    "backend_sampling_unsupported": "backend sampling not supported with SPLIT_MODE_TENSOR; using CPU",
}


def look(target: Target, _profile: Profile) -> tuple[Finding, ...] | Collecting:
    """Judge one target."""
    types = target.config.types
    if types is not None and not any(t.startswith("draft-") for t in types):
        return ()
    evidence: list[tuple[str, str]] = []
    if target.flags is not None and target.flags.spec_draft_backend_sampling is False:
        evidence.append(("flag", "--no-spec-draft-backend-sampling"))
    evidence += [("log", text) for code, text in LOG_LINES.items() if code in target.log_said]
    if not evidence:
        return ()
    vocabulary = target.models["target"].n_vocab if "target" in target.models else None
    if vocabulary:
        evidence.append(("logits per draft row", f"{vocabulary * 4:,} bytes ({vocabulary:,} x 4)"))
    return (
        RULE.found(
            target,
            "draft tokens are selected on the host",
            tuple(evidence),
            "drop --no-spec-draft-backend-sampling, compare ms per cycle, keep what is faster",
        ),
    )


RULE = Rule("SPC501", "host_argmax", "info", look)
