"""How many bytes the caches of a server take: keys and values, windows, recurrent states.

From src/llama-kv-cache.cpp (a K and a V tensor for each layer, ``cells`` long, for each stream),
src/llama-kv-cache-iswa.cpp (windows), src/llama-kv-cache-dsa.cpp and -msa.cpp (indexers),
src/llama-memory-recurrent.cpp (states) and ``create_memory`` of src/llama-model.cpp, llama.cpp b11434.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from specscope.session.memory.cache_types import STATE_BYTES, row_bytes
from specscope.session.memory.context import drafter_context, padded, target_context
from specscope.session.memory.hparams import UnknownLayoutError
from specscope.session.memory.shape import read_shape
from specscope.session.memory.state import KvLayout, KvPart, LayerCell, Unknown
from specscope.session.memory.states import state_widths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specscope.events import ModelRead
    from specscope.flags import ServerFlags
    from specscope.session.memory.context import Context
    from specscope.session.memory.shape import Shape
    from specscope.session.memory.state import Role, Served

_N_MAX: Final = 3  # --spec-draft-n-max
_SNAPSHOT_TYPES: Final = frozenset({"draft-mtp", "draft-eagle3", "draft-dflash", "draft-dspark"})
_LISTS_ITS_INDEXERS_FROM: Final = 1_048_576  # GLM 5.2: below this training context every layer has an indexer


def target_kv(model: ModelRead, flags: ServerFlags | None, served: Served) -> KvLayout | Unknown:
    """The caches of the target's context.

    Args:
        model: the target's header.
        flags: what the server was told; None: not known.
        served: what the running server says of itself.
    """
    try:
        shape = read_shape(model)
        context = target_context(flags, served, model.n_ctx_train)
        snapshots = _snapshots(shape, flags, served)
        parts = _parts(model, shape, context, snapshots) if shape.rule.caches else ()
    except UnknownLayoutError as unknown:
        return Unknown(str(unknown))
    return _layout("target", shape, context, parts)


def drafter_kv(
    target: ModelRead, drafter: ModelRead | None, flags: ServerFlags | None, served: Served
) -> KvLayout | Unknown | None:
    """The caches of the drafter's context; None where no model drafts.

    Args:
        target: the target's header: with ``draft-mtp`` and no drafter of its own, its prediction layers draft.
        drafter: the draft model's header, if there is one.
        flags: what the server was told. The drafter's context is as long as the target's, its cache types its own.
        served: what the running server says of itself.
    """
    types = _types(flags, served) or ()
    predicts = "draft-mtp" in types
    if drafter is None and not predicts:
        return None
    model = drafter or target
    try:
        shape = read_shape(model)
        context = drafter_context(target_context(flags, served, target.n_ctx_train), flags)
        if shape.rule.shares_target:
            return _layout("drafter", shape, context, ())
        parts = _prediction_parts(shape, context) if predicts else _parts(model, shape, context, 0)
    except UnknownLayoutError as unknown:
        return Unknown(str(unknown))
    return _layout("drafter", shape, context, parts)


def _layout(role: Role, shape: Shape, context: Context, parts: tuple[KvPart, ...]) -> KvLayout:
    return KvLayout(
        role=role,
        parts=parts,
        n_ctx_seq=context.n_ctx_seq,
        slots=context.slots,
        streams=context.streams,
        type_k=context.type_k,
        type_v=context.type_v,
        basis=context.basis,
        proven=shape.rule.proven,
    )


def _types(flags: ServerFlags | None, served: Served) -> tuple[str, ...] | None:
    if served.types is not None:
        return served.types
    return flags.spec_types if flags is not None and flags.spec_types else None


def _snapshots(shape: Shape, flags: ServerFlags | None, served: Served) -> int:
    """How many earlier states a recurrent target keeps so that it can go back (``need_n_rs_seq``)."""
    if not shape.rule.rolls_back:
        return 0
    types = _types(flags, served)
    if types is None:
        if flags is None or flags.draft_model or flags.draft_repo:
            raise UnknownLayoutError("which method drafts is not known, and with it how many states are kept")
        return 0
    if not _SNAPSHOT_TYPES.intersection(types):
        return 0
    return _N_MAX if flags is None or flags.spec_draft_n_max is None else max(flags.spec_draft_n_max, 0)


def _parts(model: ModelRead, shape: Shape, context: Context, snapshots: int) -> tuple[KvPart, ...]:
    """All caches of an ordinary context."""
    attending = [layer for layer, attends in enumerate(shape.attends) if attends]
    parts = _attention(shape, context, attending)
    indexed = _indexed(model, shape)
    if indexed:
        parts.append(_indexer(shape, context, indexed))
    recurrent = [layer for layer in range(shape.n_layer) if shape.recurs[layer]]
    if recurrent:
        r, s = state_widths(shape)
        cells = tuple(LayerCell(layer, r * STATE_BYTES, s * STATE_BYTES) for layer in recurrent)
        parts.append(KvPart("recurrent", max(context.slots, 1) * (1 + snapshots), 1, cells))
    return tuple(parts)


def _prediction_parts(shape: Shape, context: Context) -> tuple[KvPart, ...]:
    """The caches of a context of multi-token prediction: its layers only, as plain attention."""
    if shape.n_layer == shape.n_layer_all:
        raise UnknownLayoutError("the model has no layers for multi-token prediction")
    return tuple(_attention(shape, context, list(range(shape.n_layer, shape.n_layer_all))))


def _attention(shape: Shape, context: Context, layers: Sequence[int]) -> list[KvPart]:
    """Keys and values of some layers: those that see everything, then those with a window."""
    wide = [layer for layer in layers if not shape.slides[layer]]
    parts = [_part("attention", shape, context, wide)] if wide else []
    sliding = [layer for layer in layers if shape.slides[layer]]
    return [*parts, _part("window", shape, context, sliding)] if sliding else parts


def _part(kind: Literal["attention", "window"], shape: Shape, context: Context, layers: Sequence[int]) -> KvPart:
    cells = context.n_ctx_seq if kind == "attention" else _window_cells(shape, context)
    # without flash attention values are stored transposed, and all layers as wide as the widest
    widest = 0 if context.flash_attention else max(shape.v_width)
    stored = tuple(
        LayerCell(
            layer,
            _row(context.type_k, shape.k_width[layer], "keys"),
            _row(context.type_v, max(shape.v_width[layer], widest), "values") if shape.has_values else 0,
        )
        for layer in layers
    )
    return KvPart(kind, cells, context.streams, stored)


def _window_cells(shape: Shape, context: Context) -> int:
    """Cells of a window's cache: the window for each sequence that shares it, and a batch; rounded up."""
    if context.swa_full or shape.window is None:
        return context.n_ctx_seq
    sharing = context.slots if context.unified else 1
    return padded(min(context.n_ctx_seq, shape.window * sharing + context.ubatch))


