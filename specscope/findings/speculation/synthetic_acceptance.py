"""The server accepts drafts by chance instead of by verification: its output is not valid.

Looks at: ``--spec-synth-rates``, ``--spec-synth-len`` and the server's own warning at start.

Why it matters: the option exists for benchmarking. Text, acceptance and speed say nothing about the model.

What to do: remove the option on any server whose answers are used.

Evidence: the flag, or the log's ``synthetic speculative acceptance is enabled for benchmarking``
(llama.cpp common/speculative.cpp).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.findings.rule import Rule
from specscope.findings.unjudged import COMMAND_LINE, SPECULATION_OFF, wait

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    evidence: list[tuple[str, str]] = []
    flags = target.flags
    if flags is not None and flags.spec_synth_rates:
        evidence.append(("--spec-synth-rates", ",".join(f"{r:g}" for r in flags.spec_synth_rates)))
    if flags is not None and flags.spec_synth_len is not None:
        evidence.append(("--spec-synth-len", f"{flags.spec_synth_len:g}"))
    if "synthetic_acceptance" in target.log_said:
        evidence.append(("log", "synthetic speculative acceptance is enabled for benchmarking"))
    if not evidence:
        return SPECULATION_OFF if target.config.types == () else wait(target, COMMAND_LINE) if flags is None else ()
    return (
        RULE.found(
            case,
            "SYNTHETIC acceptance: drafts are accepted by chance, the output is not valid",
            tuple(evidence),
            "remove --spec-synth-rates / --spec-synth-len on a server whose answers are used",
            settled=True,
        ),
    )


RULE = Rule("SPC103", "synthetic_acceptance", "critical", look)
