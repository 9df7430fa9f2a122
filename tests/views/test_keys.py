"""What each key does."""

from __future__ import annotations

import facts
import pytest
from feeds import StillFeed, StillReplay
from screens import painted, rows, running, text

from specscope import events as ev


@pytest.mark.parametrize("key", ["q", "Q", "ctrl+c"])
async def test_quits(key: str) -> None:
    feed = StillFeed(facts.exact())
    async with running(feed) as pilot:
        await pilot.press(key)
        await pilot.pause()
        assert not pilot.app.is_running
    assert feed.closed


@pytest.mark.parametrize("key", ["space", "p", "P"])
async def test_pause_holds_the_picture_while_facts_go_on(key: str) -> None:
    feed = StillFeed(facts.exact())
    async with running(feed) as pilot:
        assert "PAUSED" not in text(pilot)
        await pilot.press(key)
        await painted(pilot)
        held = rows(pilot)[1:-1]
        assert " PAUSED " in rows(pilot)[0]
        feed.tell(facts.Load(8).cycles(feed.now, 0, 900, 10))
        await painted(pilot)
        assert rows(pilot)[1:-1] == held
        assert feed.session().targets[0].totals.cycles == 320
        await pilot.press(key)
        await painted(pilot)
        assert "PAUSED" not in text(pilot)
        assert "of 320" in text(pilot)


async def test_plus_and_minus_change_the_pace_within_its_limits() -> None:
    async with running(StillFeed(facts.exact())) as pilot:
        assert rows(pilot)[-1].rstrip().endswith("3 Hz")
        await pilot.press("plus")
        assert "4 Hz" in text(pilot)
        await pilot.press("plus", "plus", "plus", "plus")
        assert "10 Hz" in text(pilot)
        await pilot.press(*["minus"] * 9)
        assert "1 Hz" in text(pilot)


@pytest.mark.parametrize(
    ("size", "cost", "said"),
    [
        ((80, 24), 0.84, " cost 0.8 %  3 Hz"),
        ((80, 24), 12.4, " cost 12 %  3 Hz"),
        ((120, 40), 0.84, "own cost 0.8 %  3 Hz"),
        ((200, 60), 0.84, "own cost 0.8 % cpu, 3.2 req/s  3 Hz"),
    ],
)
async def test_every_screen_tells_at_its_foot_what_watching_costs(
    size: tuple[int, int], cost: float, said: str
) -> None:
    feed = StillFeed([*facts.exact(), ev.OwnCostSampled(at=facts.T0 + 1, cpu_pct=cost, requests_per_s=3.2)])
    async with running(feed, size=size) as pilot:
        for key in "123456":
            await pilot.press(key)
            await painted(pilot)
            assert rows(pilot)[-1].rstrip().endswith(said)
            assert "? help" in rows(pilot)[-1]


async def test_where_the_foot_is_narrow_the_keys_come_before_what_watching_costs() -> None:
    async with running(StillFeed(facts.exact()), size=(72, 24)) as pilot:
        assert "cost" not in rows(pilot)[-1]
        assert "? help" in rows(pilot)[-1]


async def test_plus_and_minus_change_the_speed_of_a_replay() -> None:
    feed = StillReplay(facts.exact())
    async with running(feed) as pilot:
        assert "replay x1" in rows(pilot)[-1]
        await pilot.press("plus")
        assert feed.speed == 2.0
        await pilot.press("minus", "minus")
        assert feed.speed == 0.5
        feed.at_end = True
        await painted(pilot)
        assert "replay at its end" not in rows(pilot)[0]


@pytest.mark.parametrize("key", ["r", "R"])
async def test_reset_forgets_counts_and_says_so(key: str) -> None:
    feed = StillFeed(facts.exact())
    async with running(feed) as pilot:
        await pilot.press(key)
        await painted(pilot)
        assert feed.resets == 1
        assert "counts start anew" in rows(pilot)[-1]
        assert "since 20:27:08" in text(pilot)


async def test_t_steps_through_the_themes() -> None:
    async with running(StillFeed(facts.exact())) as pilot:
        await pilot.press("t")
        await painted(pilot)
        assert pilot.app.theme == "specscope-light"
        assert "theme specscope-light" in rows(pilot)[-1]
        await pilot.press("t", "T", "t", "t")
        assert pilot.app.theme == "specscope-dark"


@pytest.mark.parametrize("key", ["question_mark", "h", "H"])
async def test_help_explains_keys_marks_and_terms(key: str) -> None:
    async with running(StillFeed(facts.exact()), size=(120, 60)) as pilot:
        await pilot.press(key)
        await pilot.pause()
        shown = text(pilot)
        assert "hold the picture" in shown
        assert "exact: every cycle seen, and equal to the server's own count" in shown
        assert "tokens per step of one slot" in shown
        assert "…" not in "".join(row[20:100] for row in rows(pilot)[2:-2])
        await pilot.press("escape")
        await pilot.pause()
        assert "hold the picture" not in text(pilot)


