"""Prompts in the lab's own language: always the same for the same number, different for every other."""

from __future__ import annotations

import random

from specscope.lab.vocabulary import CONSONANTS, VOWELS

WORDS = 24
REFRAINS = 12


def lab_prompt(number: int, *, repeat: bool = False) -> str:
    """Returns the prompt of request ``number``.

    Args:
        number: Which prompt.
        repeat: A short phrase said over and over, which n-gram methods draft from; else words that vary.
    """
    rng = random.Random(number)  # noqa: S311 - varied, not secret
    words = [
        "".join(rng.choice(CONSONANTS) + rng.choice(VOWELS) for _ in range(rng.randint(1, 3))) for _ in range(WORDS)
    ]
    if repeat:
        return f"{' '.join(words[: WORDS // 4])}. " * REFRAINS
    return f"{' '.join(words)}."
