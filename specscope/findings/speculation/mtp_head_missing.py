"""draft-mtp was asked for, but the model file has no layers that predict further tokens.

Looks at: the methods asked for, the MTP layers (``nextn``) in the GGUF of the draft model or, without one, of the
target, and the log of a server that does not start.

Why it matters: multi-token prediction runs extra layers of the model itself. Many files were converted or quantised
without them. Today's builds then end while loading; older ones run on at plain speed.

What to do: take a GGUF that was made with its MTP layers, give the separate one with ``--spec-draft-model``, or take
draft-mtp out of ``--spec-type``.

Evidence: the log's ``context type MTP requested but model doesn't contain MTP layers`` while the server is down (so
on b10434 and b11549), or a file without any ``nextn`` tensor on a server whose slots do not speculate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.findings.dialect import flag_of
from specscope.findings.refusal import not_refused, refusal
from specscope.findings.rule import Rule
from specscope.findings.unjudged import no_log

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen
    from specscope.session.state import Target

LINK = "https://github.com/ggml-org/llama.cpp/pull/22673"


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    evidence = _evidence(target)
    down = target.server == "down"
    if not evidence:
        return (no_log(target) or ()) if down else not_refused(target, "draft-mtp")
    return (
        RULE.found(
            case,
            "draft-mtp cannot work: the model file has no MTP layers" + ("; the server does not start" if down else ""),
            evidence,
            "use a GGUF made with its MTP layers, or give the separate one with "
            f"{flag_of(target, '--spec-draft-model')}, or take draft-mtp out of --spec-type",
            settled=True,
            link=LINK,
        ),
    )


def _evidence(target: Target) -> tuple[tuple[str, str], ...]:
    if target.server == "down":
        if "mtp_layers_missing" not in target.log_said:
            return ()
        loaded = target.log_said.get("draft_model_loading") or target.log_said.get("model_loading", {})
        file = (("file", loaded["path"]),) if "path" in loaded else ()
        return (*file, ("log", "context type MTP requested but model doesn't contain MTP layers"))
    why = refusal(target)
    if why is None or why.cause != "heads":
        return ()
    return (*why.evidence, ("MTP layers in it", "none"), ("slots with speculation", f"0 of {len(target.slots)}"))


RULE = Rule("SPC104", "mtp_head_missing", "critical", look)
