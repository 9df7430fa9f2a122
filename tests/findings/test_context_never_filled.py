"""SPC404: the context is far larger than anything it held."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from judged import evidence, found, look, said
from replayed import recording

from specscope.events import PropsRead, SlotChanged, SlotStepped
from specscope.findings.memory.context_never_filled import RULE
from specscope.findings.rule import Collecting

if TYPE_CHECKING:
    from specscope import events as ev

HOUR = 3600.0
CACHE = [b.said("n_slots", n_slots="1", n_ctx_slot="262144", kv_unified="false")]
RESERVED = [
    b.ev.BufferLogged(at=b.T0, device="CUDA0", kind="KV", bytes=1 << 30, model="target"),
]


def requests(most: int = 9_000, count: int = 20, n_ctx: int = 262_144) -> list[ev.Event]:
    told: list[ev.Event] = [b.idle(0.1, task=None, n_ctx=n_ctx)]
    for i in range(count):
        at = 10.0 * (i + 1)
        told += [b.busy(at, task=i, decoded=1, fill_tokens=most - 10), b.idle(at + 5, task=i, fill_tokens=most)]
    return told


def test_a_context_of_which_a_thirtieth_is_used() -> None:
    finding = found(RULE, *RESERVED, *requests(), b.mark("", 1.5 * HOUR))
    assert finding.severity == "info"
    assert finding.summary == "the context is 29 times as large as anything it held"
    assert evidence(finding) == {
        "the most in a slot": "9,000 of 262,144 tokens (3.4%)",
        "seen for": "1.5 h",
        "cache never used": "989 MiB",
    }
    assert "--ctx-size 18432" in finding.advice


def test_the_servers_own_mark_is_of_its_whole_life() -> None:
    process = b.ev.ProcessSeen(at=b.T0, pid=1, argv=["llama-server", "-c", "262144"], started=b.T0 - 5 * HOUR)
    counted = b.counters(1.0, 0, 0, 0, tokens_max=9_000, generated=50_000)
    finding = found(RULE, process, *RESERVED, *requests(count=1), counted)
    assert evidence(finding)["seen for"] == "5.0 h"
    assert "-c 18432" in finding.advice
    more = b.counters(1.0, 0, 0, 0, tokens_max=60_000, generated=50_000)
    assert look(RULE, process, *RESERVED, *requests(count=1), more) == ()


@pytest.mark.parametrize("most", [30_000, 60_000])
def test_what_is_used_enough(most: int) -> None:
    seen = look(RULE, *RESERVED, *requests(most), b.mark("", 2 * HOUR))
    assert seen == ()


def test_once_raised_it_stays_until_clearly_more_is_used() -> None:
    facts = [*RESERVED, *requests(30_000), b.mark("", 2 * HOUR)]
    assert found(RULE, *facts, raised=["t0"])
    assert look(RULE, *RESERVED, *requests(40_000), b.mark("", 2 * HOUR), raised=["t0"]) == ()


def test_a_cache_that_is_small_is_not_worth_a_word() -> None:
    small = [b.ev.BufferLogged(at=b.T0, device="CUDA0", kind="KV", bytes=200 << 20, model="target")]
    assert (
        said(look(RULE, *small, *requests(), b.mark("", 2 * HOUR)))
        == "does not apply: the whole KV cache takes less than 256 MiB"
    )


def test_too_little_is_seen() -> None:
    needs = Collecting("an hour of work, with 20 requests or 10,000 tokens")
    assert look(RULE, *RESERVED, *requests(), b.mark("", 0.9 * HOUR)) == needs
    assert look(RULE, *RESERVED, *requests(count=19), b.mark("", 2 * HOUR)) == needs
    assert (
        said(look(RULE, b.idle(0.1, task=None, n_ctx=262_144), b.mark("", 2 * HOUR)))
        == "waits: an hour of work, with 20 requests or 10,000 tokens"
    )


def test_slots_of_their_own_are_advised_for_all() -> None:
    facts = [b.process("-c 524288 -np 2 --no-kv-unified"), *RESERVED, *requests()]
    facts += [b.idle(0.2, slot=1, task=None, n_ctx=262_144), b.mark("", 2 * HOUR)]
    assert "-c 36864" in found(RULE, *facts).advice


def test_a_recorded_h200_that_was_filled_is_well_used() -> None:
    kept = [f for f in recording("h200_fill_plain").events() if isinstance(f, (SlotChanged, SlotStepped, PropsRead))]
    assert look(RULE, *kept, *requests(count=20, n_ctx=114_688), b.mark("", 2 * HOUR)) == ()
