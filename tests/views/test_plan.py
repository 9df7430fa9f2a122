"""The plan of the Live screen: every row belongs to exactly one panel, whatever the size and the load."""

from __future__ import annotations

import facts
import pytest
from feeds import CLAMPED, HIDDEN_MIN_P, StillFeed

from specscope.views.frame import Frame, activity_of
from specscope.views.screens.live_plan import plan

SCENES = [facts.exact, facts.plain, facts.polled, facts.two_slots]


def frame_of(feed: StillFeed) -> Frame:
    session = feed.session()
    target = session.targets[0]
    return Frame(session, target, 0, feed.found, activity_of(target, session.at), session.started_at)


@pytest.mark.parametrize("findings", [(), (HIDDEN_MIN_P,), (HIDDEN_MIN_P, CLAMPED) * 6], ids=len)
@pytest.mark.parametrize("scene", SCENES, ids=lambda f: f.__name__)
def test_every_cell_is_taken_once(scene: object, findings: tuple[object, ...]) -> None:
    frame = frame_of(StillFeed(scene(), findings))  # type: ignore[operator, arg-type]
    for width in (60, 80, 99, 100, 120, 190, 200):
        for height in range(16, 70):
            taken = [0] * height
            for name, region in plan(width, height, frame).items():
                assert region.right <= width, (name, width, height)
                for y in range(region.y, region.bottom):
                    taken[y] += region.width
            assert all(width - 2 <= cells <= width for cells in taken), (width, height, taken)


def test_small_screens_keep_what_matters() -> None:
    frame = frame_of(StillFeed(facts.exact(), (HIDDEN_MIN_P,)))
    regions = plan(80, 24, frame)
    assert {"header", "verdict", "tape", "slots", "findings", "keys"} <= set(regions)
    assert regions["tape"].height >= 8


def test_wide_screens_show_all() -> None:
    frame = frame_of(StillFeed(facts.exact(), (HIDDEN_MIN_P,)))
    for width, height in ((120, 40), (200, 60)):
        regions = plan(width, height, frame)
        assert len(regions) == 10
        assert regions["findings"].height == (3 if width == 120 else 2)


def test_findings_are_absent_when_there_are_none() -> None:
    assert "findings" not in plan(120, 40, frame_of(StillFeed(facts.exact())))
