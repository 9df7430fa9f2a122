"""What models' own cards recommend for sampling, with the address of each card: ``cards.toml``."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Iterable


class Mode(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way of using a model: ``sampling`` by llama-server's names; ``name`` is empty where there is only one."""

    sampling: dict[str, float]
    name: str = ""


class Card(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A model's card.

    Attributes:
        match: parts of a model's name, in small letters with dashes between words.
        source: the card's address.
        mode: the ways of using the model that the card tells apart.
        implied: parameters that the card does not name, because their sampler is no part of what it recommends.
    """

    name: str
    match: tuple[str, ...]
    source: str
    mode: tuple[Mode, ...]
    implied: tuple[str, ...] = ()

    def fits(self, names: Iterable[str]) -> bool:
        """Whether one of a model's names is this card's."""
        return any(part in name for name in names for part in self.match)


@cache
def load_cards() -> tuple[Card, ...]:
    """The cards of the package, in the order in which they are tried.

    Raises:
        msgspec.ValidationError: the file in the package is damaged.
    """
    text = files("specscope.catalogue").joinpath("cards.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text)["card"], tuple[Card, ...])
