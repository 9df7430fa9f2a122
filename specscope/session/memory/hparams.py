"""Reading the keys of an architecture the way llama.cpp's loader does."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from specscope.events import Json


class UnknownLayoutError(ValueError):
    """What is known of a server does not tell its memory. Its text says what is missing."""


class Hparams:
    """The keys of a model's architecture, without its prefix (``ModelRead.hparams``)."""

    def __init__(self, keys: Mapping[str, Json]) -> None:
        self._keys = keys

    def has(self, key: str) -> bool:
        """Whether the file has the key."""
        return key in self._keys

    def number(self, key: str, default: int | None = None) -> int:
        """A whole number.

        Raises:
            UnknownLayoutError: it is missing and has no default, or it is no whole number.
        """
        value = self._keys.get(key, default)
        if value is None:
            raise UnknownLayoutError(f"the model's header has no key {key}")
        return self._whole(key, value)

    def items(self, key: str) -> list[int] | None:
        """A list of whole numbers (flags count as 0 and 1); None where the key is missing or no list."""
        value = self._keys.get(key)
        if not isinstance(value, list):
            return None
        return [self._whole(key, item) for item in cast("list[Json]", value)]

    def per_layer(self, key: str, n_layer: int, default: Sequence[int] | None = None) -> list[int]:
        """One number for each layer: a list of that length, or one number for all (``get_key_or_arr``).

        Raises:
            UnknownLayoutError: it is missing and has no default, or is a list of another length.
        """
        listed = self.items(key)
        if listed is not None:
            if len(listed) != n_layer:
                raise UnknownLayoutError(f"{key} lists {len(listed)} layers of {n_layer}")
            return listed
        if default is not None and key not in self._keys:
            return list(default)
        return [self.number(key)] * n_layer

    @staticmethod
    def _whole(key: str, value: Json) -> int:
        if not isinstance(value, int) or value < 0:
            raise UnknownLayoutError(f"{key} is no count")
        return int(value)
