"""The watched process: what it was started with, without secrets; its samples; its end; where its log goes."""

from __future__ import annotations

import asyncio
import os
import pty
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specscope.events import ProcessSampled, ProcessSeen, ServerStarted, SourceAttached, SourceLost
from specscope.flags import ServerFlags, parse_flags
from specscope.sources import log_place, process
from specscope.sources.process import (
    DeviceFiles,
    ProcessSource,
    device_files,
    log_path_of,
    log_place_of,
    process_seen,
    redact_argv,
    redact_env,
)
from specscope.sources.source import Clock

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from pathlib import Path
    from typing import IO

    from specscope.events import Event

SECRET = "s3cr3t-value"  # noqa: S105 - a stand-in
WAIT = "import sys; print('up', flush=True); sys.stdin.read()"
BURN = "import threading; print('up', flush=True)\nwhile True: pass"


@contextmanager
def child(
    code: str,
    *arguments: str,
    env: dict[str, str] | None = None,
    cwd: Path | None = None,
    stderr: int | IO[bytes] | None = None,
) -> Generator[subprocess.Popen[bytes]]:
    """A Python process that runs until its standard input closes."""
    argv = [sys.executable, "-c", code, *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, stdin=pipe, stdout=pipe, stderr=stderr, env=env, cwd=cwd) as running:
        try:
            assert running.stdout is not None
            assert running.stdout.readline() == b"up\n"
            yield running
        finally:
            running.kill()


async def until(done: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not done():  # noqa: ASYNC110 - the facts of a source are all there is to wait for
            await asyncio.sleep(0.01)


@pytest.mark.parametrize(
    "argv",
    [
        ["llama-server", "--api-key", SECRET],
        ["llama-server", "--api_key", SECRET, "--port", "1"],
        ["llama-server", f"--api-key={SECRET}"],
        ["llama-server", "-hft", SECRET],
        ["llama-server", "--hf-token", SECRET],
        ["llama-server", "--mcp-servers-json", SECRET],
        ["llama-server", "-p", SECRET],
        ["llama-server", "-mu", f"https://me:{SECRET}@host/m.gguf"],
        ["llama-server", "-mu", f"https://host/m.gguf?X-Signature={SECRET}"],
        ["python", "serve.py", f"hf_{SECRET.replace('-', '')}"],
    ],
)
def test_secrets_leave_the_command_line(argv: list[str]) -> None:
    words = redact_argv(argv)
    assert len(words) == len(argv)
    assert not any("s3cr3t" in word for word in words)
    assert any("***" in word for word in words)


def test_what_is_no_secret_stays() -> None:
    argv = ["llama-server", "--api-key-file", "/k", "--ssl-key-file", "/s", "-m", "/m.gguf", "--port", "80"]
    assert redact_argv(argv) == argv
    assert parse_flags(redact_argv(["x", "--api-key", SECRET])).has_api_key


@given(st.lists(st.one_of(st.text(max_size=6), st.sampled_from(["--api-key", "-p", "--hf-token", "--port"]))))
def test_redaction_keeps_the_number_of_words(argv: list[str]) -> None:
    assert len(redact_argv(argv)) == len(argv)


def test_only_the_variables_that_set_up_a_server_are_kept() -> None:
    kept = {
        "LLAMA_ARG_SPEC_TYPE": "ngram-mod",
        "LLAMA_ARG_API_KEY_FILE": "/k",
        "LLAMA_ARG_IMAGE_MAX_TOKENS": "5",
        "LLAMA_TRACE": "1",
        "GGML_CUDA_DISABLE_GRAPHS": "1",
        "CUDA_VISIBLE_DEVICES": "0",
    }
    dropped = dict.fromkeys(
        ["LLAMA_API_KEY", "LLAMA_ARG_API_KEY", "LLAMA_ARG_HF_TOKEN", "LLAMA_ARG_MCP_SERVERS_JSON", "HF_TOKEN", "HOME"],
        SECRET,
    )
    assert redact_env(kept | dropped) == kept


def test_what_a_process_was_started_with() -> None:
    env = {"LLAMA_ARG_PORT": "81", "LLAMA_API_KEY": SECRET, "PATH": os.environ["PATH"]}
    with child(WAIT, "--api-key", SECRET, env=env) as running:
        seen = process_seen(running.pid, 7.0, "t3")
    assert (seen.at, seen.target, seen.pid, seen.host) == (7.0, "t3", running.pid, "binary")
    assert seen.argv[-2:] == ["--api-key", "***"]
    assert seen.env == {"LLAMA_ARG_PORT": "81"}
    assert seen.exe == os.path.realpath(sys.executable)
    assert seen.started is not None


def test_a_python_process_with_the_extension_hosts_the_server(tmp_path: Path) -> None:
    extension = tmp_path / "xllamacpp.abi3.so"
    extension.write_bytes(bytes(4096))
    code = "import mmap, os, sys; m = mmap.mmap(os.open(sys.argv[1], 0), 0, prot=1);" + WAIT
    with child(code, str(extension)) as running:
        assert process_seen(running.pid, 0.0).host == "python"
    with child(WAIT, "specscope.lab.host") as running:
        assert process_seen(running.pid, 0.0).host == "python"


async def test_a_process_is_seen_sampled_and_missed_when_it_ends() -> None:
    events: list[Event] = []
    with child(BURN) as running:
        source = ProcessSource(running.pid, Clock(), "t0", interval_s=0.15)
        task = asyncio.create_task(source.run(events.append))
        await until(lambda: any(isinstance(event, ProcessSampled) and event.threads for event in events))
        running.kill()
        await until(lambda: isinstance(events[-1], SourceLost))
        await task
    seen, started, attached, first, *more, lost = events
    assert isinstance(seen, ProcessSeen)
    assert isinstance(started, ServerStarted)
    assert (started.token, started.by) == (f"{running.pid}@{seen.started}", "process")
    assert isinstance(attached, SourceAttached)
    assert attached.hint == ""
    assert isinstance(first, ProcessSampled)
    assert (first.cpu_pct, first.threads) == (None, [])
    assert first.rss_bytes is not None
    assert first.rss_bytes > 1_000_000
    busy = next(event for event in more if isinstance(event, ProcessSampled) and event.threads)
    assert busy.cpu_pct is not None
    assert busy.cpu_pct > 0
    assert busy.threads[0][0].startswith("python")
    assert isinstance(lost, SourceLost)
    assert lost.reason == f"process {running.pid} ended"


async def test_a_restarted_process_is_found_again_and_its_absence_is_told_once() -> None:
    events: list[Event] = []
    now: list[int] = [2**22 + 1]
    source = ProcessSource(None, Clock(), "t0", interval_s=0.01, find=lambda: now[0])
    task = asyncio.create_task(source.run(events.append))
    await until(lambda: len(events) == 1)
    await asyncio.sleep(0.1)
    assert [type(event) for event in events] == [SourceLost]
    with child(WAIT) as running:
        now[0] = running.pid
        await until(lambda: any(isinstance(event, SourceAttached) for event in events))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_hidden_environment_is_unknown_and_the_hint_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "environ_of", Mock(return_value=None))
    events: list[Event] = []
    with child(WAIT) as running:
        task = asyncio.create_task(ProcessSource(running.pid, Clock(), interval_s=0.01).run(events.append))
        await until(lambda: any(isinstance(event, SourceAttached) for event in events))
        task.cancel()
    seen = next(event for event in events if isinstance(event, ProcessSeen))
    attached = next(event for event in events if isinstance(event, SourceAttached))
    assert seen.env is None
    assert "LLAMA_ARG_" in attached.hint


