"""What the server was told, and what is in force: from /slots, flags, the log and GGUF headers, best first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.session.state import Config
from specscope.session.unknowns import number_said

if TYPE_CHECKING:
    from collections.abc import Mapping

    from specscope.events import Json, ModelRead, PropsRead
    from specscope.flags import ServerFlags
    from specscope.session.slot_book import SlotBook

_SHARES_MEMORY = "gemma4-assistant"
"""The drafter that runs all its heads for each token, on the target's cache: their number is no limit
(llama.cpp common/speculative.cpp, is_mem_shared)."""


def models_in_use(models: Mapping[str, ModelRead], flags: ServerFlags) -> dict[str, ModelRead]:
    """The model files that a command line names: those of an earlier one tell nothing of its server.

    A new process's files may be read before its command line is told, so that they are told apart by their names.
    """
    named = {"target": flags.model, "drafter": flags.draft_model, "projector": flags.mmproj}
    names = {role: _file(path) for role, path in named.items() if path}
    return {role: model for role, model in models.items() if _file(model.path) == names.get(role)}


def _file(path: str) -> str:
    return path.rpartition("/")[2]


def read_config(
    slots: SlotBook,
    props: PropsRead | None,
    flags: ServerFlags | None,
    models: Mapping[str, ModelRead],
    said: Mapping[str, Mapping[str, str]],
) -> Config:
    """Put together the effective configuration; every part that nothing tells is None."""
    types, types_from, asked = _types(slots, flags, said)
    drafter = models.get("drafter")
    block = drafter.block_size if drafter is not None else None
    requested = _requested(flags, said)
    params = slots.last_params
    sampling = params if params is not None else (props.defaults if props is not None else {})
    return Config(
        types=types,
        types_from=types_from,
        asked=asked,
        n_max_requested=requested,
        n_max_effective=_effective(types, requested, models, said),
        block_size=block,
        drafter_limit=_limit(types or (), models, said),
        draft_flag=None if flags is None else (flags.draft_model or flags.draft_repo) is not None,
        sampling=dict(sampling),
        sampling_from=None if not sampling else ("request" if params is not None else "props"),
    )


def _types(
    slots: SlotBook, flags: ServerFlags | None, said: Mapping[str, Mapping[str, str]]
) -> tuple[tuple[str, ...] | None, str | None, tuple[str, ...]]:
    """Methods in force, what shows them, and methods asked for.

    A server whose speculation could not be set up goes on without it: its slots say so, while the parameters of a
    request still list the methods that it was started for (seen on b11549). /props always says none, so it is not asked
    (llama.cpp b11434).
    """
    speculative = [t.speculative for t in slots.slots.values() if t.speculative is not None]
    asked, by = _asked(slots, flags, said, at_work=any(speculative))
    if speculative and not any(speculative):
        return (), "slots", asked or ()
    return asked, by, asked or ()


def _asked(
    slots: SlotBook, flags: ServerFlags | None, said: Mapping[str, Mapping[str, str]], *, at_work: bool
) -> tuple[tuple[str, ...] | None, str | None]:
    """Methods that the server was told to use, or recognised its drafter to be made for.

    At -lv 4 the log names each method that the server adds (DFlash and DSpark at its default verbosity too, so that one
    need not be all); what it detects by itself it says at any.
    """
    listed: Json = (slots.last_params or {}).get("speculative.types")
    if isinstance(listed, str) and (listed != "none" or not at_work):
        return tuple(t for t in listed.split(",") if t and t != "none"), "slots"
    if "spec_type_detected" in said:
        return (said["spec_type_detected"].get("type", "draft-dflash"),), "log"
    added = said.get("implementation_added", {}).get("type", "")
    if added and (len(added.split(",")) > 1 or flags is None or not flags.spec_types):
        return tuple(added.split(",")), "log"
    if flags is not None and flags.spec_types:
        return tuple(dict.fromkeys(t for t in flags.spec_types if t != "none")), "flags"
    return None, None


def _requested(flags: ServerFlags | None, said: Mapping[str, Mapping[str, str]]) -> int | None:
    clamped = number_said(said, "draft_width_clamped", "n_max")
    if clamped is not None:
        return clamped
    if flags is not None and flags.spec_draft_n_max is not None:
        return flags.spec_draft_n_max
    return number_said(said, "spec_params", "n_max")


def _effective(
    types: tuple[str, ...] | None,
    requested: int | None,
    models: Mapping[str, ModelRead],
    said: Mapping[str, Mapping[str, str]],
) -> int | None:
    if not types or not any(t.startswith("draft-") for t in types):
        return None
    clamped = number_said(said, "draft_width_clamped", "clamped_to")
    if clamped is not None:
        return clamped
    limit = _limit(types, models, said)
    return requested if requested is None or limit is None else min(requested, limit)


def _limit(
    types: tuple[str, ...], models: Mapping[str, ModelRead], said: Mapping[str, Mapping[str, str]]
) -> int | None:
    """The widest draft that a drafter's training allows; None for none, or for one that is not known.

    A DFlash block holds the last token too. DSpark predicts from that token's place on, unless the drafter was trained
    otherwise, and so drafts the whole block. Several prediction heads (MTP) draft one token each, which the server
    enforces without a word; a single one is run again and again. All from common/speculative.cpp, seen on b11549.
    """
    drafter = models.get("drafter")
    block = drafter.block_size if drafter is not None else None
    if drafter is not None and block is not None:
        if "draft-dspark" in types:
            return block if _from_anchor(drafter, said) else block - 1
        if "draft-dflash" in types:
            return block - 1
    predicts = drafter or models.get("target")
    if "draft-mtp" in types and predicts is not None and predicts.arch != _SHARES_MEMORY:
        heads = predicts.nextn_layers or 1
        return heads if heads > 1 else None
    return None


def _from_anchor(drafter: ModelRead, said: Mapping[str, Mapping[str, str]]) -> bool:
    """Whether a DSpark drafter predicts from the last token's place on; without a word, the server thinks so."""
    logged = said.get("drafter_params", {}).get("sample_from_anchor")
    return logged != "false" if logged is not None else drafter.hparams.get("sample_from_anchor") is not False
