"""SPC302: heat keeps the GPU's clocks down."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from driver_says import PID, reading, served
from judged import evidence, found, look
from nvml_standin import busy_h200

from specscope.findings.gpu.power_limited import RULE as POWER_LIMITED
from specscope.findings.gpu.thermal_limited import RULE
from specscope.findings.rule import Collecting

if TYPE_CHECKING:
    from driver_says import Driver
    from nvml_standin import Gpus

POWER_CAP, SLOWDOWN, BY_SOFTWARE, BY_HARDWARE = 0x04, 0x08, 0x20, 0x40
GPU = "t0 gpu 0"


async def hot(gpus: Gpus, reasons: int) -> Driver:
    gpus.remove_all()
    gpus.add(busy_h200(PID))
    gpus.set(0, "DeviceGetEnforcedPowerLimit", 100_000)
    gpus.set(0, "DeviceGetFieldValues", 98_000, arg=186)
    gpus.set(0, "DeviceGetClockInfo", 375, arg=1)
    gpus.set(0, "DeviceGetMaxClockInfo", 1560, arg=1)
    gpus.set(0, "DeviceGetTemperature", 88, arg=0)
    gpus.set(0, "DeviceGetCurrentClocksEventReasons", reasons)
    return await reading(gpus)


@pytest.mark.parametrize(
    "reasons",
    [BY_SOFTWARE, BY_HARDWARE | SLOWDOWN, BY_SOFTWARE | POWER_CAP],
    ids=["software", "hardware", "at its power cap too"],
)
async def test_a_card_that_is_too_hot(gpus: Gpus, reasons: int) -> None:
    facts = served((await hot(gpus, reasons), 20), (await hot(gpus, 0), 20))
    finding = found(RULE, *facts, subject=GPU)
    assert finding.severity == "warning"
    told = evidence(finding)
    assert told["thermal"] == "50% of 40 s at work, not now"
    assert told["SM clock meanwhile"] == "375 of 1,560 MHz (76% below)"
    assert told["temperature"] == "88 C; software slows it at 87 C, hardware at 92 C"
    assert told["power meanwhile"] == "98.0 W"
    assert "--power-limit" in finding.advice
    assert look(POWER_LIMITED, *facts) == ()


async def test_a_peak_of_heat_is_no_finding(gpus: Gpus) -> None:
    warm, cool = await hot(gpus, BY_SOFTWARE), await hot(gpus, 0)
    assert look(RULE, *served((cool, 40))) == ()
    assert look(RULE, *served((warm, 3), (cool, 37))) == ()  # 8 %
    assert found(RULE, *served((warm, 3), (cool, 37)), raised=[GPU], subject=GPU)
    assert look(RULE, *served((warm, 1), (cool, 39)), raised=[GPU]) == ()


async def test_too_little_is_seen(gpus: Gpus) -> None:
    assert look(RULE, *served((await hot(gpus, BY_SOFTWARE), 10))) == Collecting("30 s of work on the GPU (10 so far)")