def _indexed(model: ModelRead, shape: Shape) -> list[int]:
    """The layers with an indexer."""
    keys, trunk = shape.hparams, range(shape.n_layer)
    match shape.rule.indexer:
        case None:
            return []
        case "every":
            return list(trunk)
        case "after the dense":
            return list(range(keys.number("leading_dense_block_count", 0), shape.n_layer_all))
        case "listed" | "optional" as rule:
            if rule == "optional" and not keys.number("attention.indexer.top_k", 0):
                return []
            if rule == "listed" and not keys.has("attention.indexer.types"):
                if (model.n_ctx_train or _LISTS_ITS_INDEXERS_FROM) >= _LISTS_ITS_INDEXERS_FROM:
                    raise UnknownLayoutError("the header does not say which layers have an indexer")
                return list(trunk)
            listed = keys.per_layer("attention.indexer.types", shape.n_layer)
            return [layer for layer in trunk if listed[layer]]


def _indexer(shape: Shape, context: Context, layers: Sequence[int]) -> KvPart:
    """An indexer's keys: one head of its own width; and values as wide as one head where values are stored at all."""
    key = _row(context.type_k, shape.hparams.number("attention.indexer.key_length"), "indexer keys")
    value = _row(context.type_v, shape.head[1], "values") if shape.has_values else 0
    return KvPart("indexer", context.n_ctx_seq, context.streams, tuple(LayerCell(la, key, value) for la in layers))


def _row(kind: str, values: int, what: str) -> int:
    n_bytes = row_bytes(kind, values)
    if n_bytes is None:
        raise UnknownLayoutError(f"{what} of {values} cannot be stored as {kind}")
    return n_bytes
