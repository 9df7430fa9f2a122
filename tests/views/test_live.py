"""What the Live screen says in each situation."""

from __future__ import annotations

import re
from dataclasses import replace

import facts
import pytest
from feeds import CLAMPED, HIDDEN_MIN_P, StillFeed
from screens import painted, rows, running, text

from specscope import events as ev

SIZES = [(80, 24), (120, 40), (200, 60)]


@pytest.mark.parametrize("size", SIZES)
async def test_every_size_shows_what_matters(size: tuple[int, int]) -> None:
    async with running(StillFeed(facts.exact(), [HIDDEN_MIN_P]), size=size) as pilot:
        shown = text(pilot)
        for words in ("127.0.0.1:8080", "READY", "dflash n_max 15 of block 16", "117.0=", "cycles 240 = server 240"):
            assert words in shown
        for panel in ("─ cycles", "─ slots", "─ requests", "─ findings", "hidden_min_p", "--min-p 0"):
            assert panel in shown
        assert "41,421 of 262,144 (16 %)" in shown


async def test_exact_is_said_only_while_counts_agree() -> None:
    async with running(StillFeed(facts.exact())) as pilot:
        assert rows(pilot)[5].startswith(" exact: cycles 240 = server 240")
    async with running(StillFeed(facts.parted())) as pilot:
        assert "NOT EXACT: cycles 180 ≠ server 222, drafted 2,532 ≠ server 3,162" in rows(pilot)[5]
        assert "=" not in rows(pilot)[2]
    async with running(StillFeed(facts.two_slots())) as pilot:
        assert "not yet confirmed: waiting for all slots to be idle once" in text(pilot)
        assert "205.0·" in rows(pilot)[2]


async def test_lines_missed_make_it_inexact_again() -> None:
    feed = StillFeed(facts.exact())
    async with running(feed) as pilot:
        feed.tell([ev.EventsMissed(at=feed.now, source="log", count=3, reason="unreadable")])
        await painted(pilot)
        assert "not yet confirmed: 3 missed since cycles 240 = server 240" in rows(pilot)[5]
        assert "exact:" not in rows(pilot)[5]
        assert "3 missed" in text(pilot).split("─ sources", 1)[1]


async def test_down_is_loud_and_figures_are_of_the_past() -> None:
    feed = StillFeed(facts.exact())
    async with running(feed) as pilot:
        feed.tell([ev.ServerChanged(at=feed.now, state="down", detail="connection refused")])
        feed.now += 14
        await painted(pilot)
        assert " DOWN 14 s " in rows(pilot)[0]
        assert "DOWN since 20:27:08: nothing answers (connection refused)" in rows(pilot)[5]
        assert rows(pilot)[1].startswith(" no step 14 s")
        assert rows(pilot)[2].startswith(" before that ")
        assert "as last seen" in text(pilot)
        feed.tell([ev.ServerChanged(at=feed.now + 1, state="ready")])
        await painted(pilot)
        assert "READY" in rows(pilot)[0]
        assert "DOWN" not in text(pilot)


@pytest.mark.parametrize(
    ("state", "word"),
    [
        ("loading", "LOADING 2 s"),
        ("needs_key", "NEEDS KEY 2 s"),
        ("hung", "HUNG 2 s"),
        ("sleeping", "SLEEPING 2 s"),
        ("router", "ROUTER 2 s"),
    ],
)
async def test_states_are_words(state: ev.ServerState, word: str) -> None:
    feed = StillFeed([*facts.found(), ev.ServerChanged(at=facts.T0 + 1, state=state)], now=facts.T0 + 3)
    async with running(feed, size=(80, 24)) as pilot:
        assert f" {word} " in rows(pilot)[0]


async def test_a_restart_is_told_and_drawn() -> None:
    async with running(StillFeed(facts.restarted())) as pilot:
        assert "restarted 3 s ago, epoch 2" in rows(pilot)[0]
        assert "┃restart" in text(pilot)
        assert "since 20:27:17" in rows(pilot)[3]


async def test_idle_says_for_how_long() -> None:
    feed = StillFeed(facts.polled())
    feed.now += 12
    async with running(feed) as pilot:
        assert rows(pilot)[1].startswith(" idle 12 s ")
        assert rows(pilot)[2].startswith(" before that ")


