"""Recordings: what is written is read back, whatever happens to the file."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import builders as b
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import NAMES, SECONDS, read, record
from samples import ANY_FACT, EVERY_KIND

from specscope.recording import FORMAT_VERSION, Header, Recorder, Recording, RecordingError

if TYPE_CHECKING:
    from specscope import events as ev


@NAMES
def test_every_kind_of_fact_comes_back(tmp_path: Path, name: str) -> None:
    recording = Recording(record(tmp_path / name, EVERY_KIND))
    assert list(recording.events()) == list(EVERY_KIND)
    assert (recording.skipped, recording.broken) == (0, False)


@NAMES
def test_the_header_says_what_wrote_it_and_when(tmp_path: Path, name: str) -> None:
    header = Recording(record(tmp_path / name, [])).header
    assert header == Header(specscope=FORMAT_VERSION, tool_version="0.1.0", started=b.T0)


def test_the_first_line_names_the_format_even_when_all_is_default(tmp_path: Path) -> None:
    first = record(tmp_path / "watch.jsonl", SECONDS).read_bytes().splitlines()[0]
    assert msgspec.json.decode(first) == {"specscope": 1, "tool_version": "0.1.0", "started": b.T0, "note": ""}


def test_a_name_in_gz_is_compressed_and_another_is_not(tmp_path: Path) -> None:
    plain, packed = record(tmp_path / "watch.jsonl", SECONDS), record(tmp_path / "watch.jsonl.gz", SECONDS)
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()


def test_what_a_file_is_shows_in_its_bytes_and_not_in_its_name(tmp_path: Path) -> None:
    packed = record(tmp_path / "watch.jsonl.gz", SECONDS)
    assert read(packed.rename(tmp_path / "renamed.jsonl")) == list(SECONDS)


@NAMES
def test_a_recording_can_be_read_again(tmp_path: Path, name: str) -> None:
    recording = Recording(record(tmp_path / name, SECONDS))
    assert list(recording.events()) == list(recording.events()) == list(SECONDS)


@settings(deadline=None)
@given(facts=st.lists(ANY_FACT, max_size=30), packed=st.booleans())
def test_any_facts_come_back(facts: list[ev.Event], *, packed: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        assert read(record(Path(folder) / ("w.gz" if packed else "w"), facts)) == facts


@NAMES
def test_what_is_written_is_on_disk_within_a_second_of_facts(tmp_path: Path, name: str) -> None:
    # A recorder that is killed never closes its file.
    recorder = Recorder(tmp_path / name, tool_version="0.1.0", started=b.T0)
    for fact in SECONDS:
        recorder.write(fact)
        there = read(tmp_path / name)
        assert there == list(SECONDS[: len(there)])
        assert not there or fact.at - there[-1].at < 1.0
    assert recorder.facts == len(SECONDS)
    recorder.close()
    recorder.close()
    assert read(tmp_path / name) == list(SECONDS)


def test_facts_whose_time_went_back_are_written_at_once(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "w", tool_version="0.1.0", started=b.T0 + 100)
    recorder.write(b.cycle(at=1.0))
    assert read(tmp_path / "w") == [b.cycle(at=1.0)]
    recorder.close()


def test_the_header_is_on_disk_before_the_first_fact(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "w.gz", tool_version="0.1.0", started=b.T0)
    assert Recording(tmp_path / "w.gz").header.started == b.T0
    recorder.close()


@NAMES
def test_an_error_while_recording_keeps_what_came_before(tmp_path: Path, name: str) -> None:
    def interrupted() -> None:
        with Recorder(tmp_path / name, tool_version="0.1.0", started=b.T0) as recorder:
            recorder.write(SECONDS[0])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    recording = Recording(tmp_path / name)
    assert (list(recording.events()), recording.broken) == ([SECONDS[0]], False)


def test_a_disk_that_takes_a_part_gets_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder(tmp_path / "w", tool_version="0.1.0", started=b.T0)
    file = recorder._file

    class Slow:
        closed = False

        def write(self, data: memoryview) -> int:
            return file.write(data[:7])

        def close(self) -> None:
            file.close()

    monkeypatch.setattr(recorder, "_file", Slow())
    recorder.write(SECONDS[0])
    recorder.close()
    assert read(tmp_path / "w") == [SECONDS[0]]


@NAMES
def test_a_recording_is_never_overwritten(tmp_path: Path, name: str) -> None:
    record(tmp_path / name, SECONDS)
    with pytest.raises(RecordingError, match=f"{name} exists: a recording is never overwritten"):
        Recorder(tmp_path / name, tool_version="0.1.0", started=b.T0)
    assert read(tmp_path / name) == list(SECONDS)


def test_a_file_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="nowhere"):
        Recorder(tmp_path / "nowhere" / "w", tool_version="0.1.0", started=b.T0)
