"""Where the driver's library lies, in processes of their own: each loads it anew."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import nvml_standin
from nvml_standin import busy_h200, h200

if TYPE_CHECKING:
    from pathlib import Path

    import pytest
    from nvml_standin import Gpus

WATCH = """
import asyncio, sys, msgspec
from specscope.events import GpuMemoryRead, GpuSampled, SourceLost
from specscope.sources.nvml import library
from specscope.sources.nvml.source import NvmlSource
from specscope.sources.source import Clock

async def main():
    facts, done = [], asyncio.Event()
    def emit(fact):
        facts.append(fact)
        kinds = [type(f) for f in facts]
        if SourceLost in kinds or (kinds.count(GpuSampled) > 3 and GpuMemoryRead in kinds):
            done.set()
    task = asyncio.create_task(NvmlSource(Clock()).run(emit))
    await asyncio.wait_for(done.wait(), 30)
    task.cancel()
    print(msgspec.json.encode(facts).decode(), "pynvml" in sys.modules)

for line in sys.argv[1:]:
    exec(line)
asyncio.run(main())
"""


def seen(env: dict[str, str], *lines: str) -> tuple[list[dict[str, Any]], bool]:
    """The first facts of a process in which the lines were run before, and whether nvidia-ml-py was imported."""
    made = subprocess.run(
        [sys.executable, "-c", WATCH, *lines], env=env, stdout=subprocess.PIPE, check=True, timeout=60
    )
    facts, _, imported = made.stdout.decode().strip().rpartition(" ")
    return json.loads(facts), imported == "True"


def of(facts: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [f for f in facts if f["k"] == kind]


def test_where_the_loader_finds_it(gpus: Gpus) -> None:
    gpus.add(busy_h200())
    facts, _ = seen(gpus.env())
    assert facts[0]["detail"] == "1 device, driver 580.159.04"
    assert of(facts, "gpu_now")[0]["power_w"] == 450.148


def test_where_the_loader_does_not_look(gpus: Gpus, monkeypatch: pytest.MonkeyPatch) -> None:
    gpus.add(h200())
    place = str(gpus.library.parent)
    env = gpus.env()
    del env["LD_LIBRARY_PATH"]
    # The loader has no library under the first name, and the folder as the only place is where it lies.
    facts, _ = seen(
        env,
        "find = library.ctypes.CDLL",
        "library.ctypes.CDLL = lambda path: find(path if '/' in path else 'libnvidia-ml-absent.so')",
        f"library.PLACES = ('/nowhere', {place!r})",
        "library.importlib.import_module('pynvml').CDLL = find",
    )
    assert of(facts, "gpu")[0]["name"] == "NVIDIA H200"


def test_nothing_is_imported_where_there_is_no_library(gpus: Gpus) -> None:
    facts, imported = seen(gpus.env(), "library.SONAME = 'libnvidia-ml-absent.so'")
    assert [f["reason"] for f in facts] == ["no NVIDIA driver here: GPU figures are unknown"]
    assert not imported


def test_without_nvidia_ml_py(gpus: Gpus) -> None:
    facts, _ = seen(gpus.env(), "sys.modules['pynvml'] = None")
    assert [(f["reason"], f["hint"]) for f in facts] == [
        ("nvidia-ml-py is not installed: GPU figures are unknown", "install it: pip install nvidia-ml-py")
    ]


def test_a_library_that_lacks_what_is_younger(gpus: Gpus, tmp_path: Path) -> None:
    gpus.add(busy_h200() | {"DeviceGetCurrentClocksThrottleReasons": (0x4,)})
    gpus.library = nvml_standin.build(tmp_path / "old", old=True)
    facts, _ = seen(gpus.env())
    sample, (memory, *_), (device, *_) = of(facts, "gpu_now")[-1], of(facts, "gpu_memory"), of(facts, "gpu")
    assert (sample["power_w"], sample["instant"], sample["reasons"]) == (77.5, False, 0x4)
    assert memory["processes"] == [[474, 10 << 30]]
    assert "reserved_bytes" not in device
    assert device["memory_bytes"] == 143771 << 20