async def test_help_scrolls_on_a_small_screen() -> None:
    async with running(StillFeed(facts.exact()), size=(80, 24)) as pilot:
        await pilot.press("question_mark")
        await pilot.press("pagedown", "pagedown", "j", "j", "j")
        await pilot.pause()
        assert "esc closes" in text(pilot)


async def test_m_marks_and_the_tape_shows_it() -> None:
    feed = StillFeed(facts.exact())
    async with running(feed) as pilot:
        await pilot.press("m", *"prose", "enter")
        await painted(pilot)
        assert feed.session().marks[-1][1] == "prose"
        assert "marked: prose" in rows(pilot)[-1]
        feed.tell(facts.Load(8).cycles(feed.now, 0, 900, 20))
        await painted(pilot)
        assert "┃prose" in text(pilot)


async def test_escape_leaves_the_mark_unmade() -> None:
    feed = StillFeed(facts.exact())
    async with running(feed) as pilot:
        await pilot.press("m", *"abc", "escape")
        await painted(pilot)
        assert len(feed.session().marks) == 1


async def test_an_empty_mark_ends_the_one_in_force_and_is_none_otherwise() -> None:
    feed = StillFeed(facts.exact())
    async with running(feed) as pilot:
        await pilot.press("m")
        await pilot.pause()
        assert "empty ends it" in text(pilot)
        await pilot.press("enter")
        await painted(pilot)
        assert [label for _, label in feed.session().marks] == ["code", ""]
        assert "mark code ended" in rows(pilot)[-1]
        await pilot.press("m", "enter")
        await painted(pilot)
        assert len(feed.session().marks) == 2


async def test_letters_typed_into_the_mark_do_nothing_else() -> None:
    feed = StillFeed(facts.exact())
    async with running(feed) as pilot:
        await pilot.press("m", *"quit", "space", "r")
        await pilot.pause()
        assert pilot.app.is_running
        assert feed.resets == 0


async def test_brackets_and_tab_change_the_server() -> None:
    async with running(StillFeed(facts.two_targets())) as pilot:
        assert "t0 1/2 127.0.0.1:8080" in rows(pilot)[0]
        for key, where in (("right_square_bracket", "t1 2/2"), ("tab", "t0 1/2"), ("left_square_bracket", "t1 2/2")):
            await pilot.press(key)
            await painted(pilot)
            assert where in rows(pilot)[0]
        assert "of 20 " in text(pilot)


async def test_one_server_has_no_number() -> None:
    async with running(StillFeed(facts.exact())) as pilot:
        await pilot.press("tab")
        await painted(pilot)
        assert "1/1" not in rows(pilot)[0]
        assert "servers" not in rows(pilot)[-1]


async def test_the_palette_offers_what_keys_do() -> None:
    feed = StillFeed(facts.exact())
    async with running(feed) as pilot:
        await pilot.press("ctrl+p")
        await pilot.pause()
        await pilot.press(*"reset", "enter")
        await pilot.pause(0.3)
        await pilot.press("enter")
        await pilot.pause(0.3)
        assert feed.resets == 1


async def test_the_palette_goes_to_every_screen() -> None:
    async with running(StillFeed(facts.exact())) as pilot:
        names = {command.title for command in pilot.app.get_system_commands(pilot.app.screen)}
        assert {"Live", "Cycles", "Time", "Memory", "Config", "Findings"} <= names


async def test_keys_in_the_bottom_row_exist() -> None:
    async with running(StillFeed(facts.exact()), size=(200, 60)) as pilot:
        assert "7 " not in rows(pilot)[-1]
        assert "1 live" not in rows(pilot)[-1]
        await pilot.press("9", "x")
        for key, others in (
            ("2", "1 live  3 time  4 memory  5 config  6 findings"),
            ("3", "1 live  2 cycles  4 memory  5 config  6 findings"),
            ("4", "1 live  2 cycles  3 time  5 config  6 findings"),
            ("5", "1 live  2 cycles  3 time  4 memory  6 findings"),
            ("6", "1 live  2 cycles  3 time  4 memory  5 config  ? help  j k choose"),
            ("1", "2 cycles  3 time  4 memory  5 config  6 findings"),
        ):
            await pilot.press(key)
            await painted(pilot)
            assert others in rows(pilot)[-1]
        await pilot.resize_terminal(80, 24)
        await painted(pilot)
        assert "5 config 6 findings ? help" in rows(pilot)[-1]


async def test_end_of_the_watch_is_told() -> None:
    feed = StillFeed([*facts.exact(), ev.WatchEnded(at=facts.T0 + 60)])
    async with running(feed) as pilot:
        assert " ENDED " in rows(pilot)[0]
