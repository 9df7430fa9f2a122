"""Recordings that were cut off, damaged, written by another version, or are none."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import NAMES, SECONDS, read, record
from samples import ANY_FACT

from specscope.recording import Recording, RecordingError

if TYPE_CHECKING:
    from specscope import events as ev

HEADER = b'{"specscope":1,"tool_version":"0.1.0","started":5.0,"note":""}\n'


@NAMES
def test_a_file_cut_off_at_any_byte_gives_the_facts_before(tmp_path: Path, name: str) -> None:
    whole = record(tmp_path / name, SECONDS).read_bytes()
    cut, counts = tmp_path / "cut", []
    for length in range(len(whole) + 1):
        cut.write_bytes(whole[:length])
        try:
            recording = Recording(cut)
        except RecordingError:  # not even its header is there
            counts.append(-1)
            continue
        there = list(recording.events())
        assert there == list(SECONDS[: len(there)])
        assert recording.skipped == 0
        counts.append(len(there))
    assert counts == sorted(counts)
    assert (counts[0], counts[-1]) == (-1, len(SECONDS))
    assert set(counts) > {-1, 0, len(SECONDS)}


@settings(deadline=None)
@given(
    facts=st.lists(st.one_of(ANY_FACT, st.sampled_from(SECONDS)), min_size=1), cut=st.floats(0, 1), packed=st.booleans()
)
def test_any_recording_cut_off_anywhere_gives_the_facts_before(
    facts: list[ev.Event], cut: float, *, packed: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = record(Path(folder) / ("w.gz" if packed else "w"), facts)
        first = len(Recording(path).header.tool_version) + 200  # enough for a header
        whole = path.read_bytes()
        path.write_bytes(whole[: max(first, int(cut * len(whole)))])
        there = read(path)
        assert there == facts[: len(there)]


@NAMES
def test_a_cut_is_told_and_a_whole_file_is_not_called_broken(tmp_path: Path, name: str) -> None:
    path = record(tmp_path / name, SECONDS)
    whole = path.read_bytes()
    for data, broken in ((whole, False), (whole[:-3], True)):
        path.write_bytes(data)
        recording = Recording(path)
        list(recording.events())
        assert recording.broken is broken


def test_a_compressed_recording_whose_end_was_lost_to_zeros_gives_the_facts_before(tmp_path: Path) -> None:
    # What a file system leaves of the last blocks after a power failure.
    path = record(tmp_path / "w.gz", SECONDS)
    data = path.read_bytes()
    path.write_bytes(data[:-60] + bytes(4096))
    recording = Recording(path)
    there = list(recording.events())
    assert len(there) > len(SECONDS) / 2
    assert there == list(SECONDS[: len(there)])
    assert recording.broken


@pytest.mark.parametrize(
    "line",
    [
        b'{"k":"gpu","at":1.0,"power_w":69.6}',  # a kind of a newer version
        b'{"k":"cycle","at":1.0,"slot":0}',
        b'{"k":"cycle","at":"soon","slot":0,"task":1,"drafted":1,"accepted":1}',
        b"not json at all",
        b"\xff\xfe\x00",
        b'{"at":1.0}',
        b"[]",
        b"null",
        HEADER.strip(),
        b'{"k":"slot","at":1.0,"slot":0,"n_ctx":1' + b"0" * 400 + b"}",
    ],
)
def test_a_line_that_is_no_known_fact_is_skipped_and_counted(tmp_path: Path, line: bytes) -> None:
    fact = msgspec.json.encode(SECONDS[0])
    (tmp_path / "w").write_bytes(HEADER + line + b"\n" + fact + b"\n" + line + b"\n")
    recording = Recording(tmp_path / "w")
    assert list(recording.events()) == [SECONDS[0]]
    assert recording.skipped == 2
    assert list(recording.events()) == [SECONDS[0]]
    assert recording.skipped == 2  # counted anew each time


def test_empty_lines_are_nothing(tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(HEADER + b"\n  \n" + msgspec.json.encode(SECONDS[0]) + b"\n\n")
    recording = Recording(tmp_path / "w")
    assert (list(recording.events()), recording.skipped) == ([SECONDS[0]], 0)


def test_fields_of_a_newer_version_are_passed_over(tmp_path: Path) -> None:
    line = b'{"k":"cycle","at":1.0,"slot":0,"task":1,"drafted":15,"accepted":5,"draft_ms":19.1}\n'
    (tmp_path / "w").write_bytes(HEADER.replace(b'"note"', b'"host":"x","note"') + line)
    (fact,) = read(tmp_path / "w")
    assert (fact.drafted, fact.accepted) == (15, 5)


def test_recordings_put_one_behind_the_other_are_read_through(tmp_path: Path) -> None:
    one, other = record(tmp_path / "1.gz", SECONDS[:3]), record(tmp_path / "2.gz", SECONDS[3:])
    both = tmp_path / "both.gz"
    both.write_bytes(one.read_bytes() + other.read_bytes())
    recording = Recording(both)
    assert list(recording.events()) == list(SECONDS)
    assert (recording.skipped, recording.broken) == (1, False)  # the second header is no fact


def test_what_follows_a_compressed_recording_and_is_no_recording_is_told(tmp_path: Path) -> None:
    path = record(tmp_path / "w.gz", SECONDS)
    path.write_bytes(path.read_bytes() + b"rubbish")
    recording = Recording(path)
    assert list(recording.events()) == list(SECONDS)
    assert recording.broken


# --- files that are no recordings -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"hello\n",
        b"{}\n",
        b"[1]\n",
        b'{"tool_version":"0.1"}\n',
        b'{"k":"mark","at":1.0,"label":"x"}\n',
        b'{"specscope":"one"}\n',
        b'{"specscope":1,"tool_version":"\xff"}\n',
        HEADER.rstrip(),
        b"\x1f\x8b",
        b"\x1f\x8brubbish that is not compressed",
        gzip.compress(b"", mtime=0),
        gzip.compress(b"hello\n", mtime=0),
    ],
)
def test_what_is_no_recording_is_refused_by_name(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "other.log").write_bytes(content)
    with pytest.raises(RecordingError, match=r"other\.log is not a recording of specscope"):
        Recording(tmp_path / "other.log")


def test_a_newer_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(HEADER.replace(b":1,", b":2,"))
    with pytest.raises(RecordingError, match="w has format 2; this specscope reads 1"):
        Recording(tmp_path / "w")


@pytest.mark.parametrize("name", ["missing", "."])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(RecordingError, match=r"missing|directory"):
        Recording(tmp_path / name)


def test_a_file_that_goes_away_while_it_is_read_is_an_error_of_its_own(tmp_path: Path) -> None:
    recording = Recording(record(tmp_path / "w", SECONDS))
    (tmp_path / "w").unlink()
    with pytest.raises(RecordingError, match="w: No such file"):
        list(recording.events())
