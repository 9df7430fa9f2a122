"""Whether the model files fit what drafts with them, by their headers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from specscope.events import ModelRead
    from specscope.session.state import Target

Made: TypeAlias = Literal["draft-dflash", "draft-dspark", "a block drafter", "draft-eagle3", "a model of its own"]

NEEDS_DRAFTER: Final = frozenset({"draft-simple", "draft-dflash", "draft-dspark", "draft-eagle3"})
"""Methods that a target alone cannot serve (llama.cpp common/speculative.cpp, b11434); draft-mtp uses its heads."""

SHARES_MEMORY: Final = "gemma4-assistant"
"""A separate MTP drafter that is told by its architecture, not by the layers of the others."""

MOST_APART: Final = 128
"""Tokens by which the vocabularies may differ (SPEC_VOCAB_MAX_SIZE_DIFFERENCE, common/speculative.cpp)."""


def made_for(drafter: ModelRead) -> Made:
    """The method that a drafter's file was made for. DSpark is a DFlash drafter with a Markov head."""
    if drafter.arch == "dflash":
        if drafter.has_markov_head is None:
            return "a block drafter"
        return "draft-dspark" if drafter.has_markov_head else "draft-dflash"
    return "draft-eagle3" if drafter.arch == "eagle3" else "a model of its own"


def misfit(target: Target, method: str) -> str:
    """What keeps a drafter's file from serving a method, in words; empty where it may serve it, or is not known."""
    drafter = target.models.get("drafter")
    if drafter is None or drafter.arch is None or method not in NEEDS_DRAFTER:
        return ""
    made = made_for(drafter)
    if made == method or (made == "a block drafter" and method in ("draft-dflash", "draft-dspark")):
        return ""
    if made == "a model of its own":
        return "" if method == "draft-simple" else f"architecture '{drafter.arch}', no {method} drafter"
    return f"made for {made}" if made != "a block drafter" else "a drafter of blocks (DFlash or DSpark)"


def without_heads(target: Target) -> ModelRead | None:
    """The file that has no MTP layers although draft-mtp would run them: the drafter's, else the target's own."""
    file = target.models.get("drafter") or target.models.get("target")
    lacks = file is not None and file.nextn_layers == 0 and file.arch != SHARES_MEMORY
    return file if lacks else None


def vocabularies_differ(target: Target) -> tuple[tuple[str, str], ...]:
    """What of the two vocabularies keeps draft-simple from working, as far as both headers tell.

    What the server compares, but for the texts of the tokens (common_speculative_are_compatible).
    """
    of, by = target.models.get("target"), target.models.get("drafter")
    if of is None or by is None:
        return ()
    found = [("tokenizer", f"{by.tokenizer} in the drafter, {of.tokenizer} in the target")]
    found = found if of.tokenizer and by.tokenizer and of.tokenizer != by.tokenizer else []
    if of.n_vocab and by.n_vocab and abs(of.n_vocab - by.n_vocab) > MOST_APART:
        found.append(("vocabulary", f"{by.n_vocab:,} tokens in the drafter, {of.n_vocab:,} in the target"))
    found += _added("bos", (of.add_bos, of.bos), (by.add_bos, by.bos))
    found += _added("eos", (of.add_eos, of.eos), (by.add_eos, by.eos))
    return tuple(found)


def _added(name: str, of: tuple[bool | None, int | None], by: tuple[bool | None, int | None]) -> list[tuple[str, str]]:
    """A token that one of them adds and the other does not, or that both add and is not the same."""
    if of[0] is None or by[0] is None:
        return []
    if of[0] != by[0]:
        return [(f"adds {name}", f"drafter {'yes' if by[0] else 'no'}, target {'yes' if of[0] else 'no'}")]
    if of[0] and None not in (of[1], by[1]) and of[1] != by[1]:
        return [(f"{name} token", f"{by[1]} in the drafter, {of[1]} in the target")]
    return []
