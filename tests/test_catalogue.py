"""The catalogue: every card has its address, known parameters and values that the server takes."""

from __future__ import annotations

from specscope.catalogue import load_cards
from specscope.session.provenance.recommend import spelled
from specscope.settings import SAMPLING_NAMES


def test_every_card_is_sourced_and_says_only_what_a_server_understands() -> None:
    cards = load_cards()
    assert len(cards) >= 5
    for card in cards:
        assert card.source.startswith("https://"), card.name
        assert card.match, card.name
        assert all(part == spelled(part) for part in card.match), card.name
        told = {name for mode in card.mode for name in mode.sampling}
        assert told, card.name
        assert told <= set(SAMPLING_NAMES), card.name
        assert set(card.implied) <= told, card.name
        assert len(card.mode) == 1 or all(mode.name for mode in card.mode), card.name


def test_the_narrower_card_stands_first() -> None:
    names = [card.name for card in load_cards() if card.fits([spelled("Qwen3 30B A3B Instruct 2507")])]
    assert names == ["Qwen3 Instruct 2507", "Qwen3"]


def test_the_30b_whose_hidden_min_p_cost_8_percent() -> None:
    (card,) = (card for card in load_cards() if card.fits([spelled("Gemma-4-31B-it-Q5_K_M.gguf")]))
    assert card.mode[0].sampling == {"temperature": 1.0, "top_p": 0.95, "top_k": 64, "min_p": 0.0}
