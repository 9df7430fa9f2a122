"""Recordings played at every speed. No test waits for time to pass."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from specscope import events as ev
from specscope.recording import Recorder, Recording
from specscope.sources import replay
from specscope.sources.replay import ReplaySource

if TYPE_CHECKING:
    from pathlib import Path

T0 = 1_780_000_000.0


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Replaces the passing of time: what was slept is noted and has passed."""
    sleeps: list[float] = []
    real_sleep = asyncio.sleep

    async def sleep(seconds: float) -> None:
        sleeps.append(seconds)
        await real_sleep(0)

    monkeypatch.setattr(replay.asyncio, "sleep", sleep)
    monkeypatch.setattr(replay.time, "monotonic", lambda: sum(sleeps))
    return sleeps


def recording(path: Path, *offsets: float) -> Recording:
    with Recorder(path, tool_version="test", started=T0) as recorder:
        for offset in offsets:
            recorder.write(ev.Marked(at=T0 + offset, label=str(offset)))
    return Recording(path)


async def play(source: ReplaySource) -> list[ev.Event]:
    facts: list[ev.Event] = []
    await source.run(facts.append)
    assert source.done
    return facts


async def test_the_same_facts_at_their_own_pace(tmp_path: Path, slept: list[float]) -> None:
    tape = recording(tmp_path / "r.jsonl", 0.0, 0.5, 1.5)
    source = ReplaySource(tape)
    assert await play(source) == list(tape.events())
    assert sum(slept) == pytest.approx(1.5, abs=0.01)
    assert source.at == T0 + 1.5


@pytest.mark.parametrize(("speed", "span"), [(10.0, 0.15), (0.5, 3.0), (0.0, 0.0)])
async def test_other_paces(tmp_path: Path, slept: list[float], speed: float, span: float) -> None:
    await play(ReplaySource(recording(tmp_path / "r.jsonl", 0.0, 0.5, 1.5), speed))
    assert sum(slept) == pytest.approx(span, abs=0.01)


async def test_silences_are_shortened_and_steps_back_are_not_waited_for(tmp_path: Path, slept: list[float]) -> None:
    await play(ReplaySource(recording(tmp_path / "r.jsonl", 0.0, 3600.0, 10.0, 3600.5)))
    assert sum(slept) == pytest.approx(replay.LONGEST_GAP_S + 0.5, abs=0.01)


async def test_many_facts_in_no_time_cost_no_sleep_of_their_own(tmp_path: Path, slept: list[float]) -> None:
    await play(ReplaySource(recording(tmp_path / "r.jsonl", *(i / 10_000 for i in range(2000)))))
    assert sum(slept) == pytest.approx(0.2, abs=0.01)
    assert len(slept) < 60


async def test_the_speed_can_change_in_the_middle_of_a_silence(tmp_path: Path, slept: list[float]) -> None:
    source = ReplaySource(recording(tmp_path / "r.jsonl", 0.0, 2.0), 0.01)
    task = asyncio.create_task(play(source))
    while not slept:
        await asyncio.tasks.sleep(0)
    source.speed = 0.0
    assert len(await task) == 2
    assert sum(slept) < 1.0


async def test_a_file_that_goes_away_is_a_loss_and_an_end(tmp_path: Path) -> None:
    tape = recording(tmp_path / "r.jsonl", 0.0)
    (tmp_path / "r.jsonl").unlink()
    (fact,) = await play(ReplaySource(tape))
    assert isinstance(fact, ev.SourceLost)
    assert (fact.source, "r.jsonl" in fact.reason) == ("replay", True)


async def test_an_empty_recording(tmp_path: Path) -> None:
    assert await play(ReplaySource(recording(tmp_path / "r.jsonl"))) == []
