"""SPC304: low clocks that nothing limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from driver_says import PID, reading, served
from judged import evidence, found, look, said
from msgspec.structs import replace
from nvml_standin import busy_h200
from replayed import replayed

from specscope.findings.engine import diagnose
from specscope.findings.gpu.clocks_low_waiting_for_host import RULE
from specscope.findings.rule import Collecting

if TYPE_CHECKING:
    from driver_says import Driver
    from nvml_standin import Gpus

IDLE, POWER_CAP = 0x01, 0x04
GPU = "t0 gpu 0"


async def at(gpus: Gpus, mhz: int, busy_pct: int, reasons: int = 0) -> Driver:
    gpus.remove_all()
    gpus.add(busy_h200(PID))
    gpus.set(0, "DeviceGetClockInfo", mhz, arg=1)
    gpus.set(0, "DeviceGetUtilizationRates", busy_pct, 10)
    gpus.set(0, "DeviceGetCurrentClocksEventReasons", reasons)
    return await reading(gpus)


async def test_a_device_that_waits(gpus: Gpus) -> None:
    facts = served((await at(gpus, 1200, 35, IDLE), 40))
    host = [b.usage(5.0, threads=[("llama-server", 99.6), ("llama-server", 1.0)])]
    bursts = [b.tracing(asynchronous=True), *[b.stalls(5.0 + i, 0.2, 0.7) for i in range(3)]]
    finding = found(RULE, *facts, *host, *bursts, subject=GPU)
    assert finding.severity == "info"
    assert finding.summary == "GPU 0 runs at 61% of its clock and nothing limits it: it waits for the host"
    assert evidence(finding) == {
        "SM clock at work": "1,200 of 1,980 MHz (39% below)",
        "in use": "35% of 40 s at work",
        "limits": "none",
        "GPU without work": "70% of the traced time",
        "the server's busiest thread": "100% of a core",
    }
    assert "--top-k" in finding.advice
    assert list(evidence(found(RULE, *facts, subject=GPU))) == ["SM clock at work", "in use", "limits"]


async def test_what_is_no_waiting(gpus: Gpus) -> None:
    assert look(RULE, *served((await at(gpus, 1980, 35), 40))) == ()  # an H200 keeps its clock
    assert look(RULE, *served((await at(gpus, 1640, 35), 40))) == ()  # 83 %
    assert look(RULE, *served((await at(gpus, 1200, 88), 40))) == ()  # at work all the time
    limited = await at(gpus, 1200, 35, POWER_CAP)
    assert look(RULE, *served((limited, 10), (await at(gpus, 1200, 35), 30))) == ()


async def test_once_raised_it_stays_until_the_clock_is_well_above(gpus: Gpus) -> None:
    assert found(RULE, *served((await at(gpus, 1640, 35), 40)), raised=[GPU], subject=GPU)
    assert look(RULE, *served((await at(gpus, 1700, 35), 40)), raised=[GPU]) == ()


async def test_of_several_devices_each_waits_for_the_others(gpus: Gpus) -> None:
    low = await at(gpus, 1200, 35)
    second = [replace(fact, index=1) for fact in (low.found, low.memory)]
    assert said(look(RULE, *served((low, 40)), *second)) == "does not apply: of several GPUs each waits for the others"


async def test_too_little_is_seen(gpus: Gpus) -> None:
    assert look(RULE, *served((await at(gpus, 1200, 35), 5))) == Collecting("30 s of work on the GPU (5 so far)")


@pytest.mark.parametrize("name", ["h200_memory", "h200_fill_plain", "h200_fill_dflash"])
def test_an_h200_keeps_its_clock(name: str) -> None:
    assert RULE.name not in {f.name for f in diagnose(replayed(name)).findings}
