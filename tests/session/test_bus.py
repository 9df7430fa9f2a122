"""Backend path from the traffic on the bus: the readings of an H200 (b11434, vocabulary 49,152, width 4,096)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest

from specscope.session.bus import MIN_READINGS

if TYPE_CHECKING:
    from specscope import events as ev
    from specscope.session.turn_state import BackendPath

PID = 4242


def path(to_host_mb_s: float, *, cycles: bool, readings: int = 12, types: str = "draft-dflash") -> BackendPath:
    """Ten seconds of decoding: 75 cycles a second of width 15, or 297 plain steps, with this much traffic."""
    facts: list[ev.Event] = [
        b.found(pid=PID),
        b.server("ready"),
        b.model(n_vocab=49_152, n_embd=4096, n_layer=32),
        *([b.model("drafter", n_embd=4096)] if cycles else []),
        b.gpu(minor=0),
        b.gpu_memory(0.4, pids=[(PID, None)]),
        b.busy(0.5, decoded=1, speculative=cycles, params={"speculative.types": types}),
    ]
    last = 0.5
    for i in range(1, readings + 1):
        at = 0.5 + 10 * i / readings
        while cycles and last + 1 / 75 <= at:
            last += 1 / 75
            facts.append(b.cycle(last, 15, 5))
        if not cycles:
            facts.append(b.step(at, 1 + round(297 * (at - 0.5))))
        facts += [b.gpu_now(at, 300.0), b.gpu_link(at, to_host_bytes_per_s=round(to_host_mb_s * 1e6))]
    return b.seen(*facts).backend_path


def test_plain_decoding_sends_a_row_of_logits_for_each_token() -> None:
    told = path(69.0, cycles=False, types="none")
    assert (told.target, told.evidence) == ("host", "estimated")
    assert "PCIe" in told.target_why


@pytest.mark.parametrize("mb_s", [350.0, 400.0, 450.0])
def test_a_drafter_whose_choice_stays_on_the_device(mb_s: float) -> None:
    told = path(mb_s, cycles=True)
    assert (told.draft, told.target, told.evidence) == ("device", "host", "estimated")


@pytest.mark.parametrize("mb_s", [590.0, 625.0, 657.0])
def test_argmax_on_the_host_sends_the_drafters_logits_too(mb_s: float) -> None:
    told = path(mb_s, cycles=True)
    assert (told.draft, told.target) == ("host", "host")
    assert "drafter's logits" in told.draft_why


def test_between_the_two_nothing_is_said() -> None:
    assert path(500.0, cycles=True).draft == "unknown"


def test_few_readings_tell_nothing() -> None:
    assert path(69.0, cycles=False, readings=MIN_READINGS - 1, types="none").target == "unknown"


def test_what_the_log_says_goes_before_the_bus() -> None:
    said = b.said("backend_offload_failed", seq_id="0")
    assert b.seen(b.found(pid=PID), said).backend_path.draft == "host"