async def test_a_busy_slot_without_steps_is_told() -> None:
    feed = StillFeed(facts.exact())
    feed.now += 9
    async with running(feed) as pilot:
        assert rows(pilot)[1].startswith(" no step 9 s ")
        assert rows(pilot)[2].startswith(" before that ")


async def test_polled_cycles_have_no_width() -> None:
    async with running(StillFeed(facts.polled())) as pilot:
        shown = text(pilot)
        assert "polled 107 of 110 cycles (97.3 %), 1.5 polls a cycle" in shown
        assert "118.6°" in rows(pilot)[2]
        assert "width not seen" in shown
        assert "rejected" not in shown
        assert "—" in rows(pilot)[2]
        assert "53.3 %+" in rows(pilot)[3]


async def test_small_screens_say_how_the_figures_are_known_and_what_the_bars_mean() -> None:
    async with running(StillFeed(facts.exact(), [HIDDEN_MIN_P]), size=(80, 24)) as pilot:
        assert "dflash n_max 15 of block 16 │ evidence: cycles" in rows(pilot)[0]
        assert rows(pilot)[5].rstrip() == " exact: cycles 240 = server 240, 70 since then not yet compared"
    async with running(StillFeed(facts.polled()), size=(80, 24), ascii=True) as pilot:
        assert ". width not seen" in text(pilot)
        assert "''" not in text(pilot)


async def test_long_sentences_and_advice_take_a_second_row() -> None:
    advice = "start the server with a longer list of flags than one row of this screen can show, and ask it again"
    feed = StillFeed(facts.polled(ended=False), [replace(CLAMPED, advice=advice)])
    async with running(feed, size=(80, 24)) as pilot:
        sentence = " ".join(row.strip() for row in rows(pilot)[5:7])
        assert sentence.endswith("not known yet: the counters are read when the slots are idle, 1.5 polls a cycle")
        assert f"> {advice}" in " ".join(" ".join(rows(pilot)).split())


async def test_a_prefill_keeps_the_label_of_the_figures() -> None:
    feed = StillFeed(facts.polled())
    async with running(feed) as pilot:
        feed.tell([ev.SlotChanged(at=feed.now, slot=0, busy=True, task=6, fill_tokens=64, decoded=0)])
        await painted(pilot)
        assert rows(pilot)[1].startswith(" now prefill ")
        assert rows(pilot)[2].startswith(" last 10 s ")


async def test_few_steps_have_no_median() -> None:
    load = facts.Load()
    few = [*facts.found(), *facts.sources(), *load.begin(facts.T0 + 1, 0, 5), *load.cycles(facts.T0 + 1.4, 0, 5, 4)]
    feed = StillFeed(few)
    async with running(feed) as pilot:
        assert "(" not in rows(pilot)[2]
        feed.tell(load.cycles(feed.now, 0, 5, 20))
        await painted(pilot)
        assert "(" in rows(pilot)[2]


async def test_a_running_request_shows_only_what_is_known_of_it() -> None:
    slot = ev.SlotChanged(at=facts.T0 + 1, slot=0, n_ctx=8192, busy=True, task=6, processed_tokens=0, decoded=0)
    async with running(StillFeed([*facts.found(), *facts.sources(), slot])) as pilot:
        assert next(row for row in rows(pilot) if "running" in row).split()[3] == "—"
    async with running(StillFeed(facts.exact())) as pilot:
        assert "310 ms~" in next(row for row in rows(pilot) if "running" in row)
        assert "310 ms~" not in next(row for row in rows(pilot) if "finished" in row)


async def test_a_source_without_a_tier_has_not_failed() -> None:
    gives = ev.SourceAttached(at=facts.T0, target="t0", source="process", tier="none", detail="pid 4242")
    async with running(StillFeed([*facts.exact(), gives])) as pilot:
        assert "─ sources ── gives ─" in text(pilot)
        assert any(row.split()[:3] == ["●", "process", "info"] for row in rows(pilot))


async def test_polled_before_the_first_count() -> None:
    async with running(StillFeed(facts.polled(ended=False))) as pilot:
        assert "how many were missed is not known yet" in text(pilot)


