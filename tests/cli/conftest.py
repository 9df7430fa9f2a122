"""The commands' tests: the helpers beside them, and servers that need no waiting."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from fake_server import FakeServer, Llama

from specscope.cli import watching
from specscope.sources import merge

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).parent
if str(HERE) not in sys.path:
    sys.path.insert(0, str(HERE))


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is not there is given up soon, and none has a process."""
    monkeypatch.setattr(watching, "REACH_WAIT_S", 0.3)
    monkeypatch.setattr(watching, "ATTACH_WAIT_S", 1.0)
    # The servers are threads of this very process, whose command line and output are not theirs.
    monkeypatch.setattr(merge, "find_pid", lambda _: None)


@pytest.fixture
def llama() -> Llama:
    """What the server says."""
    return Llama()


@pytest.fixture
def server(llama: Llama) -> Iterator[FakeServer]:
    """A healthy server."""
    with FakeServer(llama.routes()) as running:
        yield running


@pytest.fixture
def config(tmp_path: Path) -> str:
    """Settings by which the server's own min_p is a finding."""
    path = tmp_path / "config.toml"
    path.write_text('[profile.card]\nsampling = {min_p = 0.0}\nsource = "the card"\n')
    return str(path)
