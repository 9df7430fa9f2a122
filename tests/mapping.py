"""A process that has files mapped as code, as a server has its libraries."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence
    from pathlib import Path

MAP = """
import mmap, sys
kept = []
for name in sys.argv[1:]:
    with open(name, "rb") as file:
        kept.append(mmap.mmap(file.fileno(), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC))
print("mapped", flush=True)
sys.stdin.read()
"""


@contextlib.contextmanager
def mapping(*files: Path, before: Sequence[str] = (), user: int | None = None) -> Generator[int]:
    """Its process id.

    Args:
        files: what it maps.
        before: a command that becomes the process.
        user: who it runs as.
    """
    command = [*before, sys.executable, "-c", MAP, *map(str, files)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, user=user)
    assert process.stdin is not None
    assert process.stdout is not None
    with process, process.stdin, process.stdout:
        assert process.stdout.readline() == b"mapped\n"
        yield process.pid