def devices(folder: Path, *names: str) -> Path:
    """A process's directory in /proc, with links to what it holds open."""
    held = folder / "7" / "fd"
    held.mkdir(parents=True)
    for i, name in enumerate(names):
        (held / str(i)).symlink_to(name)
    return held


def test_which_gpus_a_process_holds_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "PROC", tmp_path)
    others = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-caps/nvidia-cap1", "/dev/nvidia0 (deleted)", "pipe:[1]")
    devices(tmp_path, "/dev/nvidia10", "/dev/nvidia2", "/dev/nvidia2", "/dev/null", *others)
    assert device_files(7) == DeviceFiles([2, 10], accelerated=True)
    assert device_files(8) is None


@pytest.mark.parametrize("name", ["/dev/dri/renderD128", "/dev/kfd", "/dev/dxg", "/dev/davinci0", "/dev/accel/accel0"])
def test_accelerators_of_other_makes_are_seen_as_such(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "PROC", tmp_path)
    devices(tmp_path, "/dev/null", name)
    assert device_files(7) == DeviceFiles([], accelerated=True)


def test_a_process_without_gpus_and_one_that_may_not_be_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    assert device_files(os.getpid()) == DeviceFiles([], accelerated=False)
    monkeypatch.setattr(os, "scandir", Mock(side_effect=PermissionError))
    assert device_files(os.getpid()) is None


