"""A router's preset file, as far as it names drafting methods."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from typing import TYPE_CHECKING

import pytest

from specscope.flags import parse_flags
from specscope.sources.presets import OF_ROUTER, preset_types, types_in

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FILE = """
version = 1
[*]
spec-type = ngram-cache
[one]
model = /m/one.gguf
spec-type = ngram-mod   ; the first
  spec-type=draft-dflash# the last
spec-type-x = no
[two]
spec-type = ngram-simple
LLAMA_ARG_SPEC_TYPE = ngram-map-k
[three]
spec-type = ngram-mod
[three]
model = /m/three.gguf
"""


@pytest.mark.parametrize(
    ("model", "own"),
    [
        ("one", ["ngram-mod", "draft-dflash"]),
        ("two", ["ngram-map-k", "ngram-simple"]),
        ("three", []),
        ("four", []),
    ],
    ids=["written twice", "by both names: the flag's is taken", "a section that begins again", "no section"],
)
def test_what_a_file_says_for_a_model(model: str, own: list[str]) -> None:
    assert types_in(FILE, model) == [("[*]", "ngram-cache"), *[(f"[{model}]", value) for value in own]]


def test_a_file_that_is_none_says_nothing() -> None:
    assert types_in("", "one") == types_in("\0\xff[[=\n]", "one") == []


@pytest.fixture
def child(tmp_path: Path) -> Iterator[int]:
    """A process whose grandparent has a router's command line."""
    (tmp_path / "models.ini").write_text(FILE)
    sleeps = "import time; time.sleep(60)"
    starts = textwrap.dedent(
        f"""
        import subprocess, sys
        inner = subprocess.Popen([sys.executable, "-c", {sleeps!r}])
        print(inner.pid, flush=True)
        inner.wait()
        """
    )
    # A wrapper between the two; the router's flags are behind a program that does not read them.
    line = [sys.executable, "-c", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {starts!r}])"]
    router = subprocess.Popen(
        [*line, "--models-preset", "models.ini", "--spec-type", "ngram-mod"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert router.stdout is not None
    yield int(router.stdout.readline())
    os.killpg(router.pid, 9)
    router.wait()
    router.stdout.close()


def test_the_router_is_found_above_its_child(child: int) -> None:
    flags, env = parse_flags(["llama-server", "--alias", "one"]), {OF_ROUTER: "1"}
    assert preset_types(child, flags, env) == [
        ("[*]", "ngram-cache"),
        ("[one]", "ngram-mod"),
        ("[one]", "draft-dflash"),
        ("router", "ngram-mod"),
    ]
    assert preset_types(child, flags, {}) == []
    assert preset_types(child, flags, None) == []
    assert preset_types(child, parse_flags(["llama-server"]), env) == []


def test_a_server_without_a_router_has_none() -> None:
    assert preset_types(os.getpid(), parse_flags(["llama-server", "-a", "one"]), {OF_ROUTER: "1"}) == []
    assert preset_types(2**22 + 1, parse_flags(["llama-server", "-a", "one"]), {OF_ROUTER: "1"}) == []
