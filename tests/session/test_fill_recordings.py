"""An H200 with a context of 106,496 tokens filled step by step (scripts/long/memory_on_a_gpu.py), replayed."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

import pytest
from replayed import recording, replayed

from specscope.events import RequestLaunched
from specscope.session.fold import Fold

if TYPE_CHECKING:
    from specscope.session.state import Target

MIB = 1 << 20
ALLOWED = 0.02
"""Of the process's memory by the driver, the map may miss so much."""


def before_requests(name: str) -> Target:
    """The watched server up to its first request."""
    fold = Fold()
    for fact in takewhile(lambda fact: not isinstance(fact, RequestLaunched), recording(name).events()):
        fold.apply(fact)
    return fold.view().targets[0]


def at_end(name: str) -> Target:
    """The watched server at the recording's end."""
    return replayed(name).targets[0]


@pytest.mark.parametrize(
    ("name", "before_mib", "after_mib", "kv_mib"),
    [("h200_fill_plain", 17_674, 17_686, 14_336), ("h200_fill_dflash", 20_554, 20_614, 14_336 + 2_240)],
)
def test_the_map_explains_the_process_before_and_after(name: str, before_mib: int, after_mib: int, kv_mib: int) -> None:
    before, after = before_requests(name), at_end(name)
    for target, process_mib in ((before, before_mib), (after, after_mib)):
        memory = target.memory.device
        assert memory is not None
        assert memory.process_bytes == process_mib * MIB
        assert memory.explained is not None
        assert 1 - ALLOWED < memory.explained < 1
        assert target.memory.kv.reserved_bytes == kv_mib * MIB
    assert after.memory.kv.fill_max_tokens == 106_495


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("h200_fill_plain", {1_024: 358.2, 8_192: 307.8, 32_768: 215.5, 65_536: 158.6, 131_072: 113.3}),
        ("h200_fill_dflash", {65_536: 457.0, 131_072: 406.3}),
    ],
)
def test_speed_by_depth_is_the_servers_own(name: str, told: dict[int, float]) -> None:
    rows = {row.to_tokens: row.tok_s for row in at_end(name).by_depth}
    assert rows == pytest.approx(told, rel=0.03)


@pytest.mark.parametrize(("name", "smi_j"), [("h200_fill_plain", 3.116), ("h200_fill_dflash", 0.608)])
def test_energy_is_near_what_nvidia_smi_gives(name: str, smi_j: float) -> None:
    energy = at_end(name).energy
    assert energy is not None
    assert energy.tokens == 5 * 256
    assert energy.j_per_token == pytest.approx(smi_j, rel=0.08)
