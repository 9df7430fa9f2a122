"""What speculation gains, on Live and on its page: verdicts with their basis, widths, regimes, prompts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import facts
import gains
import pytest
from feeds import StillFeed
from hypothesis import given
from hypothesis import strategies as st
from screens import painted, rows, running, text
from textual.geometry import Region

from specscope.session.economics.state import WidthPoint
from specscope.views.frame import Frame, activity_of
from specscope.views.gain_words import thinned
from specscope.views.screens.widths_plan import PANELS, plan

if TYPE_CHECKING:
    from collections.abc import Callable

SIZES = [(80, 24), (120, 40), (200, 60)]
EVERY = [
    *(gains.narrower_is_better, gains.todays_is_best, gains.slower, gains.unknown),
    *(gains.collecting, gains.many_widths, gains.labelled),
]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("feed", "words"),
    [
        (gains.narrower_is_better, ["1.66x plain", "with drafter fed)", "width 15 -> 7 is best, +4", "15 widths seen"]),
        (gains.open_still, ["1.65x plain", "with drafter fed)", "width 15 -> 5 is best so far, +3", "9 widths seen"]),
        (gains.todays_is_best, ["2.5x plain", "with drafter fed)", "width 15 -> 15 seems best", "9 widths seen"]),
        (gains.slower, ["0.18x plain", "slower", "with drafter fed)", "width 15 -> off is best"]),
        (gains.unknown, ["speedup not known (no plain decode seen", "width 15: best not known, try 7"]),
        (gains.collecting, ["collecting: ", "of 100 cycles for a verdict"]),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
async def test_the_verdict_stands_with_its_basis_at_every_size(
    feed: Callable[[], StillFeed], words: list[str], size: tuple[int, int]
) -> None:
    async with running(feed(), size=size) as pilot:
        row = " ".join(rows(pilot)[4:6] if "exact" not in rows(pilot)[5] else rows(pilot)[4:5])
        assert all(word in row for word in words), row
        assert "…" not in row
        assert row.count("~") == sum(word in row for word in ("x plain", "->"))


async def test_where_nothing_is_drafted_there_is_no_verdict() -> None:
    async with running(StillFeed(facts.plain())) as pilot:
        assert "no speculation" in rows(pilot)[4]
        await pilot.press("w")
        await painted(pilot)
        assert "speedup" not in text(pilot)
        assert "best" not in text(pilot)


async def test_figures_of_cycles_that_parted_carry_that_mark() -> None:
    async with running(gains.parted()) as pilot:
        assert rows(pilot)[4].count("≠") == 2
        assert "~" not in rows(pilot)[4]
        await pilot.press("w")
        await painted(pilot)
        assert "1.65x plain decode≠" in text(pilot)


async def test_the_chart_names_today_best_and_off_and_marks_what_is_not_known() -> None:
    async with running(gains.narrower_is_better()) as pilot:
        shown = text(pilot)
        assert "─ speed by width tok/s~ █ at least ░ at most" in shown
        assert "accepted length" not in shown  # its place is taken
        (row,) = [row for row in rows(pilot) if "today 15" in row]
        assert "best 7" in row
        assert "off 180" in row
    async with running(gains.unknown(), size=(200, 70)) as pilot:
        chart = [row[133:] for row in rows(pilot)]
        assert any(row.count("?") == 15 for row in chart)
        assert any("best not known" in row for row in chart)
        assert any("try n_max 7: the cost of verifying fewer rows" in row for row in chart)
    async with running(gains.unknown()) as pilot:
        assert "accepted length" in text(pilot)  # one width alone is no comparison


async def test_w_shows_the_page_and_the_cycles_again() -> None:
    async with running(gains.narrower_is_better()) as pilot:
        for screen in ("1", "2"):
            await pilot.press(screen, "w")
            await painted(pilot)
            shown = text(pilot)
            for words in ("─ n_max", "break-even tau", "plain step", "assumed", "step ", "─ prefill", "how known"):
                assert words in shown, words
            assert "─ cycle " not in shown
            await pilot.press("W")
            await painted(pilot)
            assert "─ cycle " in text(pilot)
            assert "─ n_max" not in text(pilot)


async def test_a_wide_screen_shows_cycles_and_page_side_by_side() -> None:
    async with running(gains.narrower_is_better(), size=(200, 60)) as pilot:
        await pilot.press("2")
        await painted(pilot)
        for words in ("─ cycle ", "─ n_max", "break-even", "how known", "─ speed by width"):
            assert words in text(pilot)


async def test_the_table_tells_every_width_and_how_it_is_known() -> None:
    async with running(gains.narrower_is_better()) as pilot:
        await pilot.press("w")
        await painted(pilot)
        (head,) = [y for y, row in enumerate(rows(pilot)) if row.startswith("─ n_max")]
        table = rows(pilot)[head + 1 : head + 17]
        assert table[0].rstrip().endswith("drafter fed"), table[0]
        assert all(row.rstrip().endswith(("seen", "seen in cut drafts")) for row in table[1:])
        assert [row.split()[0] for row in table] == ["off", *map(str, range(1, 16))]
        assert table[7].split()[:2] == ["7", "best"]
        assert table[15].split()[:2] == ["15", "today"]
        assert " step       10." in text(pilot)


async def test_a_small_screen_keeps_the_widths_that_matter() -> None:
    async with running(gains.narrower_is_better(), size=(80, 24)) as pilot:
        await pilot.press("w")
        await painted(pilot)
        shown = rows(pilot)
        first = [row.split()[0] for row in shown if row.split()]
        assert {"off", "7", "8", "15"} <= set(first)
        assert any(row.startswith(" break-even tau") for row in shown)
        assert any(row.startswith("─ prefill") for row in shown)


async def test_regimes_stand_on_live_with_shares_and_the_whole() -> None:
    async with running(gains.labelled()) as pilot:
        table = [row for row in rows(pilot) if row.startswith((" all ", " code ", " tool calls "))]
        assert [row.split()[0] for row in table] == ["all", "code", "tool"]
        assert table[0].count("100 %") >= 2
        assert "50 %" in table[1]
        (title,) = [row for row in rows(pilot) if row.startswith("─ cycles")]
        assert "─ tool calls │ mark: m ─" in title


async def test_one_kind_that_nobody_named_is_no_regime() -> None:
    async with running(gains.narrower_is_better(), size=(200, 60)) as pilot:
        assert "─ regimes" not in text(pilot)
        assert "─ prefill" in text(pilot)
    async with running(StillFeed(facts.exact()[:10]), size=(200, 60)) as pilot:
        assert "─ prefill" not in text(pilot)


async def test_the_prompt_offers_labels_those_given_before_first() -> None:
    feed = StillFeed(facts.exact())
    async with running(feed, size=(80, 24)) as pilot:
        await pilot.press("m", *"review", "enter")
        await painted(pilot)
        await pilot.press("m")
        await painted(pilot)
        assert "down: review, code, prose, planning, tool calls, agent" in text(pilot)
        await pilot.press("down", "down", "down", "up", "up", "up", "enter")
        await painted(pilot)
        assert feed.session().marks[-1][1] == "agent"
        await pilot.press("m", "tab", "tab", "enter")
        await painted(pilot)
        assert feed.session().marks[-1][1] == "review"


def frame_of(feed: StillFeed) -> Frame:
    session = feed.session()
    target = session.targets[0]
    return Frame(session, target, 0, (), activity_of(target, session.at), session.started_at)


@pytest.mark.parametrize("feed", EVERY, ids=lambda f: f.__name__)
def test_the_panels_of_the_page_share_it_without_overlap(feed: Callable[[], StillFeed]) -> None:
    frame = frame_of(feed())
    for width in (60, 80, 103, 104, 118, 200, 240):
        for height in range(4, 70):
            area = Region(3, 1, width, height)
            places = plan(area, frame)
            assert set(places) <= set(PANELS)
            shown = [r for r in places.values() if r.height]
            assert all(area.contains_region(r) for r in shown), (width, height, places)
            cells = sum(r.width * r.height for r in shown)
            assert cells == sum(Region.from_union(shown).intersection(r).area for r in shown)
            for i, one in enumerate(shown):
                assert not any(one.overlaps(other) for other in shown[i + 1 :]), (width, height, places)


@given(st.integers(0, 65), st.integers(1, 80), st.lists(st.integers(0, 70), max_size=6))
def test_thinned_points_keep_what_must_stay(count: int, most: int, keep: list[int]) -> None:
    points = [WidthPoint(n, None, None, 0) for n in range(count)]
    shown = [p.n_max for p in thinned(points, most, keep)]
    assert shown == sorted(set(shown))
    assert set([n for n in dict.fromkeys(keep) if n < count][:most]) <= set(shown)
    assert len(shown) == min(count, most)
