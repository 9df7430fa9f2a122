"""A draft model is loaded, but no drafting method is on: it takes memory and never drafts.

Looks at: the draft-model flag, the methods in force as /slots and the log show them, and the slots' own
``speculative`` field.

Why it matters: ``--spec-type`` is ``none`` unless given; a plain draft model (``-md``) does not switch drafting
on by itself. Only DFlash and DSpark drafters and targets with an MTP head are detected. The server then runs at
plain speed with the drafter's weights and KV in memory.

What to do: add ``--spec-type draft-simple`` (or the method the drafter was made for), or drop the draft model.

Evidence: a slot reports ``"speculative": false`` although the command line or the log names a draft model
(llama.cpp issue 25345; seen on b10434 and b11549).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.findings.drafter_file import SHARES_MEMORY, made_for
from specscope.findings.rule import Inapplicable, Rule
from specscope.findings.unjudged import COMMAND_LINE, SLOTS, wait

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen
    from specscope.session.state import Target

LINK = "https://github.com/ggml-org/llama.cpp/issues/25345"


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    drafter = _drafter(target)
    if target.config.asked:
        return ()
    if drafter is None:
        return wait(target, COMMAND_LINE) if target.flags is None else Inapplicable("no draft model is given")
    reported = [s.speculative for s in target.slots if s.speculative is not None]
    if not reported:
        return wait(target, SLOTS)
    if any(reported):
        return ()
    model = target.models.get("drafter")
    size = f"{model.file_bytes / 2**20:,.0f} MiB file" if model is not None and model.file_bytes else "size unknown"
    return (
        RULE.found(
            case,
            "a draft model is loaded, but speculation is off",
            (
                ("draft model", f"{drafter} ({size})"),
                ("slots with speculation", f"0 of {len(reported)}"),
                (
                    "--spec-type",
                    " ".join(target.flags.spec_types) if target.flags and target.flags.spec_types else "not given",
                ),
            ),
            _advice(target),
            link=LINK,
            settled=True,
        ),
    )


def _drafter(target: Target) -> str | None:
    if target.flags is not None and (target.flags.draft_model or target.flags.draft_repo):
        return target.flags.draft_model or target.flags.draft_repo
    return target.log_said.get("draft_model_loading", {}).get("path")


def _advice(target: Target) -> str:
    model = target.models.get("drafter")
    made = made_for(model) if model is not None else "a model of its own"
    method = {"a block drafter": "draft-dflash", "a model of its own": "draft-simple"}.get(made, made)
    if model is not None and model.arch == SHARES_MEMORY:
        method = "draft-mtp"
    return f"add --spec-type {method}, or drop the draft model to free its memory"


RULE = Rule("SPC101", "speculation_off", "critical", look)
