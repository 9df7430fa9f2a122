"""Recordings of a few facts, for the tests of writing and reading them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest

from specscope.recording import Recorder, Recording

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from specscope import events as ev

NAMES = pytest.mark.parametrize("name", ["watch.jsonl", "watch.jsonl.gz"])

SECONDS = tuple(b.cycle(at=i * 0.6, task=i) for i in range(12))
"""Facts over seven seconds: the recorder flushes several times."""


def record(path: Path, facts: Sequence[ev.Event]) -> Path:
    with Recorder(path, tool_version="0.1.0", started=b.T0) as recorder:
        for fact in facts:
            recorder.write(fact)
    return path


def read(path: Path) -> list[ev.Event]:
    return list(Recording(path).events())
