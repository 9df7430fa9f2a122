"""Commands as programs: signals, and readers that go away."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING

import pytest
from programs import finish, make_recording, start, until_watching, wait_for

from specscope.events import WatchEnded
from specscope.recording import Recording

if TYPE_CHECKING:
    from pathlib import Path

    from fake_server import FakeServer


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("name", ["r.jsonl", "r.jsonl.gz"])
def test_a_signal_ends_a_recording_in_order(number: int, name: str, server: FakeServer, tmp_path: Path) -> None:
    path = tmp_path / name
    process = start("record", server.url, "-o", str(path))
    assert until_watching(process) == f"watching {server.url} (polled)"
    process.send_signal(number)
    status, out, err = finish(process)
    assert (status, out) == (0, b"")
    assert "Traceback" not in err
    recording = Recording(path)
    *_, last = recording.events()
    assert isinstance(last, WatchEnded)
    assert not recording.broken


def test_a_signal_ends_a_stream_in_order(server: FakeServer) -> None:
    process = start("stream", server.url)
    until_watching(process)
    process.send_signal(signal.SIGINT)
    status, out, err = finish(process)
    assert (status, err) == (0, "")
    facts = [json.loads(line) for line in out.splitlines()]
    assert facts[-1]["k"] == "ended"


def test_a_signal_while_sources_attach(server: FakeServer, tmp_path: Path) -> None:
    def slow(request: object) -> None:
        server._closing.wait()

    server.routes["/metrics"] = slow
    process = start("record", server.url, "-o", str(tmp_path / "r.jsonl"))
    wait_for(lambda: server.seen["/metrics"])
    process.send_signal(signal.SIGTERM)
    status, _, err = finish(process)
    assert status == 0
    assert "Traceback" not in err
    *_, last = Recording(tmp_path / "r.jsonl").events()
    assert isinstance(last, WatchEnded)


def test_a_reader_that_leaves_ends_a_live_stream(server: FakeServer) -> None:
    process = start("stream", server.url)
    assert process.stdout is not None
    assert json.loads(process.stdout.readline())["k"] == "target"
    process.stdout.close()
    assert process.stderr is not None
    err = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(30) == 0
    assert "Traceback" not in err
    assert "Broken" not in err


@pytest.mark.parametrize("command", [["stream"], ["snapshot", "--json"], ["check"]], ids=" ".join)
def test_a_reader_that_left_before_a_recording_was_read(command: list[str], tmp_path: Path) -> None:
    path = make_recording(tmp_path / "r.jsonl", cycles=3000)
    process = start(*command[:1], str(path), *command[1:])
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    err = process.stderr.read().decode()
    process.stderr.close()
    assert process.wait(30) in (0, 1)
    assert err == ""


def test_a_full_disk_is_told(server: FakeServer) -> None:
    if not os.path.exists("/dev/full"):  # noqa: PTH110  a device
        pytest.skip("no /dev/full")
    status, _, err = finish(start("record", server.url, "--seconds", "0.2", "-o", "/dev/full"))
    assert status == 2
    assert "exists" in err


def test_without_a_terminal_the_program_ends_with_a_hint() -> None:
    status, out, err = finish(start())
    assert (status, out) == (2, b"")
    assert "specscope snapshot --json" in err
