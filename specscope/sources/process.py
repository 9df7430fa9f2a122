"""The server's process: its command line and environment without secrets, its CPU, memory and busiest threads."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import time
from typing import TYPE_CHECKING, Literal, NamedTuple

import psutil

from specscope.events import ProcessSampled, ProcessSeen, ServerStarted, SourceAttached, SourceLost
from specscope.flags import parse_flags
from specscope.sources.log_place import LogPlace, log_path_of, log_place_of
from specscope.sources.presets import preset_types
from specscope.sources.procfs import PROC, argv_of, environ_of, maps_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from specscope.sources.source import Clock, Emit

__all__ = [
    "DeviceFiles",
    "LogPlace",
    "ProcessSource",
    "device_files",
    "host_of",
    "is_python",
    "log_path_of",
    "log_place_of",
    "process_seen",
    "redact_argv",
    "redact_env",
]

HOST_MODULE = "specscope.lab.host"
EXTENSION = "xllamacpp"

_MASK = "***"
_KEPT_VARIABLE = re.compile(r"(LLAMA|GGML)_|CUDA_VISIBLE_DEVICES$")
# The end decides: LLAMA_ARG_API_KEY_FILE and LLAMA_ARG_IMAGE_MAX_TOKENS are no secrets. A configuration of MCP
# servers is one, because tokens stand in it.
_SECRET_VARIABLE = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS|MCP_SERVERS_JSON)$")
_SECRET_FLAG = re.compile(r"--?(.+-)?(key|token|secret|password|mcp-servers-json)$|-hft$")
_PROMPT_FLAGS = ("-p", "--prompt", "-sys", "--system-prompt")
_SECRET_TEXT = re.compile(r"(?<=://)[^/@\s]+(?=@)|(?<=\?)\S*(?i:token|signature|key)\S*|\b(hf_|sk-)[\w-]{8,}")
_PYTHON = re.compile(r"python[\d.]*(\.exe)?$")

# Not nvidiactl, nvidia-uvm and the like, which are no device's. dri: Vulkan, Intel and AMD; kfd: ROCm; dxg: WSL2;
# the last two: NPUs (Ascend, accel subsystem).
_GPU_FILE = re.compile(r"/dev/(nvidia(?P<nvidia>\d+)|dri/\w+|kfd|dxg|davinci\d+|accel/\w+)$")
_GPUS_S = 10.0  # between looks at the files held: a server takes its GPUs when it starts and keeps them

_TOP_THREADS = 5
_LEAST_THREAD_PCT = 0.5
_ENV_HINT = "run as the server's user or as root to see the LLAMA_ARG_* variables it was started with"


def redact_argv(argv: Sequence[str]) -> list[str]:
    """A command line with keys, tokens, passwords and prompts replaced by ``***``; the words stay in place."""
    words: list[str] = []
    hide = False
    for word in argv:
        name, equals, _ = word.partition("=")
        name = name.replace("_", "-") if name.startswith("--") else name
        secret = name in _PROMPT_FLAGS or _SECRET_FLAG.match(name) is not None
        if hide:
            words.append(_MASK)
        elif secret and equals:
            words.append(f"{word.partition('=')[0]}={_MASK}")
        else:
            words.append(_SECRET_TEXT.sub(_MASK, word))
        hide = secret and not equals and not hide
    return words


def redact_env(env: Mapping[str, str]) -> dict[str, str]:
    """The variables that set up a server, without keys and tokens."""
    return {
        name: _SECRET_TEXT.sub(_MASK, value)
        for name, value in env.items()
        if _KEPT_VARIABLE.match(name) and not _SECRET_VARIABLE.search(name)
    }


def is_python(program: str) -> bool:
    """Whether a program (a path or a name) is a Python interpreter."""
    return _PYTHON.match(program.rpartition("/")[2]) is not None


def host_of(pid: int, argv: Sequence[str], exe: str | None) -> Literal["binary", "python"]:
    """Whether the server runs as a program of its own or inside a Python process."""
    if not is_python(exe or (argv[0] if argv else "")):
        return "binary"
    return "python" if HOST_MODULE in argv or maps_name(pid, EXTENSION) else "binary"


def process_seen(pid: int, at: float, target: str = "t0") -> ProcessSeen:
    """What a process was started with.

    Args:
        pid: the process.
        at: the present, in seconds since the epoch.
        target: the watched server.

    Raises:
        psutil.NoSuchProcess: it is gone.
    """
    process = psutil.Process(pid)
    argv, env, exe = argv_of(pid), environ_of(pid), _exe(process)
    presets = preset_types(pid, parse_flags(argv, env or {}), env)
    return ProcessSeen(
        at=at,
        target=target,
        pid=pid,
        argv=redact_argv(argv),
        env=None if env is None else redact_env(env),
        exe=exe,
        started=process.create_time(),
        host=host_of(pid, argv, exe),
        preset_spec_types=presets,
    )


def _exe(process: psutil.Process) -> str | None:
    try:
        return process.exe() or None
    except psutil.AccessDenied:
        return None


class DeviceFiles(NamedTuple):
    """Device files that a process holds open: N of each /dev/nvidiaN, and whether there is any accelerator's."""

    minors: list[int]
    accelerated: bool


