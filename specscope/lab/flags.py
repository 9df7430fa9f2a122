"""The part of llama-server's command line that the lab's host understands, by the server's own names."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SPEC_TYPES = (
    "none",
    "draft-simple",
    "draft-eagle3",
    "draft-mtp",
    "draft-dflash",
    "draft-dspark",
    "ngram-simple",
    "ngram-map-k",
    "ngram-map-k4v",
    "ngram-mod",
    "ngram-cache",
)

CACHE_TYPES = ("f32", "f16", "bf16", "q8_0", "q4_0", "q4_1", "iq4_nl", "q5_0", "q5_1")

_NGRAM_FLAGS = (
    *(f"--spec-ngram-{kind}-{size}" for kind in ("simple", "map-k", "map-k4v") for size in ("size-n", "size-m")),
    *(f"--spec-ngram-{kind}-min-hits" for kind in ("simple", "map-k", "map-k4v")),
    *(f"--spec-ngram-mod-{size}" for size in ("n-min", "n-max", "n-match")),
)


class _Parser(argparse.ArgumentParser):
    """A parser that fails the way llama-server does: one line, status 1."""

    def error(self, message: str) -> NoReturn:
        """Prints ``message`` to stderr and exits with status 1."""
        sys.stderr.write(f"error: {message}\n")
        raise SystemExit(1)


def parse_flags(argv: Sequence[str], env: Mapping[str, str]) -> argparse.Namespace:
    """Parses llama-server flags.

    As in the server, ``LLAMA_ARG_SPEC_TYPE`` and every ``--spec-type`` add up, in that order, and of any
    other flag given twice the last value counts. A flag left out is ``None`` (``False`` for switches), so
    that the server's own default stays.

    Returns:
        The flags by their long names; ``spec_type`` is the list of all types named.

    Raises:
        SystemExit: A flag is unknown or its value is wrong; the message went to stderr.
    """
    flags = _parser().parse_args(argv)
    types: list[str] = [*_split(env.get("LLAMA_ARG_SPEC_TYPE", "")), *(flags.spec_type or [])]
    unknown = [name for name in types if name not in SPEC_TYPES]
    if unknown:
        _parser().error(f"unknown speculative type: {unknown[0]}")
    flags.spec_type = types
    return flags


def _split(text: str) -> list[str]:
    return [part for part in text.split(",") if part]


def _rates(text: str) -> list[float]:
    return [float(rate) for rate in text.split(",")]


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="specscope.lab.host", allow_abbrev=False, description=__doc__)
    parser.add_argument("-m", "--model", required=True)
    parser.add_argument("-a", "--alias")
    parser.add_argument("--host")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--api-key", type=_split)
    parser.add_argument("--metrics", action="store_true")
    parser.add_argument("--props", action="store_true")
    parser.add_argument("--slots", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("-c", "--ctx-size", type=int)
    parser.add_argument("-b", "--batch-size", type=int)
    parser.add_argument("-ub", "--ubatch-size", type=int)
    parser.add_argument("-np", "--parallel", type=int, default=-1)
    parser.add_argument("-cram", "--cache-ram", type=int)
    parser.add_argument("-kvu", "--kv-unified", action="store_true")
    parser.add_argument("-ctk", "--cache-type-k", choices=CACHE_TYPES)
    parser.add_argument("-ctv", "--cache-type-v", choices=CACHE_TYPES)
    parser.add_argument("-fa", "--flash-attn", choices=("on", "off", "auto"))
    parser.add_argument("--swa-full", action="store_true")
    parser.add_argument("--context-shift", action=argparse.BooleanOptionalAction)
    parser.add_argument("-ctxcp", "--ctx-checkpoints", "--swa-checkpoints", type=int)
    parser.add_argument("-nr", "--no-repack", action="store_true")
    parser.add_argument("-t", "--threads", type=int)
    parser.add_argument("-tb", "--threads-batch", type=int)
    parser.add_argument("-ngl", "--gpu-layers", "--n-gpu-layers", type=int)
    parser.add_argument("-lv", "--verbosity", "--log-verbosity", type=int)
    parser.add_argument("--log-file")
    parser.add_argument("--no-warmup", action="store_true")
    parser.add_argument("-s", "--seed", type=int)
    parser.add_argument("--temp", "--temperature", type=float)
    parser.add_argument("--top-k", type=int)
    parser.add_argument("--top-p", type=float)
    parser.add_argument("--min-p", type=float)
    parser.add_argument("-bs", "--backend-sampling", action="store_true")
    parser.add_argument("--sleep-idle-seconds", type=int)
    _add_speculation(parser)
    return parser


def _add_speculation(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("-md", "--spec-draft-model", "--model-draft")
    parser.add_argument("--spec-type", type=_split, action="extend")
    parser.add_argument("--spec-draft-n-max", type=int)
    parser.add_argument("--spec-draft-n-min", type=int)
    parser.add_argument("--spec-draft-p-min", "--draft-p-min", type=float)
    parser.add_argument("-ctkd", "--spec-draft-type-k", "--cache-type-k-draft", choices=CACHE_TYPES)
    parser.add_argument("-ctvd", "--spec-draft-type-v", "--cache-type-v-draft", choices=CACHE_TYPES)
    parser.add_argument("--spec-draft-p-split", "--draft-p-split", type=float)
    parser.add_argument("--spec-draft-sampling", choices=("greedy", "probabilistic"))
    parser.add_argument("--spec-draft-backend-sampling", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument("--spec-synth-rates", type=_rates)
    parser.add_argument("--spec-synth-len", type=float)
    for flag in _NGRAM_FLAGS:
        parser.add_argument(flag, type=int)
