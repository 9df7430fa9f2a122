"""Copies from the backends to host memory, by size: what a size can be, from the shapes of the models.

llama.cpp copies the rows of one forward at once (src/llama-context.cpp, ``decode``): logits as rows x vocabulary
floats, the input of an extracted layer and hidden states as rows x width floats. Where tokens are chosen on the
device, each row's few candidates or its one token are copied alone (``copy_tensor_async_rows``). So the size tells,
unless two products are equal; then both are said.

What no forward makes is no part of a turn (:mod:`specscope.session.saved_state`). A trace tells it apart; where a
recording does not, a size that can be nothing else is taken for it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from specscope.session.saved_state import state_meaning, state_readings
from specscope.session.turn_state import CopyRow, SavedRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from specscope.events import CopiesTraced, ModelRead
    from specscope.events.trace import CopyOwner
    from specscope.session.memory.state import KvLayout
    from specscope.session.state import Config

Kind: TypeAlias = Literal["logits", "features", "top", "token", "state"]

FLOAT: Final = 4
"""Bytes of a logit, a feature and a token id (float32 and int32)."""

TOP_MOST: Final = 256
"""Most candidates a row that was selected on the device is taken to have: the server's own draft chain keeps 10
(common/speculative.cpp), a request's top_k is 40 by default, model cards go to 64."""

WIDEST: Final = 64
"""Draft width where nothing tells it, or n-gram methods draft: their tables go to 64 by default (common/common.h)."""

SLOTS: Final = 4
"""Slots where nothing tells them: what ``--parallel`` -1 makes of itself (b11434)."""

UBATCH: Final = 512
"""Rows of one forward of a prompt where nothing tells them: the default of ``--ubatch-size``."""

EXTRACTING: Final = frozenset({"draft-dflash", "draft-dspark", "draft-eagle3", "draft-mtp"})
"""Methods whose drafter reads hidden layers of the target (common/speculative.cpp)."""


class Reading(NamedTuple):
    """What a size can be. ``number``: of rows; of ``top``, of candidates; of ``state``, of cells."""

    kind: Kind
    number: int


@dataclass(frozen=True)
class Shapes:
    """What sizes are made of.

    Attributes:
        vocab, width: of the target and the drafter, where their headers were read. A drafter without a vocabulary
            or width of its own has the target's.
        layers: of the target: more copies of one size in a forward are no features.
        rows: of one forward that verifies or drafts, at most: slots x (draft width + 1); prompt_rows: of a prompt's,
            no more than the prompts have tokens where that is known.
        extracting: the drafter reads layers of the target. Where none does, rows of its width are embeddings that
            a request asked for, and not thought of while logits fit.
        layouts: the caches of the models; what is saved of them may be among the copies of turns (``mixed``).
        cached: whether the server keeps a prompt cache; None: not told.
    """

    vocab: dict[CopyOwner, int | None]
    width: dict[CopyOwner, int | None]
    layers: int | None = None
    rows: int = SLOTS * (WIDEST + 1)
    prompt_rows: int = UBATCH
    extracting: bool = False
    layouts: tuple[KvLayout, ...] = ()
    mixed: bool = False
    cached: bool | None = None


def shapes_of(
    models: Mapping[str, ModelRead],
    config: Config,
    *,
    slots: int | None,
    width_seen: int | None,
    ubatch: int | None = None,
    prompt_most: int | None = None,
) -> Shapes:
    """The shapes as far as headers, flags and the widths seen tell them.

    ``prompt_most``: tokens of the longest prompt; None: not known of all.
    """
    target, drafter = models.get("target"), models.get("drafter")
    of_target = (target.n_vocab, target.n_embd) if target is not None else (None, None)
    own = (drafter.n_vocab, drafter.n_embd) if drafter is not None else (None, None)
    types = config.types or ()
    off = 0 if config.types == () else None
    told = [w for w in (config.n_max_effective, width_seen, off) if w is not None]
    width = max(told) if told and not any(t.startswith("ngram") for t in types) else max([WIDEST, *told])
    return Shapes(
        vocab={"target": of_target[0], "drafter": own[0] or of_target[0]},
        width={"target": of_target[1], "drafter": own[1] or of_target[1]},
        layers=target.n_layer if target is not None else None,
        rows=(slots or SLOTS) * (width + 1),
        prompt_rows=min(ubatch or UBATCH, (slots or SLOTS) * prompt_most if prompt_most else ubatch or UBATCH),
        extracting=bool(EXTRACTING.intersection(types)),
    )


