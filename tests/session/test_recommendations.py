"""What is recommended, whose word counts, and what deviates from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b

from specscope.catalogue import Card, Mode, load_cards
from specscope.session.fold import Fold
from specscope.session.provenance.recommend import Advice, model_names, spelled
from specscope.settings import Profile

if TYPE_CHECKING:
    from specscope import events as ev
    from specscope.session.provenance.state import Provenance

DEFAULTS = b.props(defaults={"temperature": 0.8, "top_k": 40, "top_p": 0.95, "min_p": 0.05}, model_path="/m/x.gguf")
GEMMA = b.model(name="Gemma 4 31B It")


def judged(*facts: ev.Event, advice: Advice | None = None) -> Provenance:
    fold = Fold(advice)
    for fact in (b.found(), *facts):
        fold.apply(fact)
    (target,) = fold.view().targets
    return target.provenance


def told(provenance: Provenance, name: str) -> tuple[object, ...]:
    setting = provenance.setting(name)
    assert setting is not None
    found = setting.recommended
    return (None, None, setting.deviates) if found is None else (found.by, found.values, setting.deviates)


def test_nobody_recommends_anything() -> None:
    provenance = judged(DEFAULTS)
    assert told(provenance, "min_p") == (None, None, False)
    assert provenance.deviating == ()


def test_the_card_of_the_30b() -> None:
    provenance = judged(DEFAULTS, GEMMA, advice=Advice(cards=load_cards()))
    assert told(provenance, "min_p") == ("model card", (0.0,), True)
    assert told(provenance, "top_k") == ("model card", (64,), True)
    assert told(provenance, "top_p") == ("model card", (0.95,), False)
    assert [s.name for s in provenance.deviating] == ["temperature", "top_k", "min_p"]
    min_p = provenance.setting("min_p")
    assert min_p is not None
    assert min_p.recommended is not None
    assert min_p.recommended.who == "the card of Gemma 4"
    assert min_p.recommended.source == "https://huggingface.co/google/gemma-4-31B-it, which names none: off"


def test_a_profile_goes_before_the_model_file_and_that_before_a_card() -> None:
    file = b.model(name="Gemma 4 31B It", sampling={"min_p": 0.01, "top_k": 50})
    profiles = {"mine": Profile(match="gemma", sampling={"min_p": 0.02}, source="my own sweep")}
    provenance = judged(DEFAULTS, file, advice=Advice(profiles, load_cards()))
    assert told(provenance, "min_p") == ("profile", (0.02,), True)
    assert told(provenance, "top_k") == ("GGUF", (50,), True)
    assert told(provenance, "temperature") == ("model card", (1.0,), True)
    min_p = provenance.setting("min_p")
    assert min_p is not None
    assert [(other.by, other.values) for other in min_p.others] == [("GGUF", (0.01,)), ("model card", (0.0,))]
    assert min_p.recommended is not None
    assert (min_p.recommended.who, min_p.recommended.source) == ('profile "mine"', "my own sweep")
    assert provenance.adviser == 'the card of Gemma 4 and the model file and profile "mine"'


def test_any_mode_of_a_card_is_right() -> None:
    qwen = b.model(name="Qwen3 8B")
    advice = Advice(cards=load_cards())
    for temperature, deviates in ((0.6, False), (0.7, False), (0.8, True)):
        provenance = judged(b.props(defaults={"temperature": temperature}), qwen, advice=advice)
        assert told(provenance, "temperature") == ("model card", (0.6, 0.7), deviates)
    found = provenance.setting("temperature")
    assert found is not None
    assert found.recommended is not None
    assert found.recommended.modes == ("thinking", "not thinking")


def test_what_all_modes_say_alike_has_no_mode() -> None:
    modes = (Mode({"top_k": 20, "min_p": 0}, "a"), Mode({"top_k": 20}, "b"))
    advice = Advice(cards=(Card("X", ("x",), "https://x", modes),))
    provenance = judged(DEFAULTS, advice=advice)
    found = provenance.setting("top_k")
    assert found is not None
    assert found.recommended is not None
    assert (found.recommended.values, found.recommended.modes) == ((20,), ())


def test_a_setting_that_is_recommended_is_worth_a_row() -> None:
    profiles = {"mine": Profile(sampling={"dry_base": 1.75})}
    found = judged(b.props(defaults={"dry_base": 1.75}), advice=Advice(profiles)).setting("dry_base")
    assert found is not None
    assert not found.plain


def test_a_request_may_deviate_where_the_server_does_not() -> None:
    profiles = {"mine": Profile(sampling={"min_p": 0.05})}
    provenance = judged(DEFAULTS, b.busy(params={"min_p": 0.2}), advice=Advice(profiles))
    assert told(provenance, "min_p") == ("profile", (0.05,), True)


def test_the_names_of_a_model() -> None:
    file = b.model(name="Gemma 4", base_models=["https://huggingface.co/google/gemma-4-31B-it"])
    names = model_names(file, b.props(model_alias="big", model_path="/models/target.gguf"))
    assert names == (
        "Gemma 4",
        "https://huggingface.co/google/gemma-4-31B-it",
        "/models/target.gguf",
        "big",
    )
    assert spelled("Gemma 4  31B_It") == "gemma-4-31b-it"
    advice = Advice(cards=load_cards())
    named = (b.model(name="Qwen3 8B"), b.props(defaults={"top_k": 40}, model_alias="gemma-4-31b"))
    assert told(judged(*named, advice=advice), "top_k") == ("model card", (20,), True)
    origin = b.model(name="abc", base_models=["https://huggingface.co/google/gemma-4-31B-it"])
    assert told(judged(DEFAULTS, origin, advice=advice), "top_k") == ("model card", (64,), True)
