"""Following bytes that grow: a file that may be rotated, truncated or deleted, or a stream."""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import stat
from typing import TYPE_CHECKING, BinaryIO, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from pathlib import Path

CHUNK_BYTES = 64 * 1024
"""The most that is read at once, so that a backlog never holds up the event loop for long."""

EDGE_BYTES = 64
"""What is kept of the bytes read last, to know a file again that was cut and has outgrown its old length since."""

LINE_LIMIT_BYTES = 1024 * 1024


class LineBuffer:
    """Cuts a stream of bytes into lines, in bounded memory: the same lines however the bytes are chunked.

    A line longer than ``limit_bytes`` is left out and counted in ``skipped``. NUL bytes are dropped: a file
    truncated under a writer that keeps its offset begins with a hole of them.
    """

    def __init__(self, limit_bytes: int = LINE_LIMIT_BYTES) -> None:
        self.skipped = 0
        self._limit_bytes = limit_bytes
        self._parts: list[bytes] = []
        self._size_bytes = 0

    def feed(self, chunk: bytes) -> list[bytes]:
        """The lines that ``chunk`` completes, without their ends."""
        if b"\0" in chunk:
            chunk = chunk.replace(b"\0", b"")
        *ends, rest = chunk.split(b"\n")
        lines: list[bytes] = []
        for end in ends:
            self._keep(end)
            line = self.drain()
            if line is not None:
                lines.append(line)
        self._keep(rest)
        return lines

    def drain(self) -> bytes | None:
        """What is kept of a line whose end has not come. None for one that is too long, which counts it."""
        is_too_long = self._size_bytes > self._limit_bytes
        line = b"".join(self._parts)
        self._parts.clear()
        self._size_bytes = 0
        if is_too_long:
            self.skipped += 1
            return None
        return line.removesuffix(b"\r")

    def _keep(self, part: bytes) -> None:
        self._size_bytes += len(part)
        if self._size_bytes > self._limit_bytes:
            self._parts.clear()
        elif part:
            self._parts.append(part)


News: TypeAlias = Literal["nothing", "data", "opened", "appeared", "rotated", "truncated", "lost"]


class Step(NamedTuple):
    """What one look at a file found.

    ``opened``: it was there before it was followed. ``appeared``: it came while it was waited for, so all of it
    is new. After ``rotated`` and ``truncated`` the data starts over.
    """

    news: News
    data: bytes = b""
    reason: str = ""
    hint: str = ""


