"""A tokenizer of 300 tokens: what every lab model speaks.

Byte-level BPE (``gpt2``) over printable ASCII: four control tokens, the newline, 95 characters, 100
syllables, and the same syllables with a space in front. Whatever a random-weight model says is therefore
readable and valid UTF-8, so a server streams every token as it comes instead of waiting for the rest of a
character. Bytes outside ASCII have no token, and the server leaves them out of a prompt.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice, product

CONSONANTS = "bcdfghjklmnprstvwxyz"
VOWELS = "aeiou"

SPACE = "\u0120"  # how byte-level BPE writes the bytes 0x20 and 0x0A
NEWLINE = "\u010a"

# Token types of llama.cpp's vocabulary (llama_token_type).
NORMAL = 1
UNKNOWN = 2
CONTROL = 3

UNK_ID = 0
BOS_ID = 1
EOS_ID = 2
MASK_ID = 3

SILENT_IDS = (UNK_ID, BOS_ID, MASK_ID)
"""Tokens no lab model may say: their rows of the output matrix are zero."""


@dataclass(frozen=True)
class Vocabulary:
    """Tokens by id, their llama.cpp types, and the BPE merges in rank order."""

    tokens: tuple[str, ...]
    types: tuple[int, ...]
    merges: tuple[str, ...]


def lab_vocabulary(size: int = 0) -> Vocabulary:
    """Returns the lab's vocabulary, which is always the same.

    Args:
        size: filled up to so many tokens with words of three syllables: no text is cut into them, but a model may
            say them, and its logits are as wide as those of a real one.
    """
    control = ("<unk>", "<s>", "</s>", "<mask>")
    characters = (NEWLINE, SPACE, *(chr(code) for code in range(0x21, 0x7F)))
    pairs = [(consonant, vowel) for consonant in CONSONANTS for vowel in VOWELS]
    syllables = tuple(first + second for first, second in pairs)
    tokens = (*control, *characters, *syllables, *(SPACE + syllable for syllable in syllables))
    types = (UNKNOWN, CONTROL, CONTROL, CONTROL) + (NORMAL,) * (len(tokens) - len(control))
    merges = (
        *(f"{first} {second}" for first, second in pairs),
        *(f"{SPACE} {syllable}" for syllable in syllables),
    )
    missing = max(0, size - len(tokens))
    words = (SPACE + "".join(three) for three in product(syllables, repeat=3))
    tokens += tuple(islice(words, missing))
    return Vocabulary(tokens, types + (NORMAL,) * missing, merges)
