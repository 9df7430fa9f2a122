"""The plan of the Live screen: every row belongs to exactly one panel, whatever the size and the load."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import devices
import facts
import pytest
import traced
from feeds import CLAMPED, HIDDEN_MIN_P, StillFeed

from specscope.views.frame import Frame, activity_of
from specscope.views.screens import timing_plan
from specscope.views.screens.live_plan import plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from feeds import DeviceFeed, TracedFeed

SCENES = [facts.exact, facts.plain, facts.polled, facts.two_slots]
DEVICES = [devices.h200, devices.two, devices.lost, devices.unsure, devices.jetson, devices.no_driver]
TRACED = [traced.traced, traced.plain, traced.by_cpu, traced.estimated, traced.untraced]


def frame_of(feed: StillFeed) -> Frame:
    session = feed.session()
    target = session.targets[0]
    return Frame(session, target, 0, feed.diagnosis(), activity_of(target, session.at), session.started_at)


@pytest.mark.parametrize("findings", [(), (HIDDEN_MIN_P,), (HIDDEN_MIN_P, CLAMPED) * 6], ids=len)
@pytest.mark.parametrize("scene", SCENES, ids=lambda f: f.__name__)
def test_every_cell_is_taken_once(scene: object, findings: tuple[object, ...]) -> None:
    assert_every_cell_is_taken_once(frame_of(StillFeed(scene(), findings)))  # type: ignore[operator, arg-type]


@pytest.mark.parametrize("feed", DEVICES, ids=lambda f: f.__name__)
def test_every_cell_is_taken_once_with_devices(feed: Callable[[], DeviceFeed]) -> None:
    assert_every_cell_is_taken_once(frame_of(feed()))


def test_a_device_has_a_row_on_small_screens_and_a_band_with_its_memory_on_others() -> None:
    frame = frame_of(devices.h200([HIDDEN_MIN_P]))
    small = plan(80, 24, frame)
    assert small["gpu"].height == 1
    assert small["tape"].height >= 5
    assert {"verdict", "findings", "anatomy", "slots"} <= set(small)
    wide = plan(120, 40, frame)
    assert wide["gpu"].height == wide["vram"].height == 5
    assert wide["gpu"].y == wide["vram"].y
    assert plan(80, 44, frame)["vram"].y == plan(80, 44, frame)["gpu"].bottom
    assert not {"gpu", "vram"} & set(plan(120, 40, frame_of(devices.no_driver())))


@pytest.mark.parametrize("feed", TRACED, ids=lambda f: f.__name__)
def test_every_cell_is_taken_once_with_a_trace(feed: Callable[[], TracedFeed]) -> None:
    assert_every_cell_is_taken_once(frame_of(feed()))


def assert_every_cell_is_taken_once(frame: Frame) -> None:
    for width in (60, 80, 99, 100, 120, 190, 200):
        for height in range(16, 70):
            taken = [0] * height
            for name, region in plan(width, height, frame).items():
                assert region.right <= width, (name, width, height)
                for y in range(region.y, region.bottom):
                    taken[y] += region.width
            assert all(width - 4 <= cells <= width for cells in taken), (width, height, taken)  # two gutters at most


def test_small_screens_keep_what_matters() -> None:
    frame = frame_of(StillFeed(facts.exact(), (HIDDEN_MIN_P,)))
    regions = plan(80, 24, frame)
    assert {"header", "verdict", "tape", "slots", "findings", "keys"} <= set(regions)
    assert regions["tape"].height >= 8


def test_wide_screens_show_all() -> None:
    frame = frame_of(StillFeed(facts.exact(), (HIDDEN_MIN_P,)))
    for width, height, panels in ((120, 40, 10), (200, 60, 11)):  # prompts have a row on high screens
        regions = plan(width, height, frame)
        assert len(regions) == panels
        assert regions["findings"].height == (3 if width == 120 else 2)


def test_findings_are_absent_when_there_are_none() -> None:
    assert "findings" not in plan(120, 40, frame_of(StillFeed(facts.exact())))


def test_the_anatomy_waits_for_verdict_tape_and_findings() -> None:
    frame = frame_of(traced.traced((HIDDEN_MIN_P, CLAMPED)))
    for height in range(14, 40):
        regions = plan(80, height, frame)
        if "anatomy" in regions:
            assert {"verdict", "tape", "findings"} <= set(regions)
            assert regions["tape"].height >= 4
    assert plan(80, 24, frame)["anatomy"].height == 1
    assert plan(80, 24, frame)["tape"].height >= 6
    assert plan(120, 40, frame)["anatomy"].height == 5
    assert plan(200, 60, frame)["anatomy"].height == 4
    assert "anatomy" not in plan(120, 40, frame_of(traced.untraced()))


@pytest.mark.parametrize("feed", TRACED, ids=lambda f: f.__name__)
def test_panels_of_time_stand_below_one_another(feed: Callable[[], TracedFeed]) -> None:
    frame = frame_of(feed())
    for width in (40, 80, 120, 190, 240):
        for height in range(3, 70):
            regions = sorted(timing_plan.plan(width, height, frame).values(), key=lambda r: (r.y, r.x))
            assert all(r.height > 0 and r.right <= width and r.bottom <= height for r in regions), (width, height)
            for above, below in pairwise(regions):
                assert above.bottom == below.y or above.right < below.x or below.bottom == height, (width, height)


def test_time_keeps_the_strip_and_fills_the_screen() -> None:
    frame = frame_of(traced.traced(stacks=traced.STACKS))
    for width, height in ((80, 24), (120, 40), (200, 60)):
        regions = timing_plan.plan(width, height, frame)
        assert set(regions) == {"header", "timeline", "stalls", "copies", "paths", "stacks", "keys"}
        assert regions["timeline"].height >= 7
        assert max(r.bottom for name, r in regions.items() if name != "keys") == height - 1
    assert set(timing_plan.plan(80, 12, frame)) == {"header", "timeline", "copies", "keys"}
