"""GET /slots of every server generation, read leniently: a missing field is None, never 0 or false.

Shapes: llama.cpp b11434 (``params`` object, ``next_token`` a list of one), early 2025 (``next_token`` an object),
mid-2024 and ik_llama.cpp (flat parameters, ``state`` instead of ``is_processing``).
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias

import msgspec

if TYPE_CHECKING:
    from specscope.events import Json

KEPT_TEXTS: Final = frozenset({"samplers", "speculative.types", "speculative.type", "chat_format", "reasoning_format"})
"""Parameters that are not plain numbers or yes/no and are still kept. Everything else that could hold a user's
text (prompt, grammar, stop words, logit biases) is never taken in."""

NAME_LENGTH: Final = 200

LARGEST: Final = 2**63 - 1
"""No count and no parameter of a server is larger; arithmetic fails on what JSON may hold beyond it."""

Whole: TypeAlias = Annotated[int, msgspec.Meta(ge=-LARGEST, le=LARGEST)]

_NOT_PARAMS: Final = frozenset(
    {
        "id",
        "id_task",
        "n_ctx",
        "speculative",
        "is_processing",
        "state",
        "non_causal",
        "next_token",
        "prompt",
        "generated",
    }
)


class NextToken(msgspec.Struct):
    """The part of ``next_token`` that is read."""

    n_decoded: Whole | None = None
    n_remain: Whole | None = None


class SlotRow(msgspec.Struct):
    """The part of a slot that is read at every poll."""

    id: Whole
    n_ctx: Whole | None = None
    speculative: bool | None = None
    is_processing: bool | None = None
    state: Whole | None = None
    id_task: Whole | None = None
    n_prompt_tokens: Whole | None = None
    n_prompt_tokens_processed: Whole | None = None
    n_prompt_tokens_cache: Whole | None = None
    next_token: list[NextToken] | NextToken | None = None

    @property
    def busy(self) -> bool | None:
        """Whether the slot processes a request; None when the server does not say."""
        if self.is_processing is not None:
            return self.is_processing
        return None if self.state is None else self.state != 0

    @property
    def task(self) -> int | None:
        """Task id; None before the first (-1 in older builds)."""
        return None if self.id_task is None or self.id_task < 0 else self.id_task

    @property
    def decoded(self) -> int | None:
        """Generated tokens of the running request."""
        token = self.next_token[0] if isinstance(self.next_token, list) and self.next_token else self.next_token
        return token.n_decoded if isinstance(token, NextToken) else None

    @property
    def was_used(self) -> bool:
        """Whether the slot shows a task at all. Newer builds show none before a slot's first one, and keep the last."""
        return self.id_task is not None


_rows = msgspec.json.Decoder(list[SlotRow], strict=False)
_any = msgspec.json.Decoder()


def read_slots(body: bytes) -> list[SlotRow]:
    """Parse a /slots body. A field of an unexpected type is unknown and takes nothing from the others.

    Raises:
        ValueError: it is not JSON, or not a list of slots.
    """
    try:
        return _rows.decode(body)
    except msgspec.ValidationError:
        return _field_by_field(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"not JSON: {error}") from error
    except RecursionError as error:
        raise ValueError("JSON nested too deeply") from error


def _field_by_field(body: bytes) -> list[SlotRow]:
    """The slow way, for a body in which a field is not what it is elsewhere."""
    try:
        rows: Any = _any.decode(body)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from error
    if not isinstance(rows, list):
        raise ValueError("not a list of slots")  # noqa: TRY004  the caller knows one error for every bad body
    return [_row(row) for row in rows]  # pyright: ignore[reportUnknownVariableType]  free JSON


def _row(row: Any) -> SlotRow:  # noqa: ANN401  free JSON
    """One slot from free JSON."""
    if not isinstance(row, dict):
        raise ValueError("not a list of slots")  # noqa: TRY004  as above
    found: dict[str, Any] = {}
    for name, kind in _ROW_TYPES.items():
        with contextlib.suppress(msgspec.ValidationError, KeyError):
            found[name] = msgspec.convert(row[name], kind, strict=False)
    if found.get("id") is None:
        raise ValueError("a slot without an id")
    return SlotRow(**found)


_ROW_TYPES: Final[dict[str, Any]] = {f.name: f.type for f in msgspec.structs.fields(SlotRow)}


def read_params(body: bytes, slot: int) -> dict[str, Json] | None:
    """The effective parameters of one slot, texts left out; None when it shows none (before its first task)."""
    try:
        rows: Any = _any.decode(body)
    except (ValueError, RecursionError):  # the rows could be read without it; the parameters stay unknown
        return None
    for row in rows if isinstance(rows, list) else []:  # pyright: ignore[reportUnknownVariableType]  free JSON
        if isinstance(row, dict) and row.get("id") == slot:  # pyright: ignore[reportUnknownMemberType]  free JSON
            return keep_params(row)  # pyright: ignore[reportUnknownArgumentType]  free JSON
    return None


def keep_params(row: dict[str, Any]) -> dict[str, Json] | None:
    """The parameters of a slot object or of ``default_generation_settings``: nested in new builds, flat in old."""
    nested = row.get("params")
    if isinstance(nested, dict):
        found: dict[str, Any] = nested  # pyright: ignore[reportUnknownVariableType]  free JSON
    elif "temperature" in row:
        found = {k: v for k, v in row.items() if k not in _NOT_PARAMS and not k.startswith("n_prompt")}
    else:
        return None
    return {k: v for k, v in found.items() if _is_number(v) or (k in KEPT_TEXTS and _is_name(v))}


def _is_number(value: Any) -> bool:  # noqa: ANN401  free JSON
    """A number, or yes or no."""
    return isinstance(value, float) or (isinstance(value, int) and abs(value) <= LARGEST)


def _is_name(value: Any) -> bool:  # noqa: ANN401  free JSON
    """A word or a list of words, short enough to be a setting's name."""
    words: list[Any] = value if isinstance(value, list) else [value]  # pyright: ignore[reportUnknownVariableType]
    return all(isinstance(word, str) and len(word) <= NAME_LENGTH for word in words)
