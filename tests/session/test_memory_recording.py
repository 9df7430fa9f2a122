"""An H200's memory, replayed: NVML at 10 Hz, /slots and the server's log of one run, put together by their times.

llama-server b11434, a 32-layer target of 4096 with a 5-layer DFlash drafter, contexts of 40,960 tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from replayed import replayed

if TYPE_CHECKING:
    from specscope.session.state import Target

MIB = 1 << 20


@pytest.fixture(scope="module")
def target() -> Target:
    return replayed("h200_memory").targets[0]


def test_the_parts_make_up_the_process(target: Target) -> None:
    memory = target.memory.device
    assert memory is not None
    assert {p.name: round(p.bytes / MIB) for p in memory.parts} == {
        "target weights": 3853,
        "drafter weights": 630,
        "target KV": 5120,
        "drafter KV": 800,
        "compute buffers": 396,
        "CUDA context": 526,
        "unexplained": 97,
        "driver reserve": 7,
        "free": 131_726,
    }
    assert memory.process_bytes == 11_976_835_072
    assert memory.explained == pytest.approx(0.9915, abs=0.0001)


def test_fill_and_growth(target: Target) -> None:
    kv, growth = target.memory.kv, target.memory.growth
    assert kv.bytes_per_token == (32 + 5) * 8 * 128 * 2 * 2
    assert (kv.reserved_bytes, kv.fill_tokens, kv.fill_max_tokens) == (5920 * MIB, 1230, 1531)
    assert growth is not None
    assert growth.own
    assert growth.bytes == 60 * MIB


def test_power_and_energy(target: Target) -> None:
    (use,) = target.gpus
    gpu, energy = use.gpu, target.energy
    assert (use.how, gpu.reasons_known, gpu.limits) == ("processes", True, ())
    assert gpu.power_w == pytest.approx(223.5, abs=0.1)
    assert gpu.sm_clock_mhz == 1980
    assert energy is not None
    assert not energy.counted
    assert energy.accepted is None
    assert energy.decode_j == pytest.approx(522, abs=1)
    # /slots was read for a part of the run: what the rest of its energy went to is not known.
    assert (energy.tokens, energy.j_per_token) == (6500, None)


def test_totals_of_a_log_without_cycles_are_those_of_its_requests(target: Target) -> None:
    totals = target.totals
    assert (totals.evidence, totals.generated, totals.cycles) == ("counted", 7100, None)
    assert totals.tau == pytest.approx(7.2, abs=0.1)
    assert target.slots[0].tau is None
