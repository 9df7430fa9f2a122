"""What speculation gains, on Live and on its page: verdicts with their basis, widths, regimes, prompts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import facts
import gains
import pytest
from feeds import StillFeed
from hypothesis import given
from hypothesis import strategies as st
from screens import painted, rows, running, text
from textual.geometry import Region

from specscope.session.economics.state import Span, WidthPoint
from specscope.views.frame import Frame, activity_of
from specscope.views.gain_words import thinned
from specscope.views.ink import ink_from
from specscope.views.panels import gain
from specscope.views.panels.gain import Gain
from specscope.views.screens.widths_plan import PANELS, plan
from specscope.views.themes import DARK

if TYPE_CHECKING:
    from collections.abc import Callable

    from specscope.session.economics.state import Economics

INK = ink_from(DARK, colour=True, ascii_only=False)
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


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("keys", [[], ["w"]], ids=["live", "page"])
async def test_neither_half_of_the_verdict_is_ever_without_its_interval(keys: list[str], size: tuple[int, int]) -> None:
    async with running(gains.narrower_is_better(), size=size) as pilot:
        await pilot.press(*keys)
        await painted(pilot)
        assert "(1.14x to 2.4x, plain 180 tok/s with drafter fed)" in text(pilot)
        assert "(+45 to +50 %, 15 widths seen)" in text(pilot)


def drawn(economics: Economics, width: int) -> str:
    """The verdict and what it rests on, of these economics."""
    frame = frame_of(gains.slower())
    target = replace(frame.target, economics=economics)
    panel = Gain().draw(replace(frame, target=target), INK, width, 40)
    return "\n".join(line.strip(width).text.rstrip() for line in panel)


def test_break_even_is_judged_as_the_speedup_is() -> None:
    economics = frame_of(gains.slower()).target.economics
    even, tau = Span(6.82, 5.90, 7.87), Span(5.88, 5.70, 6.06)  # they overlap, and the speedup is surely below 1
    surely = replace(economics, break_even_tau=even, tau=tau, speedup=Span(0.86, 0.74, 0.99))
    assert "slower than plain, 0.74x to 0.99x" in drawn(surely, 118)
    assert "speculation does not pay" in drawn(surely, 118)
    nearly = replace(surely, speedup=Span(0.86, 0.74, 0.998))
    assert "no sure gain, 0.74x to 1.00x" in drawn(nearly, 118)
    assert "too close to tell" in drawn(nearly, 118)


def test_a_verdict_that_is_too_long_for_its_row_goes_on_below_it() -> None:
    economics = frame_of(gains.narrower_is_better()).target.economics
    costs = (replace(economics.costs[0], how="seen"), replace(economics.costs[1], how="recorded"))
    shown = drawn(replace(economics, costs=costs), 59).splitlines()
    assert shown[3:5] == [" width 15 -> 7 is best, +47 %~", "   (+45 to +50 %, 1 width seen, 1 recorded)"]
    assert len(shown) == gain.rows_wanted(
        replace(frame_of(gains.slower()).target, economics=replace(economics, costs=costs)), 59
    )


def test_no_width_that_can_pay_is_told_with_its_reason() -> None:
    economics = frame_of(gains.unknown()).target.economics
    hopeless = replace(economics, best_n_max=0, sure=True, try_next=None, tau_at_most=1.014, speedup_at_most=1.014)
    shown = drawn(hopeless, 118)
    assert " width 15 -> off is best~ (no width can pay: tau at most 1.02)" in shown
    assert "no width yields more than 1.02 tokens a cycle" in shown
    assert "try next" not in shown


def test_kernels_are_not_named_on_a_server_without_a_device() -> None:
    economics = frame_of(gains.narrower_is_better()).target.economics
    assert "as CUDA's kernels have it" in drawn(economics, 118)
    assert "CUDA" not in drawn(replace(economics, kernel_step=False), 118)


def test_a_mean_tells_how_many_of_its_cycles_were_timed() -> None:
    economics = frame_of(gains.slower()).target.economics
    assert economics.timed < economics.cycles
    assert f"mean of {economics.cycles:,} cycles, {economics.timed:,} of them timed" in " ".join(
        drawn(economics, 118).split()
    )
    assert "mean of all methods' cycles" in drawn(replace(economics, timed=None), 118)


async def test_one_slots_speed_is_headed_so_where_several_decode() -> None:
    async with running(gains.two_slots(), size=(120, 60)) as pilot:
        await pilot.press("w")
        await painted(pilot)
        (head,) = [row for row in rows(pilot) if row.startswith("─ n_max")]
        assert "─ tok/s a slot─" in head
        await pilot.press("4")
        await painted(pilot)
        (head,) = [row for row in rows(pilot) if "─ speed by KV depth" in row]
        assert " tok/s a slot " in head
    async with running(gains.narrower_is_better(), size=(120, 60)) as pilot:
        await pilot.press("w")
        await painted(pilot)
        assert "a slot" not in text(pilot)


async def test_where_nothing_is_drafted_there_is_no_verdict() -> None:
    async with running(StillFeed(facts.plain())) as pilot:
        assert "no speculation" in rows(pilot)[4]
        await pilot.press("w")
        await painted(pilot)
        assert "speedup" not in text(pilot)
        assert "best" not in text(pilot)


async def test_figures_of_cycles_that_parted_carry_that_mark() -> None:
    async with running(gains.parted()) as pilot:
        verdict = "".join(rows(pilot)[4:6])
        assert verdict.count("≠") == 2
        assert "~" not in verdict
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


async def test_the_key_of_the_cycles_shows_them_whatever_was_shown_before() -> None:
    async with running(gains.narrower_is_better()) as pilot:
        await pilot.press("w")
        await painted(pilot)
        assert " 2 cycles " in rows(pilot)[-1]
        assert " w cycles " in rows(pilot)[-1]
        assert "filter" not in rows(pilot)[-1]
        for keys in (["2"], ["w", "1", "2"]):
            await pilot.press(*keys)
            await painted(pilot)
            assert "─ cycle " in text(pilot)
            assert " w widths " in rows(pilot)[-1]
            assert " 2 cycles " not in rows(pilot)[-1]


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
