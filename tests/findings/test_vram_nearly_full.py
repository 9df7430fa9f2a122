"""SPC402: next to no device memory is left."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from driver_says import PID, reading, served
from judged import evidence, found, look, said
from nvml_standin import busy_h200, gb10
from replayed import replayed

from specscope.findings.engine import diagnose
from specscope.findings.memory.vram_nearly_full import RULE
from specscope.findings.unjudged import SHARED_MEMORY

if TYPE_CHECKING:
    from driver_says import Driver
    from nvml_standin import Gpus

    from specscope import events as ev

MIB = 1 << 20
GPU = "t0 gpu 0"
SERVED = [b.idle(1.5)]
"""The request has ended."""
DFLASH = b.process("-m m.gguf -md d.gguf --spec-type draft-dflash -np 2")
TWO_SLOTS = [b.idle(0.2, task=None, speculative=True), b.idle(0.2, slot=1, task=None, speculative=True)]


async def filled(gpus: Gpus, free_mib: int) -> Driver:
    """A 24 GB card with so much left."""
    gpus.remove_all()
    gpus.add(busy_h200(PID))
    total = 24_467 * MIB
    gpus.set(0, "DeviceGetMemoryInfo_v2", total, 0, total - free_mib * MIB)
    gpus.set(0, "DeviceGetComputeRunningProcesses_v3", PID, total - (free_mib + 200) * MIB)
    return await reading(gpus)


async def test_a_card_with_300_mib_left(gpus: Gpus) -> None:
    finding = found(RULE, *served((await filled(gpus, 300), 1)), *SERVED, subject=GPU)
    assert finding.severity == "info"
    assert evidence(finding) == {"free": "300 of 24,467 MiB (1.2%)", "the server's own": "23,967 MiB"}
    assert "--fit-target" in finding.advice


async def test_slots_that_select_on_the_device_take_more(gpus: Gpus) -> None:
    facts: list[ev.Event] = [DFLASH, *served((await filled(gpus, 300), 1)), *TWO_SLOTS, *SERVED]
    finding = found(RULE, *facts, subject=GPU)
    assert finding.severity == "warning"
    assert evidence(finding)["slots that select on the device"] == "2"
    assert "--no-spec-draft-backend-sampling, or -np 1" in finding.advice
    on_host = b.process("-m m.gguf -md d.gguf --spec-type draft-dflash -np 2 --no-spec-draft-backend-sampling")
    assert found(RULE, *facts, on_host, subject=GPU).severity == "info"


async def test_the_published_24_gb_case_is_not_that_full(gpus: Gpus) -> None:
    assert look(RULE, *served((await filled(gpus, 1547), 1)), *SERVED) == ()
    assert look(RULE, *served((await filled(gpus, 600), 1)), *SERVED) == ()  # 2.5 %


async def test_once_raised_it_stays_until_there_is_room(gpus: Gpus) -> None:
    assert found(RULE, *served((await filled(gpus, 600), 1)), *SERVED, raised=[GPU], subject=GPU)
    assert look(RULE, *served((await filled(gpus, 800), 1)), *SERVED, raised=[GPU]) == ()


async def test_before_its_first_request_a_server_has_not_taken_all(gpus: Gpus) -> None:
    assert said(look(RULE, *served((await filled(gpus, 300), 1)))) == "waits: a request that has ended"


async def test_a_device_without_a_memory_of_its_own(gpus: Gpus, monkeypatch: pytest.MonkeyPatch) -> None:
    gpus.add(gb10() | {"DeviceGetComputeRunningProcesses_v3": (PID, MIB)})
    told = await reading(gpus)
    assert told.found.unified
    assert look(RULE, *served((told, 1)), *SERVED) == SHARED_MEMORY


async def test_a_device_that_is_cut_into_instances(gpus: Gpus) -> None:
    told = await filled(gpus, 300)
    gpus.set(0, "DeviceGetMigMode", 1, 1)
    cut = await reading(gpus)
    assert cut.found.mig
    assert look(RULE, *served((cut, 1)), *SERVED) == SHARED_MEMORY
    assert told.found.mig is False


@pytest.mark.parametrize("name", ["h200_memory", "h200_fill_plain", "h200_fill_dflash"])
def test_an_h200_has_room(name: str) -> None:
    assert RULE.name not in {f.name for f in diagnose(replayed(name)).findings}
