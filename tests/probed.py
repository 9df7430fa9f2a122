"""Real servers with the probes on: who may run them, what a watch with them looks like, and what they leave behind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import psutil
import pytest
from probes import usable
from watched import target, until

from specscope.settings import Settings
from specscope.sources.probes.libraries import find_functions
from specscope.sources.trace.access import HELPER

if TYPE_CHECKING:
    from collections.abc import Iterable

    from specscope.cli.pump import Pump
    from specscope.session.state import SourceView
    from specscope.sources.probes.libraries import Place

TRACED = Settings(trace="auto")
needs_probes = pytest.mark.skipif(bool(usable()), reason=f"the probes cannot run: {usable()}")

CODE = 4
"""Bytes of a function that are compared: a breakpoint takes one (x86_64) or four (aarch64)."""


def trace_of(pump: Pump) -> SourceView | None:
    """The trace among the sources."""
    return next((s for s in target(pump).sources if s.name == "trace"), None)


def is_traced(pump: Pump) -> bool:
    """Whether the probes are armed."""
    seen = trace_of(pump)
    return seen is not None and seen.state == "attached"


async def until_traced(pump: Pump) -> None:
    """Wait until the probes are armed."""
    await until(lambda: is_traced(pump), "the probes armed")


class Code:
    """The functions of a server that a trace may probe, as its files have them and as they are in its memory."""

    def __init__(self, pid: int) -> None:
        self._memory = Path(f"/proc/{pid}/mem")
        self._places = {p.function.name: p for places in find_functions(pid).roles.values() for p in places}

    def changed(self) -> set[str]:
        """The functions whose code in memory is not that of the file."""
        return {name for name, place in self._places.items() if self._at(place.address) != _in_file(place)}

    def addresses(self) -> dict[str, int]:
        """Where they are in memory."""
        return {name: place.address for name, place in self._places.items()}

    def _at(self, address: int) -> bytes:
        with self._memory.open("rb", buffering=0) as memory:
            memory.seek(address)
            return memory.read(CODE)


def _in_file(place: Place) -> bytes:
    with Path(place.path).open("rb") as file:
        file.seek(place.function.offset)
        return file.read(CODE)


def helpers_of(pid: int) -> list[psutil.Process]:
    """The helpers of a specscope process."""
    return [p for p in psutil.Process(pid).children() if HELPER in _words(p)]


def with_children(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Processes and all below them."""
    return [p for top in processes for p in (top, *top.children(recursive=True))]


def alive(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """Those that have not ended; one that nobody has waited for yet has."""
    return [p for p in processes if p.is_running() and _status(p) != psutil.STATUS_ZOMBIE]


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def _status(process: psutil.Process) -> str:
    try:
        return process.status()
    except psutil.NoSuchProcess:
        return psutil.STATUS_ZOMBIE