def device_files(pid: int) -> DeviceFiles | None:
    """The accelerators' files that a process holds open; None where its files may not be listed, or it is gone."""
    minors: set[int] = set()
    accelerated = False
    try:
        with os.scandir(PROC / str(pid) / "fd") as entries:
            for entry in entries:
                with contextlib.suppress(OSError):  # closed meanwhile
                    # A server has hundreds of descriptors.
                    if found := _GPU_FILE.match(os.readlink(entry.path)):  # noqa: PTH115  a Path costs more
                        accelerated = True
                        if found["nvidia"]:
                            minors.add(int(found["nvidia"]))
    except OSError:
        return None
    return DeviceFiles(sorted(minors), accelerated)


class _Meter:
    """CPU and memory of a process between two readings."""

    def __init__(self, pid: int) -> None:
        self._process = psutil.Process(pid)
        self._at_s: float | None = None
        self._cpu_s = 0.0
        self._threads_s: dict[int, float] = {}
        self._devices: DeviceFiles | None = None
        self._gpus_at_s: float | None = None

    def read(self, at: float, target: str) -> ProcessSampled:
        """A sample. Percentages are of one core since the last reading, and absent in the first.

        Raises:
            psutil.NoSuchProcess: the process ended, or its number now belongs to another one.
        """
        process = self._process
        with process.oneshot():
            if not process.is_running() or process.status() == psutil.STATUS_ZOMBIE:
                raise psutil.NoSuchProcess(process.pid)
            now_s = time.monotonic()
            times = process.cpu_times()
            rss_bytes = process.memory_info().rss
        cpu_s = times.user + times.system
        threads_s = self._read_threads()
        span_s = None if self._at_s is None else max(now_s - self._at_s, 1e-3)
        cpu_pct = None if span_s is None else round(100 * (cpu_s - self._cpu_s) / span_s, 1)
        threads = [] if span_s is None else self._busiest(threads_s, span_s)
        self._at_s, self._cpu_s, self._threads_s = now_s, cpu_s, threads_s
        if self._gpus_at_s is None or now_s - self._gpus_at_s >= _GPUS_S:
            self._gpus_at_s, self._devices = now_s, device_files(process.pid)
        devices = self._devices
        return ProcessSampled(
            at=at,
            target=target,
            cpu_pct=cpu_pct,
            rss_bytes=rss_bytes,
            threads=threads,
            gpu_minors=devices.minors if devices is not None else None,
            accelerated=devices.accelerated if devices is not None else None,
        )

    def _read_threads(self) -> dict[int, float]:
        try:
            return {thread.id: thread.user_time + thread.system_time for thread in self._process.threads()}
        except psutil.AccessDenied:
            return {}

    def _busiest(self, threads_s: dict[int, float], span_s: float) -> list[tuple[str, float]]:
        """The threads that used most, as (name, percent). A thread that is new counts from its start."""
        used = [
            (100 * (cpu_s - self._threads_s.get(thread, 0.0)) / span_s, thread) for thread, cpu_s in threads_s.items()
        ]
        top = sorted(used, reverse=True)[:_TOP_THREADS]
        return [(self._name(thread), round(pct, 1)) for pct, thread in top if pct >= _LEAST_THREAD_PCT]

    def _name(self, thread: int) -> str:
        try:
            comm = PROC / str(self._process.pid) / "task" / str(thread) / "comm"
            return comm.read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return str(thread)


class ProcessSource:
    """Watches one process until it ends, and the next one if it is told how to find it.

    Args:
        pid: the process, or None to look for it first.
        clock: the watch's clock.
        target: the watched server.
        interval_s: seconds between samples, and between looks for a process that is gone.
        find: finds the process again after a restart; called off the event loop.
    """

    name = "process"

    def __init__(
        self,
        pid: int | None,
        clock: Clock,
        target: str = "t0",
        *,
        interval_s: float = 2.0,
        find: Callable[[], int | None] | None = None,
    ) -> None:
        self._pid = pid
        self._clock = clock
        self._target = target
        self._interval_s = interval_s
        self._find = find
        self._lost: str | None = None

    async def run(self, emit: Emit) -> None:
        """Emit what the process was started with, then a sample every interval, then its end."""
        pid = self._pid
        while True:
            if pid is not None:
                await self._watch(pid, emit)
            if self._find is None:
                return
            await asyncio.sleep(self._interval_s)
            pid = await asyncio.to_thread(self._find)

    async def _watch(self, pid: int, emit: Emit) -> None:
        try:
            seen = await asyncio.to_thread(process_seen, pid, self._clock.now(), self._target)
            meter = _Meter(pid)
            sample = await asyncio.to_thread(meter.read, self._clock.now(), self._target)
            self._attach(seen, emit)
            while True:
                emit(sample)
                await asyncio.sleep(self._interval_s)
                sample = await asyncio.to_thread(meter.read, self._clock.now(), self._target)
        except psutil.NoSuchProcess:
            reason = f"process {pid} ended"
        except (psutil.Error, OSError) as error:
            reason = f"process {pid}: {error}"
        if reason != self._lost:
            self._lost = reason
            emit(SourceLost(at=self._clock.now(), target=self._target, source=self.name, reason=reason))

    def _attach(self, seen: ProcessSeen, emit: Emit) -> None:
        self._lost = None
        at, target = seen.at, self._target
        emit(seen)
        emit(ServerStarted(at=at, target=target, token=f"{seen.pid}@{seen.started}", by="process"))
        emit(
            SourceAttached(
                at=at,
                target=target,
                source=self.name,
                tier="none",
                detail=f"pid {seen.pid}",
                hint=_ENV_HINT if seen.env is None else "",
            )
        )