async def test_no_speculation_invents_no_fields() -> None:
    async with running(StillFeed(facts.plain())) as pilot:
        shown = text(pilot)
        assert "no speculation (by slots)" in shown
        assert "62.5°" in shown
        for word in ("acceptance ", "tau_draft", "─ cycles", "survival"):
            assert word not in shown.replace("tau acceptance stop", "")


async def test_two_slots_have_a_tape_each_or_one_that_names_them() -> None:
    async with running(StillFeed(facts.two_slots())) as pilot:
        assert "slot 0, last 90; slot 1, last 77" in text(pilot)
        assert any(row.startswith(" s1 └") for row in rows(pilot))
        await pilot.resize_terminal(80, 20)
        await painted(pilot)
        assert "slots 0, 1 mixed" in text(pilot)
        assert any(row.startswith("  0 └") and "0101" in row for row in rows(pilot))


async def test_findings_come_and_go() -> None:
    feed = StillFeed(facts.exact())
    async with running(feed) as pilot:
        assert "─ findings" not in text(pilot)
        feed.found = (CLAMPED, HIDDEN_MIN_P)
        await painted(pilot)
        assert "─ findings 1 warning, 1 info" in text(pilot)
        shown = text(pilot)
        assert shown.index("SPC201") < shown.index("SPC103")
        feed.found = ()
        await painted(pilot)
        assert "─ findings" not in text(pilot)


@pytest.mark.parametrize("width", [80, 100, 120, 200])
async def test_a_finding_is_told_whole(width: int) -> None:
    summary = "sampling works on all 49,152 tokens of the vocabulary at each verified position"
    finding = replace(HIDDEN_MIN_P, name="full_vocabulary_sort", summary=summary, cost_ms=36.7)
    async with running(StillFeed(facts.exact(), [finding]), size=(width, 40)) as pilot:
        below = " ".join(text(pilot).split("─ findings", 1)[1].split())
        assert f"SPC201 full_vocabulary_sort 36.7 ms a cycle {summary} > {finding.advice}" in below


async def test_a_low_screen_tells_the_worst_finding_whole() -> None:
    summary = "even the first drafted token is accepted only 0.2% of the time: the drafter does not match"
    advice = "use the drafter made for this model (--spec-draft-model), with its chat template and thinking mode"
    mismatch = replace(CLAMPED, code="SPC118", name="drafter_mismatch", severity="warning", summary=summary)
    for feed in (facts.exact(), facts.two_slots()):
        found = [replace(mismatch, advice=advice), CLAMPED]
        async with running(StillFeed(feed, found), size=(80, 24)) as pilot:
            below = " ".join(text(pilot).split("─ findings", 1)[1].split())
            assert f"SPC118 drafter_mismatch {summary} > {advice}" in below
            assert "─ requests" in text(pilot)
            assert "─ slots" in text(pilot)


async def test_where_a_finding_is_cut_its_figures_are_kept_and_some_of_its_advice() -> None:
    summary = "a figure at the end of a long sentence that takes two rows of a narrow screen is still told: 42 ms"
    found = replace(CLAMPED, summary=summary, advice="change " + "a flag and " * 30)
    async with running(StillFeed(facts.exact(), [found]), size=(80, 24)) as pilot:
        below = " ".join(text(pilot).split("─ findings", 1)[1].split())
        assert summary in below
        assert "> change a flag" in below


async def test_a_busy_slot_says_what_its_figure_counts() -> None:
    def slot(decoded: int) -> ev.SlotChanged:
        return ev.SlotChanged(at=facts.T0 + 1, slot=0, n_ctx=65536, busy=True, task=6, fill_tokens=64, decoded=decoded)

    for decoded, words in ((522, " 0 busy 522 tok  task 6"), (12345, " 0 12,345 tok    task 6")):
        async with running(StillFeed([*facts.found(), *facts.sources(), slot(decoded)])) as pilot:
            assert any(row.startswith(words) for row in rows(pilot))


async def test_findings_of_parts_and_of_other_servers_are_told_apart() -> None:
    of_slot = replace(CLAMPED, subject="t0 slot 2")
    elsewhere = replace(HIDDEN_MIN_P, target="t1", subject="t1")
    async with running(StillFeed(facts.two_targets(), [of_slot, elsewhere])) as pilot:
        assert "draft_width_clamped slot 2 " in text(pilot)
        assert "hidden_min_p server t1 " in text(pilot)


