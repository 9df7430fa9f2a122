"""What the server was told, and what is in force: from /slots, flags, the log and GGUF headers, best first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.session.state import Config

if TYPE_CHECKING:
    from collections.abc import Mapping

    from specscope.events import Json, ModelRead, PropsRead
    from specscope.flags import ServerFlags
    from specscope.session.slot_book import SlotBook

BLOCK_DRAFTERS: Final = frozenset({"draft-dflash", "draft-dspark"})
"""Methods that draft a whole trained block in one pass; a DFlash block holds the anchor token, so its limit is
block_size - 1 (llama.cpp common/speculative.cpp)."""


def read_config(
    slots: SlotBook,
    props: PropsRead | None,
    flags: ServerFlags | None,
    models: Mapping[str, ModelRead],
    said: Mapping[str, Mapping[str, str]],
) -> Config:
    """Put together the effective configuration; every part that nothing tells is None."""
    types, types_from = _types(slots, flags, said)
    drafter = models.get("drafter")
    block = drafter.block_size if drafter is not None else None
    requested = _requested(flags, said)
    params = slots.last_params
    sampling = params if params is not None else (props.defaults if props is not None else {})
    return Config(
        types=types,
        types_from=types_from,
        n_max_requested=requested,
        n_max_effective=_effective(types, requested, block, said),
        block_size=block,
        draft_flag=None if flags is None else (flags.draft_model or flags.draft_repo) is not None,
        sampling=dict(sampling),
        sampling_from=None if not sampling else ("request" if params is not None else "props"),
    )


def _types(
    slots: SlotBook, flags: ServerFlags | None, said: Mapping[str, Mapping[str, str]]
) -> tuple[tuple[str, ...] | None, str | None]:
    """Methods in force. /props always says none, so it is not asked (llama.cpp b11434)."""
    listed: Json = (slots.last_params or {}).get("speculative.types")
    speculative = [t.speculative for t in slots.slots.values() if t.speculative is not None]
    if isinstance(listed, str) and (listed != "none" or not any(speculative)):
        return tuple(t for t in listed.split(",") if t and t != "none"), "slots"
    if speculative and not any(speculative):
        return (), "slots"
    if "spec_type_detected" in said:
        return (said["spec_type_detected"].get("type", "draft-dflash"),), "log"
    if flags is not None and flags.spec_types:
        return tuple(dict.fromkeys(t for t in flags.spec_types if t != "none")), "flags"
    return None, None


def _requested(flags: ServerFlags | None, said: Mapping[str, Mapping[str, str]]) -> int | None:
    clamped = _number(said, "draft_width_clamped", "n_max")
    if clamped is not None:
        return clamped
    if flags is not None and flags.spec_draft_n_max is not None:
        return flags.spec_draft_n_max
    return _number(said, "spec_params", "n_max")


def _effective(
    types: tuple[str, ...] | None, requested: int | None, block: int | None, said: Mapping[str, Mapping[str, str]]
) -> int | None:
    if not types or not any(t.startswith("draft-") for t in types):
        return None
    clamped = _number(said, "draft_width_clamped", "clamped_to")
    if clamped is not None:
        return clamped
    if requested is not None and block is not None and BLOCK_DRAFTERS.intersection(types):
        return min(requested, block - 1)
    return requested


def _number(said: Mapping[str, Mapping[str, str]], code: str, field: str) -> int | None:
    text = said.get(code, {}).get(field)
    return int(text) if text is not None and text.isdigit() else None
