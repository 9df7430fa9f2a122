"""SPC401: device memory is oversubscribed and paged over the bus."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from driver_says import PID, reading, served
from judged import case, evidence, found, look, state
from msgspec.structs import replace
from nvml_standin import NOT_SUPPORTED, busy_h200, gb10
from replayed import recording

from specscope.events import GpuFound, GpuLinkRead, GpuMemoryRead, GpuSampled, TargetFound
from specscope.findings.memory.vram_spill import RULE
from specscope.findings.rule import Collecting
from specscope.findings.unjudged import SHARED_MEMORY

if TYPE_CHECKING:
    from pathlib import Path

    from driver_says import Driver
    from nvml_standin import Gpus

    from specscope import events as ev

MIB = 1 << 20
GPU = "t0 gpu 0"


@pytest.fixture
def windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine has the way to a Windows graphics driver."""
    monkeypatch.setattr("specscope.sources.nvml.device.WINDOWS", tmp_path)


async def crawling(
    gpus: Gpus, *, used_mib: int = 11_900, busy: int = 100, memory_busy: int = 2, bus_gb: float = 11.3
) -> Driver:
    """A 12 GB card that fetches its caches over the bus."""
    gpus.remove_all()
    gpus.add(busy_h200(PID))
    total, reserved = 12_282 * MIB, 200 * MIB
    gpus.set(0, "DeviceGetMemoryInfo_v2", total, reserved, used_mib * MIB)
    gpus.set(0, "DeviceGetUtilizationRates", busy, memory_busy)
    gpus.set(0, "DeviceGetPcieThroughput", round(bus_gb * 1e6), arg=1)
    return await reading(gpus)


@pytest.mark.usefixtures("windows")
async def test_a_card_under_windows_that_pages(gpus: Gpus) -> None:
    told = await crawling(gpus)
    assert told.found.wddm
    finding = found(RULE, *served((told, 12)), subject=GPU)
    assert finding.severity == "critical"
    assert evidence(finding) == {
        "device memory": "11,900 of 12,082 MiB used (98%)",
        "while decoding": "GPU busy 100%, its memory 2% of 12 s",
        "spills because": "Windows manages the memory (WSL2)",
        "bus to the device": "11.3 GB/s in 12 readings",
    }
    assert "--ctx-size" in finding.advice
    assert "Prefer No Sysmem Fallback" in finding.advice


async def test_managed_memory_pages_anywhere(gpus: Gpus) -> None:
    told = await crawling(gpus)
    assert not told.found.wddm
    env = b.process("-m m.gguf", env={"GGML_CUDA_ENABLE_UNIFIED_MEMORY": "1"})
    finding = found(RULE, env, *served((told, 12)), subject=GPU)
    assert evidence(finding)["spills because"] == "GGML_CUDA_ENABLE_UNIFIED_MEMORY"
    assert "without GGML_CUDA_ENABLE_UNIFIED_MEMORY" in finding.advice


async def test_nothing_spills_on_bare_linux(gpus: Gpus) -> None:
    assert state(look(RULE, b.process("-m m.gguf", env={}), *served((await crawling(gpus), 12)))) == "does not apply"
    assert state(look(RULE, *served((await crawling(gpus), 12)))) == "waits"  # a variable may let it


@pytest.mark.usefixtures("windows")
async def test_what_is_no_paging(gpus: Gpus) -> None:
    for fields in ({"used_mib": 11_000}, {"busy": 80}, {"memory_busy": 18}, {"bus_gb": 1.5}):
        assert look(RULE, *served((await crawling(gpus, **fields), 12))) == (), fields
    assert look(RULE, *served((await crawling(gpus), 12), decoding=False)) == Collecting("10 s of decoding (0 so far)")
    gpus.remove_all()
    gpus.add(gb10() | {"DeviceGetComputeRunningProcesses_v3": (PID, MIB)})
    assert look(RULE, *served((await reading(gpus), 12))) == SHARED_MEMORY


@pytest.mark.usefixtures("windows")
async def test_once_raised_it_stays_until_the_bus_is_quiet(gpus: Gpus) -> None:
    assert found(RULE, *served((await crawling(gpus, bus_gb=1.5), 12)), raised=[GPU], subject=GPU)
    assert look(RULE, *served((await crawling(gpus, bus_gb=0.9), 12)), raised=[GPU]) == ()


@pytest.mark.usefixtures("windows")
async def test_too_little_is_seen(gpus: Gpus) -> None:
    assert look(RULE, *served((await crawling(gpus), 5))) == Collecting("10 s of decoding (5 so far)")
    told = await crawling(gpus)
    gpus.set(0, "DeviceGetPcieThroughput", ret=NOT_SUPPORTED, arg=1)
    quiet = await reading(gpus)
    assert quiet.link.to_device_bytes_per_s is None
    assert look(RULE, *served((quiet, 12))) == ()  # neither the bus nor the speed is known
    assert found(RULE, *served((told, 12)), subject=GPU)


def spilling(fact: ev.Event) -> ev.Event:
    """The facts of a recorded H200 as a full card under Windows, whose bus nobody can read, would have told them."""
    match fact:
        case GpuFound():
            return replace(fact, wddm=True)
        case GpuMemoryRead():
            return replace(fact, used_bytes=149 * 10**9)
        case GpuSampled():
            return replace(fact, busy_pct=99, memory_busy_pct=4)
        case GpuLinkRead():
            return replace(fact, to_device_bytes_per_s=None)
        case _:
            return fact


def test_without_the_bus_the_speed_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specscope.findings.memory.vram_spill.LEAST_S", 5.0)  # it decodes for 6 s
    facts = [spilling(fact) for fact in recording("h200_fill_plain").events() if not isinstance(fact, TargetFound)]
    first = next(fact for fact in recording("h200_fill_plain").events() if isinstance(fact, TargetFound))
    (finding,) = RULE.look(case(first, *facts))  # type: ignore[misc]
    assert dict(finding.evidence)["speed"] == "37% of what the device's memory allows"
    assert "bus to the device" not in dict(finding.evidence)
