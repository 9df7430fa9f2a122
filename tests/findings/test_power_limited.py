"""SPC301: the GPU is at its power limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from driver_says import PID, reading, served
from judged import evidence, found, look, said
from nvml_standin import NOT_SUPPORTED, busy_h200, laptop
from replayed import replayed

from specscope.findings.engine import diagnose
from specscope.findings.gpu.power_limited import RULE
from specscope.findings.rule import Collecting

if TYPE_CHECKING:
    from driver_says import Driver
    from nvml_standin import Gpus

POWER_CAP, HEAT = 0x04, 0x20
GPU = "t0 gpu 0"


async def capped(gpus: Gpus, *, watts: float = 69.6, limit_w: float = 70, reasons: int = POWER_CAP) -> Driver:
    """A small workstation card at its cap: the one of the published 24 GB case."""
    gpus.remove_all()
    gpus.add(busy_h200(PID))
    gpus.set(0, "DeviceGetEnforcedPowerLimit", round(1000 * limit_w))
    gpus.set(0, "DeviceGetPowerManagementDefaultLimit", 145_000)
    gpus.set(0, "DeviceGetPowerManagementLimitConstraints", 30_000, 145_000)
    gpus.set(0, "DeviceGetFieldValues", round(1000 * watts), arg=186)
    gpus.set(0, "DeviceGetClockInfo", 1410, arg=1)
    gpus.set(0, "DeviceGetMaxClockInfo", 2617, arg=1)
    gpus.set(0, "DeviceGetTemperature", 61, arg=0)
    gpus.set(0, "DeviceGetCurrentClocksEventReasons", reasons)
    return await reading(gpus)


async def test_a_card_at_its_cap(gpus: Gpus) -> None:
    finding = found(RULE, *served((await capped(gpus), 40)), subject=GPU)
    assert finding.severity == "info"
    assert finding.summary == "GPU 0 is at its power limit of 70 W 100% of the time"
    assert evidence(finding) == {
        "power cap": "100% of 40 s at work",
        "power meanwhile": "69.6 W",
        "limit in force": "70 W, default 145 W, at most 145 W",
        "SM clock meanwhile": "1,410 of 2,617 MHz (46% below)",
        "temperature": "61 C; software slows it at 87 C, hardware at 92 C",
    }
    assert "--power-limit=145" in finding.advice
    assert finding.cost_ms is None


async def test_a_limit_that_cannot_be_raised(gpus: Gpus) -> None:
    finding = found(RULE, *served((await capped(gpus, watts=144, limit_w=145), 40)), subject=GPU)
    assert "can set no more than 145 W" in finding.advice


async def test_a_laptop_whose_limit_is_not_told(gpus: Gpus) -> None:
    gpus.add(laptop() | {"DeviceGetComputeRunningProcesses_v3": (PID, 1 << 30)})
    gpus.set(0, "DeviceGetCurrentClocksEventReasons", POWER_CAP)
    told = await reading(gpus)
    assert told.found.power_limit_w is None
    finding = found(RULE, *served((told, 40)), subject=GPU)
    assert "limit in force" not in evidence(finding)
    assert finding.summary == "GPU 0 is at its power limit 100% of the time"


async def test_what_is_no_limit_to_the_speed(gpus: Gpus) -> None:
    at_cap, free = await capped(gpus), await capped(gpus, reasons=0)
    assert look(RULE, *served((free, 40))) == ()
    assert look(RULE, *served((at_cap, 18), (free, 22))) == ()  # 45 % of the time
    assert look(RULE, *served((await capped(gpus, watts=66), 40))) == ()  # the bit alone, at 94 % of the limit
    assert look(RULE, *served((await capped(gpus, reasons=POWER_CAP | HEAT), 40))) == ()  # that is heat


async def test_once_raised_it_stays_until_it_is_well_below(gpus: Gpus) -> None:
    at_cap, free = await capped(gpus), await capped(gpus, reasons=0)
    assert found(RULE, *served((at_cap, 18), (free, 22)), raised=[GPU], subject=GPU)
    assert look(RULE, *served((at_cap, 15), (free, 25)), raised=[GPU]) == ()


async def test_too_little_is_seen(gpus: Gpus) -> None:
    at_cap = await capped(gpus)
    assert look(RULE, *served((at_cap, 20))) == Collecting("30 s of work on the GPU (20 so far)")
    assert said(look(RULE, *served())) == "does not apply: no GPU seen"
    gpus.set(0, "DeviceGetCurrentClocksEventReasons", ret=NOT_SUPPORTED)
    gpus.set(0, "DeviceGetCurrentClocksThrottleReasons", ret=NOT_SUPPORTED)
    says = said(look(RULE, *served((await reading(gpus), 40))))
    assert says == "does not apply: the driver does not say what limits the clocks"


@pytest.mark.parametrize("name", ["h200_memory", "h200_fill_plain", "h200_fill_dflash"])
def test_an_h200_that_meets_its_cap_in_long_prompts_is_not_limited(name: str) -> None:
    assert not {f.name for f in diagnose(replayed(name)).findings} & {"power_limited", "thermal_limited"}