class FileFollower:
    """Follows a file by looking again and again. Not a thread and not a task: the caller sets the pace.

    A renamed file is followed until another takes its name. Regular files and named pipes only: opening the
    pipe behind /proc/PID/fd would take its lines away from whoever reads them.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None
        self._identity: tuple[int, int] = (0, 0)
        self._offset = 0
        self._edge = b""
        self._is_regular = True
        self._was_absent = False

    def step(self) -> Step:
        """Look once: a system call or three, never blocking on a local file system."""
        if self._fd is None:
            return self._open("appeared" if self._was_absent else "opened")
        try:
            return self._read(self._fd)
        except OSError as error:
            return self._lose(f"cannot read the log: {error.strerror}")

    def history(self, head_bytes: int, tail_bytes: int) -> tuple[bytes, bytes]:
        """The first and the last bytes of the open file; following goes on at its end. Raises OSError.

        There is a gap between them, or else the tail is empty and the head has all.
        """
        if self._fd is None or not self._is_regular:
            return b"", b""
        size = os.fstat(self._fd).st_size
        if size <= head_bytes + tail_bytes:
            head, tail = os.pread(self._fd, size, 0), b""
            self._offset = len(head)
        else:
            head = os.pread(self._fd, head_bytes, 0)
            tail = os.pread(self._fd, tail_bytes, size - tail_bytes)
            self._offset = size - tail_bytes + len(tail)
        self._edge = (tail or head)[-EDGE_BYTES:]
        return head, tail

    def close(self) -> None:
        """Let go of the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _open(self, news: News) -> Step:
        try:
            status = self._path.stat()
            if not stat.S_ISREG(status.st_mode) and not self._is_named_pipe(status.st_mode):
                return self._lose("the log is not a file that can be followed", _PIPE_HINT)
            self._fd = os.open(self._path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            status = os.fstat(self._fd)
        except FileNotFoundError:
            self._was_absent = True
            return self._lose("no such file", "it is followed as soon as it appears")
        except PermissionError:
            return self._lose("permission denied", "run as a user who may read it, or pipe it in: ... | --log -")
        except OSError as error:
            return self._lose(f"cannot open the log: {error.strerror}")
        self._is_regular = stat.S_ISREG(status.st_mode)
        self._identity = (status.st_dev, status.st_ino)
        self._offset, self._edge = 0, b""
        self._was_absent = False
        return Step(news)

    def _is_named_pipe(self, mode: int) -> bool:
        return stat.S_ISFIFO(mode) and not str(self._path.absolute()).startswith("/proc/")

    def _read(self, fd: int) -> Step:
        if not self._is_regular:
            try:
                data = os.read(fd, CHUNK_BYTES)
            except BlockingIOError:
                return Step("nothing")
            return Step("data", data) if data else Step("nothing")
        data = self._next(fd)
        if data is None:
            self._offset, self._edge = 0, b""
            return Step("truncated")
        return Step("data", data) if data else self._look_at_name(fd, has_name=os.fstat(fd).st_nlink > 0)

    def _next(self, fd: int) -> bytes | None:
        """What follows; None where the file no longer has what was read of it: it was written anew, perhaps longer.

        Behind a writer that keeps its offset there is a hole, which is read as zeros, and the file goes on.
        """
        edge = self._edge
        data = os.pread(fd, len(edge) + CHUNK_BYTES, self._offset - len(edge))
        before, data = data[: len(edge)], data[len(edge) :]
        if before != edge and (len(before) < len(edge) or before.strip(b"\0")):
            return None
        if data:
            self._offset += len(data)
            self._edge = (before + data)[-EDGE_BYTES:]
        return data

    def _look_at_name(self, fd: int, *, has_name: bool) -> Step:
        """Whether the name still means the file that is open."""
        try:
            status = self._path.stat()
        except FileNotFoundError:
            if has_name:
                return Step("nothing")
            self._was_absent = True
            return self._lose("the log was deleted", "it is followed again as soon as it is back")
        if (status.st_dev, status.st_ino) == self._identity:
            return Step("nothing")
        last = self._next(fd)  # written between the last read and the renaming
        if last:
            return Step("data", last)
        self.close()
        return self._open("rotated")

    def _lose(self, reason: str, hint: str = "") -> Step:
        self.close()
        return Step("lost", reason=reason, hint=hint)


_PIPE_HINT = "start the server with --log-file FILE, or pipe its log in: ... | --log -"


async def stream_chunks(stream: BinaryIO, quiet_s: float) -> AsyncGenerator[bytes, None]:
    """The bytes of a stream until it ends, and an empty chunk whenever it was silent for ``quiet_s`` seconds.

    Pipes, sockets and terminals are read when they are ready, past any buffer of ``stream``. Everything else
    (a redirected file, bytes in memory) does not keep a reader waiting and is read in a thread.
    """
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    try:
        fd = stream.fileno()
        loop.add_reader(fd, ready.set)
        poll = select.poll()
        poll.register(fd, select.POLLIN)
    except (OSError, ValueError, NotImplementedError):
        while chunk := await asyncio.to_thread(stream.read, CHUNK_BYTES):
            yield chunk
        return
    try:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(quiet_s):
                    await ready.wait()
            if not ready.is_set():
                yield b""
                continue
            ready.clear()
            if not poll.poll(0):
                continue  # the loop told of the same bytes twice: a read would wait, and everything with it
            with contextlib.suppress(BlockingIOError):
                chunk = os.read(fd, CHUNK_BYTES)
                if not chunk:
                    return
                yield chunk
    finally:
        loop.remove_reader(fd)
