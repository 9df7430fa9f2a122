"""The server made its context smaller than the model's, so that everything fits into device memory.

Looks at: the log's line about it (printed at -lv 4; by default in builds of early 2026), else the context of the slots
against the model's own, on a server that was not told which context to take.

Why it matters: without ``--ctx-size`` the server takes the model's context and, where that does not fit, reduces it
without a word at the default verbosity: 262,144 became 48,384 in a public report (llama.cpp issue 23549). Prompts
beyond it are refused, and long answers end early.

What to do: nothing if it is enough. Else make room: 8-bit caches (``--cache-type-k``, ``--cache-type-v``), fewer slots
(``--parallel``), a smaller drafter, a lower ``--fit-target``; or say ``--ctx-size`` yourself, which is not reduced.

Evidence: both numbers, in the log's words or from /slots and the GGUF header.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.room import slot_context, slots_share
from specscope.findings.rule import Collecting, Inapplicable, Rule
from specscope.findings.unjudged import COMMAND_LINE, HEADER, SLOTS, wait
from specscope.session.unknowns import number_said

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen, Unjudged
    from specscope.session.state import Target

LINK: Final = "https://github.com/ggml-org/llama.cpp/issues/23549"

FITS_FROM: Final = 7500
"""Builds from which a context that nobody asked for is the model's, fitted: --fit came on 15 December 2025 (llama.cpp
pull request 16653, about b7410); before, it was 4,096."""

OLD_DEFAULT: Final = 4096


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    said = target.log_said.get("context_reduced")
    before = number_said(target.log_said, "context_reduced", "requested")
    now = number_said(target.log_said, "context_reduced", "effective")
    if said is None or before is None or now is None:
        sizes = _by_sizes(target)
        if not isinstance(sizes, tuple):
            return sizes
        before, now = sizes
        evidence = [("the model's context", f"{before:,} (GGUF)"), ("in force", f"{now:,} (/slots)")]
    else:
        evidence = [("log", f"context size reduced from {before:,} to {now:,}")]
        saved = number_said(target.log_said, "context_reduced", "mib_saved")
        if saved is not None:
            evidence.append(("saved", f"{saved:,} MiB"))
    if now >= before:
        return ()
    slots = len(target.slots)
    if slots > 1:
        evidence.append(("slots", f"{slots}, {'which share it' if slots_share(target) else 'each with a part of it'}"))
    return (
        RULE.found(
            case,
            f"the context was reduced from {before:,} to {now:,} tokens to fit into memory",
            tuple(evidence),
            "if that is too small, make room (--cache-type-k q8_0 --cache-type-v q8_0, fewer --parallel slots, a lower "
            "--fit-target) or set --ctx-size yourself, which is not reduced",
            link=LINK,
            settled=True,
        ),
    )


def _by_sizes(target: Target) -> tuple[int, int] | Unjudged:
    """The model's context and the one in force, where nobody asked for one."""
    flags, model, each = target.flags, target.models.get("target"), slot_context(target)
    if flags is None:
        return wait(target, COMMAND_LINE)
    if flags.ctx or flags.kv_unified_per_slot:
        return Inapplicable("the server was told which context to take")
    if flags.fit == "off":
        return Inapplicable("--fit is off: nothing is reduced")
    if model is None or not model.n_ctx_train:
        return wait(target, HEADER)
    if each is None or not target.slots:
        return wait(target, SLOTS)
    if not _is_fitted(target, each):
        return Inapplicable("this build does not take the model's context by itself")
    shared = slots_share(target)
    if len(target.slots) > 1 and shared is None:
        return Collecting("to know whether the slots share one cache (the log at -lv 4, or --kv-unified)")
    return model.n_ctx_train, each if len(target.slots) == 1 or shared else each * len(target.slots)


def _is_fitted(target: Target, each: int) -> bool:
    """Whether a context that was not asked for is the model's own in this build."""
    if target.props is not None and target.props.kind == "ik_llama.cpp":
        return False
    build = target.provenance.build
    return each != OLD_DEFAULT if build is None else build >= FITS_FROM


RULE = Rule("SPC403", "context_shrunk_by_fit", "info", look)
