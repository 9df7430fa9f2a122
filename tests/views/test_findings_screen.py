"""What the Findings screen lists, says of the chosen row, and does on its keys."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import facts
import pytest
from feeds import HIDDEN_MIN_P, StillFeed
from screens import painted, rows, running, text

from specscope.findings.diagnosis import Outcome
from specscope.findings.registry import rule_by
from specscope.settings import Settings
from specscope.views.app import SpecscopeApp

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.pilot import Pilot

    from specscope.findings.diagnosis import State
    from specscope.findings.rule import Finding

SIZES = [(80, 24), (120, 40), (200, 60)]
RULES = (
    "speculation_off",
    "draft_width_clamped",
    "synthetic_acceptance",
    "hidden_min_p",
    "power_limited",
    "host_argmax",
    "host_sampling_dominates",
    "full_vocabulary_sort",
    "sync_stalls",
)
"""The rules that look here: a few, so that the pictures stay as they are when there are more."""

SAYS = {"collecting": "50 traced turns (12 so far)", "inapplicable": "no GPU seen", "failed": "KeyError: 'x'"}

MIN_P = replace(HIDDEN_MIN_P, since=facts.T0 + 5, link="https://example.org/min_p")
SORTED = replace(
    HIDDEN_MIN_P,
    code="SPC503",
    name="full_vocabulary_sort",
    summary="sampling works on all 49,152 tokens of the vocabulary at each verified position",
    evidence=(("sampling", "top_k 0"), ("each sampled token", "5.77 ms, 117 ns an entry (11 is usual)")),
    advice="set --top-k 40 (or what the model card names) or --min-p above 0, on the server or in the requests",
    cost_ms=36.7,
    since=facts.T0 + 9,
)
OF_SLOT = replace(SORTED, subject="t0 slot 2", cost_ms=None, cost_tok_per_s=12.5)


def outcome(name: str, state: State) -> Outcome:
    rule = rule_by(name)
    assert rule is not None
    return Outcome(rule, "t0", state, SAYS.get(state, ""))


def feed(findings: Sequence[Finding] = (SORTED, MIN_P), **states: State) -> StillFeed:
    """A server of which the rules say this; those not named found nothing."""
    fed = StillFeed(facts.exact(), findings)
    found = dict.fromkeys((f.name for f in findings), "found")
    known = {name: states.get(name, found.get(name, "nothing")) for name in RULES}
    fed.outcomes = tuple(outcome(name, state) for name, state in known.items())
    return fed


def some() -> StillFeed:
    """Two findings, a rule that waits, one that does not apply and one that broke."""
    return feed(host_sampling_dominates="collecting", power_limited="inapplicable", sync_stalls="failed")


async def sixth(pilot: Pilot[None]) -> str:
    """Show the Findings screen."""
    await pilot.press("6")
    await painted(pilot)
    return text(pilot)


def listed(pilot: Pilot[None]) -> list[str]:
    """The rows of the list, below its heading."""
    shown = [row[: row.find("  ─ SPC") if "  ─ SPC" in row else None] for row in rows(pilot)]
    ends = next(i for i, row in enumerate(shown) if re.search(r"\d+ rules: ", row))
    return [row for row in shown[2:ends] if row.strip()]


def details(pilot: Pilot[None]) -> str:
    """What is said of the chosen row, as one text."""
    shown = rows(pilot)
    wide = "  ─ SPC" in shown[1]
    at = shown[1].index("  ─ SPC") if wide else 0
    first = 1 if wide else next(i for i, row in enumerate(shown) if row.startswith("─ SPC"))
    return " ".join(" ".join(row[at:] for row in shown[first:-1]).split())


@pytest.mark.parametrize("size", SIZES)
async def test_every_size_shows_what_matters(size: tuple[int, int]) -> None:
    async with running(some(), size=size) as pilot:
        await sixth(pilot)
        for words in ("! warning", "SPC503 full_vocabulary_sort", "20:26:49", "36.7 ms a cycle"):
            assert words in listed(pilot)[0], words
        assert "SPC201 hidden_min_p" in listed(pilot)[1]
        looked = "looked and found nothing" if size[0] > 100 else "nothing"
        assert (
            f"{len(RULES)} rules: 2 found something, {len(RULES) - 5} {looked}, 1 waits, 1 does not apply, 1 FAILED"
        ) in text(pilot)
        said = details(pilot)
        for words in (
            "─ SPC503 full_vocabulary_sort warning",
            SORTED.summary,
            f"to do {SORTED.advice}",
            "evidence sampling top_k 0 each sampled token 5.77 ms, 117 ns an entry (11 is usual)",
            "costs 36.7 ms a cycle",
        ):
            assert words in said, words


async def test_the_rules_without_a_finding_follow() -> None:
    async with running(some()) as pilot:
        await sixth(pilot)
        assert "✖ FAILED" in listed(pilot)[2]
        assert "sync_stalls" in listed(pilot)[2]
        assert "KeyError: 'x'" in listed(pilot)[2]
        assert "… waits" in listed(pilot)[3]
        assert "needs 50 traced turns" in listed(pilot)[3]
        assert "– not here" in listed(pilot)[4]
        assert "no GPU seen" in listed(pilot)[4]
        assert "✓ nothing" in listed(pilot)[5]


async def test_keys_choose_a_row() -> None:
    async with running(some()) as pilot:
        await sixth(pilot)
        chosen = [0]
        for key in ("j", "down", "J", "k", "up", "end", "down", "home", "K"):
            await pilot.press(key)
            await painted(pilot)
            chosen += [i for i, row in enumerate(listed(pilot)) if row.startswith(">")]
        last = len(RULES) - 1
        assert chosen == [0, 1, 2, 3, 2, 1, last, last, 0, 0]


async def test_what_waits_and_what_broke_is_said_in_full() -> None:
    async with running(some()) as pilot:
        await sixth(pilot)
        await pilot.press("j", "j")
        await painted(pilot)
        assert "The rule FAILED, which is a defect of specscope: KeyError: 'x'" in details(pilot)
        await pilot.press("j")
        await painted(pilot)
        assert "The rule waits: it needs 50 traced turns (12 so far). The host samples for so long" in details(pilot)
        await pilot.press("j")
        await painted(pilot)
        assert "The rule does not apply here: no GPU seen. The GPU is at its power limit" in details(pilot)
        await pilot.press("j")
        await painted(pilot)
        assert "The rule looked and found nothing." in details(pilot)


async def test_a_finding_that_is_held_says_what_its_rule_waits_for() -> None:
    fed = feed((SORTED,))
    fed.outcomes = tuple(replace(o, says="50 turns") if o.state == "found" else o for o in fed.outcomes)
    async with running(fed) as pilot:
        await sixth(pilot)
        assert "note it now needs 50 turns; until then the finding stays as it was last seen" in details(pilot)


async def test_the_rule_is_explained_below_and_read_on_by_pages() -> None:
    async with running(some(), size=(80, 24)) as pilot:
        await sixth(pilot)
        await pilot.press("j")
        await painted(pilot)
        assert "see https://example.org/min_p" in details(pilot)
        read = details(pilot)
        assert "rows 1-12 of " in read
        for _ in range(4):
            await pilot.press("pagedown")
            await painted(pilot)
            read += details(pilot)
        for words in ("Looks at: the effective min_p", "Why it matters", "What to do: send", "who recommends what."):
            assert words in read, words
        await pilot.press("pageup", "pageup", "pageup", "pageup", "pageup")
        await painted(pilot)
        assert "rows 1-12 of " in details(pilot)


async def test_another_row_is_read_from_its_beginning() -> None:
    async with running(some(), size=(80, 24)) as pilot:
        await sixth(pilot)
        await pilot.press("pagedown", "j")
        await painted(pilot)
        assert "rows 1-12 of " in details(pilot)


async def test_the_chosen_row_stays_chosen_while_others_come_and_go() -> None:
    fed = some()
    async with running(fed) as pilot:
        await sixth(pilot)
        await pilot.press("j")
        await painted(pilot)
        fed.found = (OF_SLOT, *fed.found)
        await painted(pilot)
        assert listed(pilot)[2].startswith(">")
        assert "SPC201" in listed(pilot)[2]
        fed.found = (MIN_P,)
        await painted(pilot)
        assert listed(pilot)[0].startswith(">")
        fed.found = ()
        await painted(pilot)
        assert sum(row.startswith(">") for row in listed(pilot)) == 1


async def test_a_long_list_moves_with_the_chosen_row() -> None:
    many = [replace(SORTED, subject=f"t0 slot {i:02}", since=None) for i in range(30)]
    async with running(feed(many), size=(80, 24)) as pilot:
        await sixth(pilot)
        assert "slot 00" in listed(pilot)[0]
        assert " 9 rules: 1 found something, 8 nothing; rows 1-7 of 38 " in text(pilot)
        await pilot.press(*["j"] * 20)
        await painted(pilot)
        assert any(row.startswith(">") and "slot 20" in row for row in listed(pilot))
        await pilot.press("end")
        await painted(pilot)
        assert listed(pilot)[-1].startswith(">")


async def test_a_part_of_the_server_and_a_loss_of_speed() -> None:
    async with running(feed([OF_SLOT])) as pilot:
        await sixth(pilot)
        assert "full_vocabulary_sort slot 2 " in listed(pilot)[0]
        assert "12.5 tok/s" in listed(pilot)[0]
        assert "warning, slot 2, since 20:26:49" in details(pilot)


async def test_it_is_about_the_server_shown_and_says_where_others_are() -> None:
    fed = StillFeed(facts.two_targets(), [MIN_P, replace(SORTED, target="t1", subject="t1")])
    async with running(fed) as pilot:
        await sixth(pilot)
        assert "hidden_min_p" in listed(pilot)[0]
        assert len(listed(pilot)) == 1
        assert "; 1 found about other servers: [ ]" in text(pilot)
        await pilot.press("]")
        await painted(pilot)
        assert "full_vocabulary_sort" in listed(pilot)[0]


async def test_without_a_server_or_a_rule_it_says_so() -> None:
    async with running(StillFeed([]), size=(80, 24)) as pilot:
        assert "no server seen yet" in await sixth(pilot)
        await pilot.press("j", "pagedown", "end")
        await painted(pilot)
    async with running(StillFeed(facts.exact()), size=(80, 24)) as pilot:
        assert " none" in await sixth(pilot)


@pytest.mark.parametrize("size", SIZES)
async def test_nothing_of_it_is_cut(size: tuple[int, int]) -> None:
    async with running(some(), size=size) as pilot:
        await sixth(pilot)
        for _ in range(5):
            assert "…" not in details(pilot)
            await pilot.press("j")
            await painted(pilot)


@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
def test_findings(size: tuple[int, int], snap_compare: Callable[..., bool]) -> None:
    async def shown(pilot: Pilot[None]) -> None:
        await sixth(pilot)

    assert snap_compare(SpecscopeApp(some(), Settings()), terminal_size=size, run_before=shown)


@pytest.mark.parametrize("settings", [Settings(ascii=True), Settings(no_color=True)], ids=["ascii", "no_color"])
def test_poor_terminals(settings: Settings, snap_compare: Callable[..., bool]) -> None:
    async def second(pilot: Pilot[None]) -> None:
        await sixth(pilot)
        await pilot.press("j")
        await painted(pilot)

    assert snap_compare(SpecscopeApp(some(), settings), terminal_size=(120, 40), run_before=second)