async def test_samples_carry_the_gpus_and_look_for_them_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    held = [DeviceFiles([0], accelerated=True), DeviceFiles([0, 1], accelerated=True), None]
    looked = Mock(side_effect=[*held, *[DeviceFiles([], accelerated=False)] * 99])
    monkeypatch.setattr(process, "device_files", looked)
    monkeypatch.setattr(process, "_GPUS_S", 0.2)
    events: list[Event] = []
    with child(WAIT) as running:
        task = asyncio.create_task(ProcessSource(running.pid, Clock(), interval_s=0.02).run(events.append))
        await until(lambda: looked.call_count > 3)
        task.cancel()
    told = [event.gpu_minors for event in events if isinstance(event, ProcessSampled)]
    changes = [a for a, b in zip(told, [..., *told], strict=False) if a != b]
    assert changes[:3] == [[0], [0, 1], None]
    assert len(told) > looked.call_count


# --- the log ------------------------------------------------------------------------------------------------------


def test_a_log_file_named_relative_to_the_servers_directory(tmp_path: Path) -> None:
    (tmp_path / "s.log").write_text("x")
    with child(WAIT, cwd=tmp_path, stderr=subprocess.DEVNULL) as running:
        assert log_path_of(running.pid, ServerFlags(log_file="s.log")) == tmp_path / "s.log"
        assert log_path_of(running.pid, ServerFlags(log_file=str(tmp_path / "s.log"))) == tmp_path / "s.log"
        assert log_path_of(running.pid, ServerFlags(log_file="missing.log")) is None


def test_a_redirected_error_stream_is_the_log(tmp_path: Path) -> None:
    path = tmp_path / "err.log"
    with path.open("wb") as file, child(WAIT, stderr=file) as running:
        assert log_path_of(running.pid, ServerFlags()) == path
        path.unlink()
        deleted = log_place_of(running.pid, ServerFlags())
        assert str(deleted.path) == f"/proc/{running.pid}/fd/2"
        off = log_place_of(running.pid, ServerFlags(log_disabled=True))
        assert (off.kind, off.words) == ("discarded", "the log is switched off by --log-disable")


def test_pipes_terminals_and_nothing_are_told_apart() -> None:
    terminal, other = pty.openpty()
    try:
        for stream, kind, words in (
            (subprocess.PIPE, "pipe", "the log goes to a pipe that another program reads"),
            (subprocess.DEVNULL, "discarded", "the log goes to /dev/null"),
            (other, "terminal", f"the log goes to {os.ttyname(other)}"),
        ):
            with child(WAIT, stderr=stream) as running:
                place = log_place_of(running.pid, ServerFlags())
            assert (place.kind, place.path, place.words) == (kind, None, words)
            assert "--log-file" in place.hint
    finally:
        os.close(terminal)
        os.close(other)
    gone = log_place_of(running.pid, ServerFlags())
    assert (gone.kind, gone.words) == ("unknown", "where the log goes cannot be seen")


@pytest.mark.parametrize(
    ("link", "cgroup", "kind", "hint"),
    [
        (
            "socket:[1]",
            "0::/system.slice/llama.service\n",
            "journal",
            "journalctl -fu llama.service -o cat | specscope --log -",
        ),
        (
            "socket:[1]",
            "0::/user.slice/user-1.slice/user@1.service/app.slice/my.service\n",
            "journal",
            "journalctl --user -fu my.service -o cat | specscope --log -",
        ),
        (
            "pipe:[1]",
            f"0::/system.slice/docker-{'ab' * 32}.scope\n",
            "container",
            "docker logs -f abababababab 2>&1 | specscope --log -",
        ),
        (
            "pipe:[1]",
            f"0::/machine.slice/libpod-{'cd' * 32}.scope/container\n",
            "container",
            "podman logs -f cdcdcdcdcdcd 2>&1 | specscope --log -",
        ),
        (
            "pipe:[1]",
            f"0::/kubepods.slice/pod1/cri-containerd-{'ef' * 32}.scope\n",
            "container",
            "kubectl logs -f POD | specscope --log -",
        ),
        ("socket:[1]", "0::/\n", "unknown", "restart the server with --log-file FILE, or give --log FILE"),
    ],
)
def test_the_command_that_reads_a_log_elsewhere(
    monkeypatch: pytest.MonkeyPatch, link: str, cgroup: str, kind: str, hint: str
) -> None:
    monkeypatch.setattr(log_place, "is_file", Mock(return_value=False))
    monkeypatch.setattr(log_place, "link_of", Mock(return_value=link))
    monkeypatch.setattr(log_place, "cgroup_of", Mock(return_value=cgroup))
    place = log_place_of(1, ServerFlags())
    assert (place.kind, place.hint) == (kind, hint)