def readings(owner: CopyOwner, size: int, per_turn: float, shapes: Shapes) -> tuple[Reading, ...]:
    """All that a copy of ``size`` bytes, ``per_turn`` times a turn, can be; nothing when its size is not explained."""
    if size % FLOAT or not size:
        return ()
    numbers = size // FLOAT
    found: list[Reading] = []
    if numbers == 1:
        found.append(Reading("token", 1))
    elif numbers <= TOP_MOST:
        found.append(Reading("top", numbers))
    vocab, width = shapes.vocab[owner], shapes.width[owner]
    if vocab and numbers % vocab == 0 and numbers // vocab <= shapes.rows:
        found.append(Reading("logits", numbers // vocab))
    too_often = owner == "target" and shapes.layers is not None and per_turn > shapes.layers + 1
    if width and numbers % width == 0 and not too_often:
        rows = numbers // width
        expected = rows <= shapes.rows and (shapes.extracting or owner == "drafter")
        if expected or (not found and rows <= max(shapes.rows, shapes.prompt_rows)):
            found.append(Reading("features", rows))
    of_prompt = all(r.kind == "features" and r.number > shapes.rows for r in found)
    if shapes.mixed and owner == "target" and of_prompt:
        found += [Reading("state", r.cells) for r in state_readings(size, shapes.layouts)[:1]]
    return tuple(found)


def meaning(owner: CopyOwner, size: int, found: Iterable[Reading], shapes: Shapes) -> str:
    """The readings in words, joined with ``or``; empty when there is none."""
    return " or ".join(_words(owner, size, r, shapes) for r in found)


def _words(owner: CopyOwner, size: int, reading: Reading, shapes: Shapes) -> str:
    rows = f"{reading.number} row{'' if reading.number == 1 else 's'}"
    match reading.kind:
        case "token":
            return "one token id"
        case "top":
            return f"top {reading.number} chosen on the device"
        case "logits":
            return f"logits of {rows}"
        case "features":
            prompt = " of a prompt" if reading.number > shapes.rows else ""
            if owner == "drafter":
                return f"hidden states of {rows}{prompt}"
            return f"{'features of one layer' if shapes.extracting else 'embeddings'}, {rows}{prompt}"
        case "state":
            return state_meaning(state_readings(size, shapes.layouts), cached=shapes.cached)


def turns_in(facts: Iterable[CopiesTraced]) -> int:
    """Turns with a cycle or a plain step in the kept seconds."""
    return sum(f.turns for f in facts)


def told_apart(facts: Iterable[CopiesTraced]) -> bool:
    """Whether what no forward makes is told apart in the kept seconds."""
    return all(f.apart is not None for f in facts)


def copy_rows(facts: Sequence[CopiesTraced], shapes: Shapes) -> tuple[tuple[CopyRow, ...], tuple[SavedRow, ...]]:
    """Copies per turn over the kept seconds, each of which has one, and those that belong to none; most bytes first."""
    counts, apart = Counter[tuple["CopyOwner", int]](), Counter[int]()
    for fact in facts:
        for owner, size, copies in fact.rows:
            counts[owner, size] += copies
        for size, copies in fact.apart or ():
            apart[size] += copies
    turns = turns_in(facts)
    rows: list[CopyRow] = []
    for (owner, size), copies in counts.items():
        found = readings(owner, size, copies / turns, shapes)
        if found and all(r.kind == "state" for r in found):
            apart[size] += copies
        else:
            rows.append(CopyRow(owner, size, copies / turns, meaning(owner, size, found, shapes)))
    saved = [
        SavedRow(size, copies, state_meaning(state_readings(size, shapes.layouts), cached=shapes.cached))
        for size, copies in apart.items()
    ]
    return (
        tuple(sorted(rows, key=lambda r: (-r.bytes_each * r.per_turn, r.owner, r.bytes_each))),
        tuple(sorted(saved, key=lambda r: (-r.bytes_each * r.copies, r.bytes_each))),
    )
