"""What the lab's tests share: a cache of models for the session, and a check that no server stays behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psutil
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

LAB_PROGRAMS = ("specscope.lab.host", "specscope.lab.tether")


def lab_processes() -> list[int]:
    """Returns the pids of servers that descend from this process."""
    return [
        process.pid
        for process in psutil.Process().children(recursive=True)
        if any(name in _words(process) for name in LAB_PROGRAMS)
    ]


def _words(process: psutil.Process) -> list[str]:
    """The command line; none of a process that has ended and only waits to be fetched."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []


@pytest.fixture(scope="session", autouse=True)
def _model_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(autouse=True)
def _no_server_left() -> Iterator[None]:
    yield
    assert lab_processes() == []
