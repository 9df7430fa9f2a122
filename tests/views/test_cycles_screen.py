"""The Cycles screen: following, scrolling back, filtering."""

from __future__ import annotations

import facts
import pytest
from feeds import StillFeed
from screens import painted, rows, running, text

from specscope import events as ev
from specscope.views.cycle_filter import HINT


def more(feed: StillFeed, count: int) -> list[ev.Event]:
    """So many cycles more."""
    return facts.Load(8).cycles(feed.now, 0, 900, count)


def shown_numbers(lines: list[str]) -> list[int]:
    """The numbers of the cycles on the screen."""
    return [int(row.split()[0].replace(",", "")) for row in lines[3:-1] if row.strip()]


async def test_follows_the_newest_at_the_bottom() -> None:
    feed = StillFeed(facts.exact())
    async with running(feed) as pilot:
        await pilot.press("2")
        await painted(pilot)
        assert shown_numbers(rows(pilot)) == list(range(275, 311))
        feed.tell(more(feed, 5))
        await painted(pilot)
        assert shown_numbers(rows(pilot))[-1] == 315
        assert "SCROLLED BACK" not in text(pilot)


@pytest.mark.parametrize("key", ["k", "K", "up", "pageup"])
async def test_scrolled_back_it_stays_put(key: str) -> None:
    feed = StillFeed(facts.exact())
    async with running(feed) as pilot:
        await pilot.press("2")
        await painted(pilot)
        await pilot.press(key)
        await pilot.pause(0.3)
        await painted(pilot)
        before = shown_numbers(rows(pilot))
        assert before[-1] < 310
        assert "SCROLLED BACK" in text(pilot)
        feed.tell(more(feed, 50))
        await painted(pilot)
        assert shown_numbers(rows(pilot)) == before
        await pilot.press("end")
        await painted(pilot)
        await painted(pilot)
        assert shown_numbers(rows(pilot))[-1] == 360
        assert "SCROLLED BACK" not in text(pilot)


async def test_it_stays_put_when_the_oldest_cycles_are_dropped() -> None:
    feed = StillFeed(facts.exact())
    feed.tell(more(feed, 3700))
    async with running(feed) as pilot:
        await pilot.press("2")
        await painted(pilot)
        await pilot.press("home")
        await painted(pilot)
        await pilot.press(*["pagedown"] * 20)
        await pilot.pause(0.5)
        await painted(pilot)
        before = shown_numbers(rows(pilot))
        feed.tell(more(feed, 400))
        await painted(pilot)
        await painted(pilot)
        assert feed.session().targets[0].cycles[0].number > 1
        assert shown_numbers(rows(pilot)) == before


async def test_home_goes_to_the_oldest() -> None:
    async with running(StillFeed(facts.exact())) as pilot:
        await pilot.press("2")
        await painted(pilot)
        await pilot.press("home")
        await painted(pilot)
        assert shown_numbers(rows(pilot))[0] == 1


async def test_filter_by_words() -> None:
    feed = StillFeed(facts.exact())
    async with running(feed) as pilot:
        await pilot.press("2")
        await painted(pilot)
        await pilot.press("slash", *"w<15", "space", *"a=0", "enter")
        await painted(pilot)
        cycles = [c for c in feed.session().targets[0].cycles if c.drafted != 15 and c.accepted == 0]
        assert shown_numbers(rows(pilot)) == [c.number for c in cycles]
        assert f" {len(cycles)} of the last 310 cycles match w<15 a=0, esc shows all" in text(pilot)
        await pilot.press("escape")
        await painted(pilot)
        assert "match" not in text(pilot)


async def test_a_filter_that_is_none_is_told() -> None:
    async with running(StillFeed(facts.exact())) as pilot:
        await pilot.press("2")
        await painted(pilot)
        await pilot.press("slash", *"foo", "enter")
        await painted(pilot)
        assert "cannot filter by 'foo'; write as slot=0 task=7 w>=8 a<3 ms>80" in text(pilot)
        assert len(shown_numbers(rows(pilot)[1:])) == 35
        await pilot.press("escape")
        await painted(pilot)
        assert "cannot filter" not in text(pilot)
        assert len(shown_numbers(rows(pilot))) == 36


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
async def test_what_a_filter_says_is_told_whole(size: tuple[int, int]) -> None:
    async with running(StillFeed(facts.exact()), size=size) as pilot:
        await pilot.press("2")
        await painted(pilot)
        await pilot.press("slash", *"foo>>3", "enter")
        await painted(pilot)
        cells = 80 if size[0] == 200 else size[0]  # the page of the widths stands beside them
        said = " ".join(" ".join(row[:cells] for row in rows(pilot)[1:5]).split())
        assert f"cannot filter by 'foo>>3'; write as {HINT}" in said
        await pilot.press("home", "slash", *"slot=0 w>=1 a<16 ms>0 ms<9000 pos>0 task=5 by=cycles w<99 a>=0", "enter")
        await painted(pilot)
        assert ", esc shows all" in rows(pilot)[1][:cells]
        assert ("…" in rows(pilot)[1]) == (cells == 80)


async def test_slash_does_nothing_on_live() -> None:
    async with running(StillFeed(facts.exact())) as pilot:
        await pilot.press("slash")
        await pilot.pause()
        assert "filter" not in text(pilot)


async def test_polled_cycles_have_no_width() -> None:
    async with running(StillFeed(facts.polled())) as pilot:
        await pilot.press("2")
        await painted(pilot)
        assert "(counted)" in rows(pilot)[1]
        assert all("—" in row and "polled" in row for row in rows(pilot)[3:-1])


async def test_the_parts_of_a_bar_differ_without_colour() -> None:
    async with running(StillFeed(facts.exact())) as pilot:
        await pilot.press("2")
        await painted(pilot)
        assert "█ accepted ░ rejected" in rows(pilot)[1]
        assert any("█░" in row for row in rows(pilot)[3:-1])


async def test_replays_are_named() -> None:
    chain = [
        ev.CycleLogged(at=facts.T0 + 40, slot=0, task=900, drafted=15, accepted=5, restored=True),
        ev.CycleLogged(at=facts.T0 + 40.1, slot=0, task=900, drafted=6, accepted=6),
    ]
    async with running(StillFeed([*facts.exact(), *chain])) as pilot:
        await pilot.press("2")
        await painted(pilot)
        assert "replayed" in rows(pilot)[-2]


async def test_no_cycles_no_rows() -> None:
    async with running(StillFeed(facts.plain())) as pilot:
        await pilot.press("2")
        await painted(pilot)
        assert shown_numbers(rows(pilot)) == []
        await pilot.press("1")
        await painted(pilot)
        assert "no speculation" in text(pilot)
