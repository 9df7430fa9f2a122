"""The arithmetic of memory against real servers: what their logs print at load, to the MiB with two decimals."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from loaded import as_printed, load
from tiny_models import tiny_arch, tiny_names, write_tiny

from specscope.events import BufferLogged
from specscope.lab.spec import ServerSpec
from specscope.session.memory.architectures import PROVEN
from specscope.session.memory.state import WeightsSplit
from specscope.session.memory.weights import weights_split
from specscope.sources.log_lines import LineParser

if TYPE_CHECKING:
    from pathlib import Path

    from loaded import Loaded

    from specscope.session.memory.state import Role

pytestmark = pytest.mark.server

DRAFTERS = {"eagle3": "draft-eagle3", "dflash with a window": "draft-dspark", "gemma4-assistant": "draft-mtp"}
TARGETS = [name for name in tiny_names() if name not in DRAFTERS]
PLAIN = ServerSpec(types=(), slots=3, ctx=5000, extra=("--no-warmup", "--no-repack"))


def caches(server: Loaded, role: Role = "target") -> list[str]:
    """What the log says that each cache of a context takes."""
    return server.facts_of(role, "KV", "RS")


def host_weights(server: Loaded, *, predicts: bool = False) -> str:
    """What the arithmetic says of the target's weights on a server without devices."""
    split = weights_split(server.target, server.flags, gpu=False, predicts=predicts)
    assert isinstance(split, WeightsSplit), split
    assert split.device_bytes == 0
    return as_printed(split.host_bytes)


def test_what_is_called_proven_is_what_is_tried_here() -> None:
    assert {tiny_arch(name) for name in tiny_names()} | {"llama", "dflash", "mamba"} == PROVEN


@pytest.mark.parametrize("name", TARGETS)
async def test_caches_and_weights_of_an_architecture(name: str, tmp_path: Path) -> None:
    server = await load(PLAIN, tmp_path / "log", model=write_tiny(name, tmp_path))
    assert server.reckoned() == caches(server)
    assert server.layout().proven
    assert host_weights(server) == server.logged("target", "model")


@pytest.mark.parametrize(
    "spec",
    [
        ServerSpec(n_max=15),
        ServerSpec(slots=3, ctx=5000),
        ServerSpec(slots=3, ctx=5001, kv_unified=True, cache_type_k="q8_0", cache_type_v="q8_0"),
        ServerSpec(types=("draft-simple",), slots=2, ctx=777, cache_type_k="f32", cache_type_v="bf16"),
        ServerSpec(types=("draft-simple",), cache_type_k="q8_0", cache_type_v="q4_0", draft_cache_type_k="q4_1"),
        ServerSpec(types=(), cache_type_k="q5_1", cache_type_v="iq4_nl", ctx=100),
        ServerSpec(types=(), cache_type_k="q5_0", slots=2, ctx=0),
        ServerSpec(types=("ngram-simple",), target="mamba", slots=3),
    ],
    ids=["dflash", "slots", "unified", "draft-simple", "types", "padded", "as trained", "mamba"],
)
async def test_caches_of_the_labs_models(spec: ServerSpec, tmp_path: Path) -> None:
    server = await load(spec, tmp_path / "log")
    assert server.reckoned() == caches(server)
    if spec.draft_model:
        assert server.reckoned("drafter") == caches(server, "drafter")
    assert server.buffers.unplaced == 0
    assert server.buffers.bytes_of("compute", model="target")


@pytest.mark.parametrize(
    ("name", "spec"),
    [
        ("gemma3", ServerSpec(types=(), slots=2, ctx=5000, kv_unified=True)),
        ("gemma3", ServerSpec(types=(), slots=3, ctx=5000, extra=("--swa-full",))),
        ("gpt-oss", ServerSpec(types=(), slots=3, ctx=3001, extra=("-ub", "64"))),
        ("gpt-oss", ServerSpec(types=(), slots=2, ctx=300, kv_unified=True)),
        ("mimo2", ServerSpec(types=(), slots=3, ctx=5000, extra=("-fa", "off"))),
        ("deepseek2", ServerSpec(types=(), slots=2, ctx=5000, cache_type_k="q8_0", cache_type_v="q8_0")),
    ],
    ids=["unified", "whole window", "small batch", "small context", "no flash attention", "compressed and quantised"],
)
async def test_windows_and_what_flags_make_of_them(name: str, spec: ServerSpec, tmp_path: Path) -> None:
    server = await load(spec, tmp_path / "log", model=write_tiny(name, tmp_path))
    assert server.reckoned() == caches(server)


@pytest.mark.parametrize("name", ["qwen35 with prediction", "glm4moe"])
async def test_prediction_layers_have_a_context_of_their_own(name: str, tmp_path: Path) -> None:
    spec = ServerSpec(types=(), slots=2, ctx=5000, n_max=5, draft_cache_type_k="q4_0", extra=("--no-repack",))
    server = await load(spec, tmp_path / "log", model=write_tiny(name, tmp_path), method="draft-mtp")
    assert server.reckoned() == caches(server)
    assert server.reckoned("drafter") == caches(server, "drafter") != []
    assert host_weights(server, predicts=True) == server.logged("target", "model")
    assert server.logged("drafter", "model") == "none"


@pytest.mark.parametrize("name", list(DRAFTERS))
async def test_caches_of_drafters(name: str, tmp_path: Path) -> None:
    target = write_tiny("gemma4", tmp_path) if name.startswith("gemma4") else None
    spec = ServerSpec(types=(), slots=2, ctx=5000)
    server = await load(spec, tmp_path / "log", model=target, drafter=write_tiny(name, tmp_path), method=DRAFTERS[name])
    assert server.reckoned() == caches(server)
    assert server.reckoned("drafter") == caches(server, "drafter")
    assert (server.reckoned("drafter") == []) is name.startswith("gemma4")


async def test_the_dry_run_before_loading_is_not_taken_for_buffers(tmp_path: Path) -> None:
    """At -lv 5 it prints what the real run prints, states that it really allocates among it."""
    spec = ServerSpec(types=("ngram-simple",), target="mamba", verbosity=5)
    server = await load(spec, tmp_path / "log")
    lines = (tmp_path / "log").read_text(errors="replace").splitlines()
    assert sum("RS buffer size" in line for line in lines) == 2
    assert server.reckoned() == caches(server)
    assert len(caches(server)) == 1


async def test_the_parser_counts_one_start_and_sees_the_device(tmp_path: Path) -> None:
    server = await load(PLAIN, tmp_path / "log")
    parser = LineParser()
    for line in (tmp_path / "log").read_bytes().split(b"\n"):
        parser.parse(line, 1.0)
    assert parser.restarts == 1
    assert set(server.said("device_total")) == {"CPU.name", "CPU.total_mib", "CPU.free_mib"}
    assert server.said("memory_breakdown")["when"] == "exit"
    assert server.said("kv_cache") | {"mib": "", "layers": ""} == {
        "mib": "",
        "cells": "1792",
        "layers": "",
        "seqs": "3",
        "streams": "3",
        "type_k": "f16",
        "type_v": "f16",
    }
    compute = [fact for fact in server.facts if isinstance(fact, BufferLogged) and fact.kind == "compute"]
    assert compute
    assert all(fact.model == "target" for fact in compute)
    assert re.fullmatch(r"\d+", server.said("memory_breakdown")["Host.self_mib"])
