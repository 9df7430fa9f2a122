"""The log source on real files, pipes and streams."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar

import pytest

from specscope.events import (
    BufferLogged,
    CycleLogged,
    Event,
    EventsMissed,
    LogSaid,
    RequestLaunched,
    RequestLogged,
    SlotReleased,
    SourceAttached,
    SourceLost,
)
from specscope.sources import llama_log
from specscope.sources.follow import LINE_LIMIT_BYTES, Step
from specscope.sources.llama_log import TRACE_HINT, LogSource, next_wait_s
from specscope.sources.source import Clock

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

LOGS = Path(__file__).parent.parent / "fixtures" / "logs"
TRACED = (LOGS / "b10434_trace.log").read_bytes()
WITHOUT_TRACE = (LOGS / "b11434.log").read_bytes()
Kind = TypeVar("Kind", bound=Event)
PATIENCE_S = 20.0
"""How long a test waits for what must come. Nothing is asserted about how soon it does."""


def a_cycle(accepted: int, second: int = 30) -> bytes:
    stamp = f"0.{second:02d}.000.{accepted:03d}"
    return f"{stamp} I slot   operator(): id  0 | task 9 | accepted {accepted:2d}/15 draft tokens\n".encode()


class Watch:
    """A running source and the facts it has reported."""

    def __init__(self) -> None:
        self.facts: list[Event] = []
        self._news = asyncio.Event()

    def emit(self, fact: Event) -> None:
        self.facts.append(fact)
        self._news.set()

    async def until(self, holds: Callable[[], object]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not holds():
                self._news.clear()
                await self._news.wait()

    async def until_accepted(self, *accepted: int) -> None:
        await self.until(lambda: self.accepted == list(accepted))

    async def until_attached(self, times: int = 1) -> None:
        await self.until(lambda: len(self.of(SourceAttached)) >= times)

    def of(self, kind: type[Kind]) -> list[Kind]:
        return [fact for fact in self.facts if isinstance(fact, kind)]

    @property
    def accepted(self) -> list[int]:
        return [fact.accepted for fact in self.of(CycleLogged)]

    @property
    def tiers(self) -> list[str]:
        return [fact.tier for fact in self.of(SourceAttached)]


@contextlib.asynccontextmanager
async def watching(log: str | Path | BinaryIO) -> AsyncGenerator[Watch, None]:
    watch = Watch()
    task = asyncio.create_task(LogSource(log, Clock()).run(watch.emit))
    try:
        yield watch
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def write(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def write_at(path: Path, offset: int, data: bytes) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(data)


def rename(path: Path) -> Path:
    return path.rename(path.with_suffix(".1"))


def remove(path: Path) -> None:
    path.unlink()


def forbid(path: Path) -> None:
    path.chmod(0)


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "server.log"
    path.write_bytes(TRACED)
    return path


async def test_cycles_and_requests_of_before_are_not_reported(log: Path) -> None:
    async with watching(log) as watch:
        await watch.until_attached(2)
        append(log, a_cycle(3) + a_cycle(4))
        await watch.until_accepted(3, 4)
    assert watch.of(RequestLaunched) == watch.of(RequestLogged) == watch.of(SlotReleased) == []


async def test_what_still_holds_is_reported_and_what_has_passed_is_not(log: Path) -> None:
    async with watching(log) as watch:
        await watch.until_attached(2)
    codes = [fact.code for fact in watch.of(LogSaid)]
    # the model was loaded three times, the server slept twice: the last loading counts
    assert codes == ["verbosity", "listening", "model_loading", "n_slots", "ngram_match_too_small", "trace_on"]


async def test_buffers_of_before_the_watch_are_those_of_the_last_loading(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    once = (Path(__file__).parent.parent / "fixtures" / "memory" / "h200_dflash.log").read_bytes()
    log.write_bytes(once + once[once.index(b"0.00.246.886") :])
    async with watching(log) as watch:
        await watch.until(lambda: watch.of(BufferLogged))
    buffers = watch.of(BufferLogged)
    assert sum(fact.kind == "KV" for fact in buffers) == 2
    assert sum(fact.kind == "model" and fact.model == "target" for fact in buffers) == 2
    codes = [fact.code for fact in watch.of(LogSaid)]
    assert (codes.count("device_total"), codes.count("layers_offloaded")) == (2, 1)
    assert {"kv_cache", "draft_kv_cache", "memory_breakdown", "device_used"} <= set(codes)


async def test_the_tier_rises_with_the_trace_and_falls_with_a_restart_without_it(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(WITHOUT_TRACE)
    async with watching(log) as watch:
        await watch.until_attached()
        assert [(fact.tier, fact.hint) for fact in watch.of(SourceAttached)] == [("log", TRACE_HINT)]
        append(log, TRACED)
        await watch.until_attached(2)
        append(log, WITHOUT_TRACE)
        await watch.until_attached(3)
    assert watch.tiers == ["log", "cycles", "log"]
    assert watch.of(SourceAttached)[1].hint == ""


async def test_an_earlier_process_in_the_same_file_is_forgotten(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    warned = "is set, but will be overwritten by command line argument -np"
    override = f"warn: LLAMA_ARG_N_PARALLEL environment variable {warned}\n".encode()
    log.write_bytes(WITHOUT_TRACE + override + TRACED)
    async with watching(log) as watch:
        await watch.until_attached(2)
    codes = [fact.code for fact in watch.of(LogSaid)]
    assert codes[:2] == ["env_overridden", "verbosity"]
    assert "synthetic_acceptance" not in codes


async def test_only_the_ends_of_a_long_log_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(llama_log, "HEAD_BYTES", len(WITHOUT_TRACE))
    monkeypatch.setattr(llama_log, "TAIL_BYTES", 2_000)
    log = tmp_path / "server.log"
    log.write_bytes(WITHOUT_TRACE + b"0.50.000.000 D que    start_loop: waiting\n" * 1_000)
    async with watching(log) as watch:
        await watch.until(lambda: any(fact.code == "synthetic_acceptance" for fact in watch.of(LogSaid)))
        append(log, a_cycle(3, second=55))
        await watch.until_accepted(3)


async def test_a_restart_between_the_ends_is_seen_by_the_stamps(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = TRACED[: TRACED.index(b"0.10.359.202")]
    monkeypatch.setattr(llama_log, "HEAD_BYTES", len(WITHOUT_TRACE))
    monkeypatch.setattr(llama_log, "TAIL_BYTES", 400)
    log = tmp_path / "server.log"
    log.write_bytes(WITHOUT_TRACE + b"x" * 10_000 + b"\n" + start)
    async with watching(log) as watch:
        await watch.until_attached(2)
    codes = [fact.code for fact in watch.of(LogSaid)]
    assert "synthetic_acceptance" not in codes
    assert codes[-1] == "listening"


async def test_a_line_is_waited_for_until_it_is_whole(log: Path) -> None:
    append(log, a_cycle(3)[:40])
    async with watching(log) as watch:
        await watch.until_attached(2)
        append(log, a_cycle(3)[40:-1])
        await asyncio.sleep(0.1)
        assert watch.accepted == []
        append(log, b"\n" + a_cycle(4))
        await watch.until_accepted(3, 4)


async def test_a_rotated_log_is_read_to_its_end_and_then_the_new_one(log: Path) -> None:
    async with watching(log) as watch:
        await watch.until_attached(2)
        old = rename(log)
        append(old, a_cycle(1))
        await watch.until_accepted(1)
        append(old, a_cycle(2) + a_cycle(3)[:-1])
        write(log, a_cycle(4))
        await watch.until_accepted(1, 2, 3, 4)
        append(log, a_cycle(5))
        await watch.until_accepted(1, 2, 3, 4, 5)
    assert watch.of(SourceLost) == []


async def test_a_truncated_log_is_read_from_its_start_as_new(log: Path) -> None:
    async with watching(log) as watch:
        await watch.until_attached(2)
        append(log, a_cycle(1))
        await watch.until_accepted(1)
        write(log, a_cycle(2))
        await watch.until_accepted(1, 2)


async def test_a_log_written_anew_and_longer_between_two_looks_is_read_from_its_start(log: Path) -> None:
    async with watching(log) as watch:
        await watch.until_attached(2)
        append(log, a_cycle(1))
        await watch.until_accepted(1)
        write(log, a_cycle(2) + a_cycle(3) * 100)
        await watch.until_accepted(1, 2, *[3] * 100)


async def test_a_hole_that_a_look_does_not_see_being_cut_is_passed_over(log: Path) -> None:
    """The writer keeps its offset, and has written before the next look."""
    async with watching(log) as watch:
        await watch.until_attached(2)
        append(log, a_cycle(1))
        await watch.until_accepted(1)
        offset = len(TRACED + a_cycle(1))
        write(log, b"")
        write_at(log, offset, a_cycle(7))
        append(log, a_cycle(8))
        await watch.until_accepted(1, 7, 8)
    assert watch.of(EventsMissed) == []


async def test_the_hole_a_truncation_leaves_under_a_writer_is_passed_over(log: Path) -> None:
    async with watching(log) as watch:
        await watch.until_attached(2)
        write(log, b"")
        await asyncio.sleep(0.3)
        write_at(log, 3_000_000, a_cycle(7))
        await watch.until_accepted(7)
    assert watch.of(EventsMissed) == []


async def test_a_deleted_log_is_lost_and_found_again(log: Path) -> None:
    async with watching(log) as watch:
        await watch.until_attached(2)
        remove(log)
        await watch.until(lambda: watch.of(SourceLost))
        write(log, a_cycle(6))
        await watch.until_accepted(6)
    assert [fact.reason for fact in watch.of(SourceLost)] == ["the log was deleted"]
    assert watch.tiers == ["log", "cycles", "log", "cycles"]


async def test_a_log_that_is_not_there_yet_is_all_new(tmp_path: Path) -> None:
    log = tmp_path / "later.log"
    async with watching(log) as watch:
        await watch.until(lambda: watch.of(SourceLost))
        write(log, TRACED)
        await watch.until(lambda: len(watch.accepted) == 15)
    assert watch.of(SourceLost)[0].hint
    assert len(watch.of(SourceLost)) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
async def test_a_log_that_may_not_be_read(log: Path) -> None:
    forbid(log)
    async with watching(log) as watch:
        await watch.until(lambda: watch.of(SourceLost))
    (lost,) = watch.of(SourceLost)
    assert (lost.reason, bool(lost.hint)) == ("permission denied", True)


async def test_a_refusal_of_the_system_is_reported(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("specscope.sources.follow.os.open", refuse)
    async with watching(log) as watch:
        await watch.until(lambda: watch.of(SourceLost))
    (lost,) = watch.of(SourceLost)
    assert (lost.reason, bool(lost.hint)) == ("permission denied", True)


async def test_an_error_while_reading_is_survived(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with watching(log) as watch:
        await watch.until_attached(2)
        with monkeypatch.context() as patch:

            def fail(*_: object) -> bytes:
                raise OSError(5, "Input/output error")

            patch.setattr("specscope.sources.follow.os.pread", fail)
            await watch.until(lambda: watch.of(SourceLost))
        append(log, a_cycle(1))
        await watch.until_attached(4)
    assert "Input/output error" in watch.of(SourceLost)[0].reason


async def test_a_directory_and_a_pipe_of_another_process_are_refused(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    try:
        for path in (tmp_path, Path(f"/proc/self/fd/{read_end}")):
            async with watching(path) as watch:
                await watch.until(lambda watch=watch: watch.of(SourceLost))
            assert "--log-file" in watch.of(SourceLost)[0].hint
    finally:
        os.close(read_end)
        os.close(write_end)


async def test_a_named_pipe_is_followed(tmp_path: Path) -> None:
    path = tmp_path / "log.pipe"
    os.mkfifo(path)
    async with watching(path) as watch:
        await watch.until_attached()
        append(path, a_cycle(3))
        await watch.until_accepted(3)


async def test_a_line_too_long_is_missed_and_the_next_one_read(log: Path) -> None:
    async with watching(log) as watch:
        await watch.until_attached(2)
        append(log, b"x" * 10_000_000 + b"\n" + a_cycle(5))
        await watch.until(lambda: watch.of(EventsMissed))
        await watch.until_accepted(5)
    (missed,) = watch.of(EventsMissed)
    assert (missed.source, missed.count) == ("log", 1)
    assert str(LINE_LIMIT_BYTES // 1024) in missed.reason


async def test_bytes_that_are_not_text_are_passed_over(log: Path) -> None:
    async with watching(log) as watch:
        await watch.until_attached(2)
        append(log, b"\xff\xfe\x00\x80\n\x00\x00" + a_cycle(5) + b"\xf0\x9f\n" + a_cycle(6))
        await watch.until_accepted(5, 6)


async def test_a_request_in_flight_at_attach_is_followed_from_there(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    middle = TRACED.index(b"0.11.038.166")
    log.write_bytes(TRACED[:middle])
    async with watching(log) as watch:
        await watch.until_attached(2)
        append(log, TRACED[middle : TRACED.index(b"0.33.162.182")])
        await watch.until(lambda: watch.of(SlotReleased))
    assert watch.accepted == [8, 8, 8, 8, 1]
    assert watch.of(RequestLaunched) == []
    assert [(fact.drafted, fact.accepted) for fact in watch.of(RequestLogged)] == [(97, 94)]


async def test_cycles_keep_the_distance_of_their_stamps(log: Path) -> None:
    async with watching(log) as watch:
        await watch.until_attached(2)
        append(log, a_cycle(1))
        await watch.until_accepted(1)
        append(log, a_cycle(2) + a_cycle(9))
        await watch.until_accepted(1, 2, 9)
    first, second, third = watch.of(CycleLogged)
    assert first.at <= second.at <= third.at
    assert third.at - second.at == pytest.approx(7e-6, abs=1e-6)


async def test_a_pipe_is_read_as_it_comes_until_it_ends() -> None:
    read_end, write_end = os.pipe()
    with os.fdopen(read_end, "rb") as stream, os.fdopen(write_end, "wb", buffering=0) as writer:
        async with watching(stream) as watch:
            await watch.until_attached()
            writer.write(a_cycle(1) + a_cycle(2)[:20])
            await watch.until_accepted(1)
            writer.write(a_cycle(2)[20:] + a_cycle(3)[:-1])
            await watch.until_accepted(1, 2)
            writer.close()
            await watch.until(lambda: watch.of(SourceLost))
    assert watch.accepted == [1, 2, 3]
    assert watch.of(SourceLost)[0].reason == "the stream ended"


async def test_standard_input_is_a_dash(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stdin:
        buffer = io.BytesIO(TRACED)

    monkeypatch.setattr("sys.stdin", Stdin())
    watch = Watch()
    await LogSource("-", Clock()).run(watch.emit)
    assert len(watch.accepted) == 15
    assert watch.tiers == ["log", "cycles"]
    assert watch.of(SourceLost)[0].reason == "the stream ended"


async def test_a_redirected_file_is_read_whole(log: Path) -> None:
    watch = Watch()
    with log.open("rb") as stream:
        await LogSource(stream, Clock()).run(watch.emit)
    assert len(watch.accepted) == 15
    assert len(watch.of(RequestLogged)) == 1


async def test_a_block_the_log_stops_within_is_reported_after_a_silence(log: Path) -> None:
    async with watching(log) as watch:
        await watch.until_attached(2)
        append(
            log, b"slot print_timing: id  0 | task 9 | draft acceptance = 0.50000 (    1 accepted /     2 generated)\n"
        )
        await watch.until(lambda: watch.of(RequestLogged))
    assert watch.of(RequestLogged)[0].task == 9


def test_looks_at_a_silent_file_grow_rare_but_never_stop() -> None:
    waits_s = [next_wait_s(Step("opened"), 0.0)]
    for _ in range(20):
        waits_s.append(next_wait_s(Step("nothing"), waits_s[-1]))
    assert waits_s == sorted(waits_s)
    assert (waits_s[0], waits_s[-1]) == (0.02, 0.2)
    assert next_wait_s(Step("data", b"x"), 0.2) == 0
    assert next_wait_s(Step("lost"), 0.02) == 0.5
