"""What is recommended for a model, and whose word counts.

The user's own profile goes before the model file, the model file before the package's catalogue: each is nearer to what
this user runs than the next. The model file's ``general.sampling.*`` come from the model's ``generation_config.json``
(gguf-py/gguf/metadata.py and convert_hf_to_gguf.py of llama.cpp).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from specscope.session.provenance.claims import file_value
from specscope.session.provenance.known import KNOWN
from specscope.session.provenance.state import Recommendation
from specscope.session.provenance.values import same
from specscope.settings import profile_for

if TYPE_CHECKING:
    from collections.abc import Mapping

    from specscope.catalogue import Card
    from specscope.events import ModelRead, PropsRead
    from specscope.flags import Value
    from specscope.session.provenance.state import Setting
    from specscope.settings import Profile

_WHOLE: Final = frozenset(known.name for known in KNOWN if type(known.default) is int)

Recommendations = dict[str, list[Recommendation]]


@dataclass(frozen=True, slots=True)
class Advice:
    """Who may recommend, beside the model file: the user's profiles by name, and the cards of the catalogue."""

    profiles: Mapping[str, Profile] = field(default_factory=dict["str", "Profile"])
    cards: tuple[Card, ...] = ()


def model_names(target: ModelRead | None, props: PropsRead | None) -> tuple[str, ...]:
    """The names that a model goes by: its own, its origin's, its alias, its file."""
    names = [target.name, *target.base_models, target.path] if target is not None else []
    names += [props.model_alias, props.model_path] if props is not None else []
    return tuple(dict.fromkeys(name for name in names if name))


def recommendations(target: ModelRead | None, props: PropsRead | None, advice: Advice) -> Recommendations:
    """All that is recommended, by setting; the one that counts first."""
    names = model_names(target, props)
    found: Recommendations = {}
    profile = profile_for(advice.profiles, *names)
    if profile is not None:
        name, told = profile
        for key, number in told.sampling.items():
            value = _typed(key, number)
            found.setdefault(key, []).append(Recommendation("profile", (value,), f'profile "{name}"', told.source))
    if target is not None:
        for known in KNOWN:
            value = file_value(known, target.sampling[known.gguf]) if known.gguf in target.sampling else None
            if value is not None:
                source = f"general.sampling.{known.gguf}"
                found.setdefault(known.name, []).append(Recommendation("GGUF", (value,), "the model file", source))
    for key, recommendation in _of_card(names, advice.cards).items():
        found.setdefault(key, []).append(recommendation)
    return found


def _of_card(names: tuple[str, ...], cards: tuple[Card, ...]) -> dict[str, Recommendation]:
    """What a model's card in the catalogue says; a value that is the same in all modes stands alone.

    A model's own name goes before its origin's, that before what its user calls it or its file.
    """
    card = next((card for name in names for card in cards if card.fits((spelled(name),))), None)
    if card is None:
        return {}
    found: dict[str, Recommendation] = {}
    for key in dict.fromkeys(key for mode in card.mode for key in mode.sampling):
        told = [(mode.name, _typed(key, mode.sampling[key])) for mode in card.mode if key in mode.sampling]
        values = tuple(dict.fromkeys(value for _, value in told))
        modes = tuple(", ".join(m for m, v in told if v == value) for value in values) if len(values) > 1 else ()
        source = f"{card.source}, which names none: off" if key in card.implied else card.source
        found[key] = Recommendation("model card", values, f"the card of {card.name}", source, modes)
    return found


def _typed(name: str, number: float) -> Value:
    """A number as the server has it: TOML says 64 and 64.0 alike."""
    return int(number) if name in _WHOLE and number == int(number) else number


def spelled(name: str) -> str:
    """A model's name as cards are matched: small letters, one dash for anything between words."""
    return re.sub(r"[^a-z0-9./]+", "-", name.lower())


def advised(setting: Setting, found: Recommendations) -> Setting:
    """The setting with what is recommended for it."""
    told = found.get(setting.name, [])
    if not told:
        return setting
    value = setting.value
    deviates = value is not None and not any(same(value, v) for v in told[0].values)
    return replace(setting, recommended=told[0], others=tuple(told[1:]), deviates=deviates, plain=False)
