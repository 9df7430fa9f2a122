"""SPC407: a slot's context is nearly full."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
from judged import evidence, found, look, said

from specscope.findings.memory.context_nearly_full import RULE

if TYPE_CHECKING:
    from specscope import events as ev

SLOT = "t0 slot 0"


def filled(tokens: int, *, slot: int = 0, n_ctx: int = 4096) -> list[ev.Event]:
    return [b.busy(0.5, slot=slot, n_ctx=n_ctx), b.step(1.0, 100, slot=slot, fill_tokens=tokens)]


def test_a_slot_that_is_nearly_full() -> None:
    finding = found(RULE, *filled(3_900), subject=SLOT)
    assert finding.severity == "info"
    assert evidence(finding) == {
        "filled": "3,900 of 4,096 tokens (95.2%)",
        "drafts that still fit": "194 tokens at most",
    }
    assert finding.advice == "raise --ctx-size"


def test_without_speculation_there_are_no_drafts_to_fit() -> None:
    plain = b.idle(0.1, task=None, speculative=False)
    finding = found(RULE, plain, *filled(3_900), subject=SLOT)
    assert set(evidence(finding)) == {"filled"}


def test_an_answer_that_was_cut_off() -> None:
    ended = [b.logged(2.0, generated=196), b.released(2.0, truncated=True), b.idle(2.1, fill_tokens=4_095)]
    finding = found(RULE, b.launched(0.4), *filled(3_900), *ended, subject=SLOT)
    assert finding.severity == "warning"
    assert evidence(finding)["the latest answer"] == "cut off by it after 196 tokens"
    assert "was cut off" in finding.summary


def test_a_shift_made_room() -> None:
    shifted = [b.said("context_shift", 1.1, slot="0", task="1"), b.released(2.0, truncated=True)]
    finding = found(RULE, b.launched(0.4), *filled(3_950), *shifted, subject=SLOT)
    assert finding.severity == "info"


def test_refused_prompts_are_told_beside_it() -> None:
    refused = [b.said("request_too_long", at, tokens="9000", n_ctx="4096") for at in (2.0, 3.0)]
    finding = found(RULE, *filled(3_900), *refused, subject=SLOT)
    assert evidence(finding)["prompts refused as too long"] == "2"


def test_slots_that_have_a_part_each() -> None:
    apart = b.process("-c 8192 -np 2 --no-kv-unified")
    other = b.idle(0.2, slot=1, task=None, n_ctx=4096)
    finding = found(RULE, apart, *filled(3_900), other, subject=SLOT)
    assert finding.advice == "raise -c, --kv-unified to let a slot use what others leave, or fewer slots (-np)"


def test_each_slot_is_judged_by_itself() -> None:
    both = [*filled(3_900), *filled(4_000, slot=1)]
    assert {f.subject for f in look(RULE, *both)} == {"t0 slot 0", "t0 slot 1"}  # type: ignore[union-attr]


def test_what_is_not_nearly_full() -> None:
    assert look(RULE, *filled(3_880)) == ()  # 94.7 %
    assert (
        said(look(RULE, b.busy(0.5), b.step(1.0, 100, fill_tokens=3_900)))
        == "waits: a slot at work, with what lies in it (/slots)"
    )  # of what, nobody tells
    assert said(look(RULE, b.busy(0.5, n_ctx=4096))) == "waits: a slot at work, with what lies in it (/slots)"


def test_what_an_idle_server_holds_from_before_the_watch_is_no_finding() -> None:
    assert (
        said(look(RULE, b.idle(0.1, task=7, n_ctx=4096, fill_tokens=4_000)))
        == "waits: a slot at work, with what lies in it (/slots)"
    )


def test_once_raised_it_stays_until_there_is_room() -> None:
    assert found(RULE, *filled(3_700), raised=[SLOT], subject=SLOT)
    assert look(RULE, *filled(3_600), raised=[SLOT]) == ()
