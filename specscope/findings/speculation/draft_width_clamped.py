"""The draft width asked for is more than the drafter can give; the rest of the flag is ignored.

Looks at: ``--spec-draft-n-max``, the drafter's trained block in its GGUF header, and the server's clamping line.

Why it matters: a block drafter drafts at most its block: DFlash one token less, because its block holds the last
accepted token too, DSpark the whole of it. MTP with several heads drafts at most one token for each. A sweep over
wider values measures the same width again and again.

What to do: set ``--spec-draft-n-max`` to the effective width or below, and read sweeps accordingly.

Evidence: the log's ``requested draft size .. exceeds the trained block size .. -- clamping to ..``
(llama.cpp common/speculative.cpp), or the flag against ``dflash.block_size``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.findings.dialect import flag_of
from specscope.findings.rule import Rule
from specscope.findings.unjudged import COMMAND_LINE, no_method, wait

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    config = target.config
    requested, effective = config.n_max_requested, config.n_max_effective
    none = no_method(target)
    if none is not None:
        return none
    if requested is None or effective is None:
        return wait(target, COMMAND_LINE)
    if requested <= effective:
        return ()
    said = target.log_said.get("draft_width_clamped")
    evidence = [("asked for", str(requested)), ("in force", str(effective))]
    if config.block_size is not None:
        evidence.append(("trained block", str(config.block_size)))
    if said is not None:
        evidence.append(("log", f"clamping to {said.get('clamped_to', effective)}"))
    if target.totals.width_max is not None:
        evidence.append(("widest draft seen", str(target.totals.width_max)))
    return (
        RULE.found(
            case,
            f"draft width {requested} is clamped to {effective}",
            tuple(evidence),
            f"set {flag_of(target, '--spec-draft-n-max')} {effective}; values above it change nothing",
            settled=True,
        ),
    )


RULE = Rule("SPC102", "draft_width_clamped", "info", look)
