"""What each layer of a model stores: heads, windows, states. From its header and the architecture's rule.

The general rules are ``load_hparams`` of src/llama-model.cpp and src/llama-hparams.cpp, llama.cpp b11434.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from specscope.session.memory.architectures import ARCHITECTURES
from specscope.session.memory.hparams import Hparams, UnknownLayoutError

if TYPE_CHECKING:
    from specscope.events import ModelRead
    from specscope.session.memory.architectures import Architecture, Window

_MAX_LAYERS: Final = 512


@dataclass(frozen=True, slots=True)
class Shape:
    """A model's layers.

    Attributes:
        rule: its architecture's.
        n_layer_all: all blocks; n_layer: those of the trunk, without multi-token prediction (nextn).
        k_width, v_width: values of keys and of values that each layer stores for a token.
        slides: layers with a sliding window, ``window`` tokens long; window None: there is none.
        attends, recurs: layers with a cache, and with a recurrent state.
        has_values: False where keys hold the values too (MLA).
        head: (values of a key, of a value) of one head, for the indexer's caches.
        hparams: the keys, for what else is in them.
    """

    rule: Architecture
    hparams: Hparams
    n_layer_all: int
    n_layer: int
    k_width: tuple[int, ...]
    v_width: tuple[int, ...]
    slides: tuple[bool, ...]
    window: int | None
    attends: tuple[bool, ...]
    recurs: tuple[bool, ...]
    has_values: bool
    head: tuple[int, int]
    heads: int


def read_shape(model: ModelRead) -> Shape:
    """Read a model's shape.

    Raises:
        UnknownLayoutError: its architecture is not known here, or its header lacks a key.
    """
    rule = ARCHITECTURES.get(model.arch or "")
    if rule is None:
        raise UnknownLayoutError(f"unknown architecture {model.arch}" if model.arch else "the architecture is not told")
    keys = Hparams(model.hparams)
    if not model.hparams:
        raise UnknownLayoutError("the header's keys were not read")
    if model.arch == "dflash" and keys.number("hyper_connection.count", 0):
        raise UnknownLayoutError("a DFlash drafter of DeepSeek V4 blocks stores keys in a way not known here")
    n_all = keys.number("block_count")
    n_layer = n_all - keys.number("nextn_predict_layers", 0)
    if not 0 < n_all <= _MAX_LAYERS or n_layer < 0:
        raise UnknownLayoutError(f"{n_all} layers")
    heads = keys.per_layer("attention.head_count", n_all, [0] * n_all)
    kv_heads = keys.per_layer("attention.head_count_kv", n_all, heads)
    k, v = _head(keys, heads[0], "key_length"), _head(keys, heads[0], "value_length")
    k_slides = keys.number("attention.key_length_swa", k)
    v_slides = keys.number("attention.value_length_swa", v)
    window, slides = _window(rule.window, keys, n_all, n_layer)
    recurs = _recurs(rule, keys, kv_heads, n_layer)
    return Shape(
        rule=rule,
        hparams=keys,
        n_layer_all=n_all,
        n_layer=n_layer,
        k_width=tuple((k_slides if s else k) * n for s, n in zip(slides, kv_heads, strict=True)),
        v_width=tuple((v_slides if s else v) * n for s, n in zip(slides, kv_heads, strict=True)),
        slides=slides,
        window=window,
        attends=_attends(rule, keys, kv_heads, recurs, n_layer),
        recurs=recurs,
        has_values=not (rule.mla and _is_mla(keys)),
        head=(k, v),
        heads=heads[0],
    )


def _head(keys: Hparams, heads: int, name: str) -> int:
    """Values of one head: as the file says, else the embedding shared out among the heads."""
    own = keys.number("embedding_length") // heads if heads else 0
    return keys.number(f"attention.{name}", own)


def _is_mla(keys: Hparams) -> bool:
    return bool(keys.number("attention.key_length_mla", 0) and keys.number("attention.value_length_mla", 0))


def _window(rule: Window | None, keys: Hparams, n_all: int, n_layer: int) -> tuple[int | None, tuple[bool, ...]]:
    """The window in tokens, and the layers that have it: ``load_swa_pattern`` and ``set_swa_pattern``."""
    none = (None, (False,) * n_all)
    if rule is None or rule.only_layers not in (None, n_layer):
        return none
    default = None if rule.required else (rule.tokens or 0)
    tokens = keys.number("attention.sliding_window", default)
    if not tokens and not rule.required:
        return none
    listed = keys.items("attention.sliding_window_pattern")
    if listed is None and rule.period is None:
        raise UnknownLayoutError("the header does not say which layers have a sliding window")
    if listed is not None:
        slides = [bool(item) for item in listed[:n_all]]
    else:
        period = keys.number("attention.sliding_window_pattern", rule.period)
        slides = [_slides(layer, period, dense_first=rule.dense_first) for layer in range(n_layer)]
    slides += [False] * (n_all - len(slides))
    return rule.fixed or tokens, tuple(slides)


def _slides(layer: int, period: int, *, dense_first: bool) -> bool:
    if period == 0:
        return True
    return layer % period != 0 if dense_first else layer % period < period - 1


def _recurs(rule: Architecture, keys: Hparams, kv_heads: list[int], n_layer: int) -> tuple[bool, ...]:
    """The recurrent layers (``is_recr``). None of them is a multi-token prediction layer."""
    n_all = len(kv_heads)
    trunk = range(n_layer)
    match rule.recurrence:
        case None:
            found = [False] * n_layer
        case "all" | "beside attention":
            found = [True] * n_layer
        case "no kv heads":
            found = [kv_heads[layer] == 0 for layer in trunk]
        case "nemotron":
            feed_forward = keys.per_layer("feed_forward_length", n_all, [0] * n_all)
            found = [kv_heads[layer] == 0 and feed_forward[layer] == 0 for layer in trunk]
        case "interval":
            if keys.has("attention.recurrent_layers"):
                found = [bool(item) for item in keys.per_layer("attention.recurrent_layers", n_all)[:n_layer]]
            else:
                every = keys.number("full_attention_interval", rule.interval)
                found = [(layer + 1) % every != 0 for layer in trunk] if every else [False] * n_layer
    return tuple(found + [False] * (n_all - n_layer))


def _attends(
    rule: Architecture, keys: Hparams, kv_heads: list[int], recurs: tuple[bool, ...], n_layer: int
) -> tuple[bool, ...]:
    """The layers with a cache of keys and values in the target's context: the filters of ``create_memory``."""
    n_all = len(kv_heads)
    if rule.indexer in ("optional", "after the dense"):
        return (True,) * n_all
    match rule.recurrence:
        case "all":
            return (False,) * n_all
        case "beside attention":
            return (True,) * n_all
        case "no kv heads":
            return tuple(not recurrent for recurrent in recurs)
        case "nemotron":
            feed_forward = keys.per_layer("feed_forward_length", n_all, [0] * n_all)
            return tuple(not recurs[layer] and feed_forward[layer] == 0 for layer in range(n_all))
        case _:
            own = n_all if rule.own_kv_layers is None else rule.own_kv_layers
            own -= keys.number("attention.shared_kv_layers", 0) if rule.names_shared else 0
            last = min(n_layer or n_all, own)  # a file of nothing but prediction layers uses them all
            return tuple(layer < last and not recurs[layer] for layer in range(n_all))
