"""A real server whose process a (stood-in) driver lists on its device: what it limits, joules per token, the map."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

import httpx
import pytest
from nvml_standin import GIB, NA64, busy_h200
from watched import target, until, watch

from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, ServerSpec
from specscope.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from nvml_standin import Gpus

pytestmark = pytest.mark.server

WATTS = 450
POWER_CAP = 4
TOKENS = 600
WATCHED = Settings(gpu=True, trace="off")


@contextlib.asynccontextmanager
async def counting(gpus: Gpus, index: int) -> AsyncGenerator[None]:
    """The energy counter of a device that takes a constant power."""
    began = time.monotonic()

    async def count() -> None:
        while True:
            spent_j = WATTS * (time.monotonic() - began)
            gpus.set(index, "DeviceGetTotalEnergyConsumption", round(1000 * (5000 + spent_j)))
            await asyncio.sleep(0.05)

    task = asyncio.create_task(count())
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def generate(url: str) -> dict[str, float]:
    """One request; the server's own figures of it."""
    body = {"prompt": "ba be bi", "n_predict": TOKENS, "ignore_eos": True, "temperature": 0}
    async with httpx.AsyncClient(timeout=60) as client:
        return (await client.post(f"{url}/completion", json=body)).json()["timings"]


async def test_what_limits_the_device_and_what_a_token_takes(gpus: Gpus) -> None:
    spec = ServerSpec(n_max=15, rates=LAB_RATES, trace=False, verbosity=4)
    async with LabServer(spec) as server:
        index = gpus.add(busy_h200(server.pid))
        gpus.set(index, "DeviceGetCurrentClocksEventReasons", POWER_CAP)
        gpus.set(index, "DeviceGetFieldValues", 1000 * WATTS, arg=186)
        gpus.set(index, "DeviceGetClockInfo", 1410, arg=1)
        async with counting(gpus, index), watch(server, WATCHED) as pump:
            await until(lambda: any(use.gpu.link is not None for use in target(pump).gpus), "the device was read")
            timings = [await generate(server.url) for _ in range(2)]
            await asyncio.sleep(2.5)  # until the counter was read after the last token
            view = target(pump)
            (use,) = view.gpus
            assert (use.how, use.process_bytes) == ("processes", 10 * GIB)
            assert use.gpu.judged_s > 0
            assert [(limit.name, limit.share, limit.sm_clock_mhz) for limit in use.gpu.limits] == [
                ("power cap", pytest.approx(1.0), pytest.approx(1410))
            ]
            assert use.gpu.power_w == pytest.approx(WATTS)
            energy = view.energy
            assert energy is not None
            assert energy.counted
            expected_j = WATTS * sum(t["predicted_ms"] for t in timings) / 1000 / (2 * TOKENS)
            assert energy.j_per_token is not None
            # The end of a request is seen a poll late, on a busy machine later: more is taken for decoding then. The
            # counter is read once a second, so that of two seconds a part falls to what is no decoding.
            assert 0.75 * expected_j < energy.j_per_token < 1.8 * expected_j
            assert energy.tokens == pytest.approx(2 * TOKENS, rel=0.1)
            device = view.memory.device
            assert device is not None
            assert device.process_bytes == 10 * GIB


async def test_the_drivers_unknowns_stay_unknown_beside_a_working_server(gpus: Gpus) -> None:
    async with LabServer(ServerSpec(n_max=7)) as server:
        index = gpus.add(busy_h200(server.pid))
        gpus.set(index, "DeviceGetComputeRunningProcesses_v3", server.pid, NA64)
        gpus.set(index, "DeviceGetFieldValues", ret=3, arg=186)
        gpus.set(index, "DeviceGetPowerUsage", ret=3)
        async with watch(server, WATCHED) as pump:
            await generate(server.url)
            view = target(pump)
            (use,) = view.gpus
            assert (use.how, use.process_bytes) == ("processes", None)
            assert use.gpu.power_w is None
            assert view.energy is None
            assert view.rates.tok_s is not None


async def test_the_drivers_end_leaves_the_cycles_alone(gpus: Gpus) -> None:
    async with LabServer(ServerSpec(n_max=7)) as server:
        gpus.add(busy_h200(server.pid))
        async with watch(server, WATCHED) as pump:
            await generate(server.url)
            gpus.set("*", "*", ret=9)
            await generate(server.url)
            await until(lambda: bool(pump.session().machine.gpus[0].lost), "the device was lost")
            view = target(pump)
            assert view.totals.generated is not None
            assert view.totals.generated > 1.9 * TOKENS
            assert view.cycle_evidence in ("exact", "unconfirmed")
