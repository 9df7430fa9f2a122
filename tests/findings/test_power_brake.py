"""SPC303: the power supply or the board cuts the clocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from driver_says import PID, reading, served
from judged import evidence, found, look
from nvml_standin import busy_h200

from specscope.findings.gpu.power_brake import RULE
from specscope.findings.rule import Collecting

if TYPE_CHECKING:
    from driver_says import Driver
    from nvml_standin import Gpus

SLOWDOWN, BY_SOFTWARE, BY_HARDWARE, BRAKE = 0x08, 0x20, 0x40, 0x80
GPU = "t0 gpu 0"


async def slowed(gpus: Gpus, reasons: int) -> Driver:
    gpus.remove_all()
    gpus.add(busy_h200(PID))
    gpus.set(0, "DeviceGetClockInfo", 990 if reasons else 1980, arg=1)
    gpus.set(0, "DeviceGetCurrentClocksEventReasons", reasons)
    return await reading(gpus)


async def test_a_brake_in_a_few_readings_is_enough(gpus: Gpus) -> None:
    free = await slowed(gpus, 0)
    braked = (await slowed(gpus, BRAKE | SLOWDOWN), 0.8)
    finding = found(RULE, *served((free, 20), braked, (free, 19)), subject=GPU)
    assert finding.severity == "warning"
    assert "power brake" in finding.summary
    assert evidence(finding)["power brake"] == "2% of 40 s at work, not now"
    assert evidence(finding)["SM clock meanwhile"] == "990 of 1,980 MHz (50% below)"
    assert "power supply" in finding.advice


async def test_a_single_reading_may_be_a_glitch(gpus: Gpus) -> None:
    free, braked = await slowed(gpus, 0), await slowed(gpus, BRAKE)
    assert look(RULE, *served((free, 20), (braked, 0.1), (free, 19))) == ()
    assert found(RULE, *served((free, 20), (braked, 0.3), (free, 19)), raised=[GPU], subject=GPU)
    assert look(RULE, *served((free, 20), (braked, 0.1), (free, 19)), raised=[GPU]) == ()


async def test_a_slowdown_without_a_cause_must_hold_for_longer(gpus: Gpus) -> None:
    free, slow = await slowed(gpus, 0), await slowed(gpus, SLOWDOWN)
    assert look(RULE, *served((slow, 2), (free, 38))) == ()  # clocks that change say so too
    finding = found(RULE, *served((slow, 10), (free, 30)), subject=GPU)
    assert "does not name heat" in finding.summary
    assert "hardware slowdown" in evidence(finding)


async def test_heat_is_another_finding(gpus: Gpus) -> None:
    free = await slowed(gpus, 0)
    assert look(RULE, *served((free, 20), (await slowed(gpus, BY_HARDWARE | SLOWDOWN), 20))) == ()
    assert look(RULE, *served((free, 20), (await slowed(gpus, BY_SOFTWARE | SLOWDOWN), 20))) == ()


async def test_too_little_is_seen(gpus: Gpus) -> None:
    assert look(RULE, *served((await slowed(gpus, BRAKE), 5))) == Collecting("30 s of work on the GPU (5 so far)")