async def test_findings_that_do_not_fit_are_counted_with_the_key_that_lists_them() -> None:
    many = [replace(CLAMPED, subject=f"t0 slot {i}") for i in range(12)]
    async with running(StillFeed(facts.exact(), many), size=(80, 24)) as pilot:
        assert re.search("─ findings 12 info, (9|10|11) more not shown: key 6 lists all ─", text(pilot))


async def test_a_feed_that_fails_leaves_the_screen() -> None:
    async with running(StillFeed(facts.exact(), fails="pipe closed")) as pilot:
        assert "WATCH FAILED: ConnectionError: pipe closed" in rows(pilot)[0]
        assert "117.0" in text(pilot)


async def test_a_fold_that_fails_leaves_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = StillFeed(facts.exact())
    async with running(feed) as pilot:
        monkeypatch.setattr(feed, "diagnosis", lambda: 1 // 0)
        await painted(pilot)
        assert "WATCH FAILED: ZeroDivisionError" in rows(pilot)[0]


async def test_nothing_seen_yet() -> None:
    async with running(StillFeed([]), size=(80, 24)) as pilot:
        assert "looking for a server" in rows(pilot)[0]
        assert " 0" not in rows(pilot)[1]


async def test_unknown_is_a_dash_never_a_zero() -> None:
    async with running(StillFeed([*facts.found(), *facts.sources(traced=False)])) as pilot:
        assert "—" in rows(pilot)[2]
        assert not any(digit in rows(pilot)[2][14:].replace("15 of 16", "") for digit in "0123456789")


async def test_texts_from_outside_cannot_steer_the_terminal() -> None:
    feed = StillFeed([*facts.exact(), ev.PropsRead(at=facts.T0 + 50, model_alias="evil\x1b[2Jmodel\u202e\n")])
    async with running(feed) as pilot:
        assert "evil?[2Jmodel??" in rows(pilot)[0]


async def test_ascii_is_ascii_on_every_screen() -> None:
    async with running(StillFeed(facts.exact(), [HIDDEN_MIN_P]), ascii=True) as pilot:
        assert text(pilot).isascii()
        assert "117.0=" in text(pilot)
        assert "# accepted" in text(pilot)
        for keys in (["question_mark"], ["escape", "2"], ["slash"], ["escape", "ctrl+p"]):
            await pilot.press(*keys)
            await pilot.pause(0.1)
            assert text(pilot).isascii(), keys


async def test_without_colour_no_colour_is_sent() -> None:
    async with running(StillFeed(facts.parted(), [HIDDEN_MIN_P]), no_color=True) as pilot:
        for keys in (["t"], ["question_mark"], ["escape", "2"], ["m"], ["escape", "ctrl+p"]):
            await pilot.press(*keys)
            await pilot.pause(0.1)
            styles = [s.style for strip in pilot.app.screen._compositor.render_strips() for s in strip if s.style]
            assert all(style.color is None and style.bgcolor is None for style in styles), keys


@pytest.mark.parametrize("size", [(20, 5), (40, 12), (80, 24), (101, 30), (120, 40), (200, 60), (300, 90)])
async def test_any_size_is_drawn(size: tuple[int, int]) -> None:
    async with running(StillFeed(facts.exact(), [HIDDEN_MIN_P, CLAMPED]), size=(120, 40)) as pilot:
        await pilot.resize_terminal(*size)
        await painted(pilot)
        shown = rows(pilot)
        assert len(shown) == size[1]
        assert all(len(row) == size[0] for row in shown)
        assert "READY" in shown[0]


async def test_only_panels_whose_picture_changed_are_painted(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = StillFeed(facts.exact(), [HIDDEN_MIN_P])
    async with running(feed) as pilot:
        painted_again: list[str] = []
        monkeypatch.setattr(
            "specscope.views.widgets.panel.Panel.refresh",
            lambda self, *_, **__: painted_again.append(type(self).__name__),
        )
        pilot.app.paint()
        assert painted_again == []
        feed.tell(facts.Load(8).cycles(feed.now, 0, 900, 1))
        pilot.app.paint()
        assert {"Tape", "Verdict"} <= set(painted_again)
        assert not {"Findings", "Keys", "Sources"} & set(painted_again)
