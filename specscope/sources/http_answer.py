"""The answer to a GET, read from a socket as far as specscope wants to know: its status and its body.

What RFC 9112 leaves open is read as strictly as safety needs: a length that is no number and a chunk that is none are
errors, not guesses. Of an answer's head only the three fields that say where the body ends are looked at.
"""

from __future__ import annotations

import re
from http import HTTPStatus
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import socket

RECEIVE: Final = 1 << 16
MAX_HEAD: Final = 1 << 16
"""Bytes of an answer's head, of a line within a chunked body, and of its trailer."""

_HEAD_END: Final = re.compile(rb"\r?\n\r?\n")
_STATUS: Final = re.compile(rb"HTTP/1\.(\d) ([1-9]\d\d)(?!\d)")
_FIELD: Final = re.compile(rb"\n(content-length|transfer-encoding|connection)[ \t]*:[ \t]*([^\r\n]*)", re.IGNORECASE)
_LENGTH: Final = re.compile(rb"\d{1,15}")
_CHUNK: Final = re.compile(rb"[ \t]*([0-9a-fA-F]{1,8})[ \t]*(?:;.*)?\r?", re.DOTALL)
_BODILESS: Final = (HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED)
_SHOWN: Final = 80


class MalformedAnswerError(Exception):
    """What came is no HTTP answer. The text holds its beginning."""


class LongAnswerError(Exception):
    """The body is longer than it may be."""


class Head(NamedTuple):
    """An answer's head as it came, and what it says. ``size`` None: the body ends with the connection."""

    data: bytes = b""
    status: int = 0
    size: int | None = None
    chunked: bool = False
    keep: bool = False


class Incoming:
    """What has come over a socket and was not used yet.

    Attributes:
        ended: the server has closed.
    """

    def __init__(self, sock: socket.socket, data: bytes) -> None:
        self._sock = sock
        self.rest = data
        self.ended = not data

    def more(self, where: str) -> None:
        """Wait for more.

        Raises:
            ConnectionError: the server has closed, in this part of its answer.
        """
        data = b"" if self.ended else self._sock.recv(RECEIVE)
        if not data:
            raise ConnectionAbortedError(f"the server closed the connection {where}")
        self.rest += data

    def head(self) -> bytes:
        """A head, with the empty line behind it."""
        looked = 0
        while (end := _HEAD_END.search(self.rest, looked)) is None:
            looked = max(0, len(self.rest) - 3)
            if looked > MAX_HEAD:
                raise MalformedAnswerError(f"a head of more than {MAX_HEAD >> 10} KiB")
            if not b"HTTP/".startswith(self.rest[:5]):
                raise _malformed(self.rest)
            self.more("within its answer's head" if self.rest else "without response")
        head, self.rest = self.rest[: end.end()], self.rest[end.end() :]
        return head

    def line(self) -> bytes:
        """A line, without its end."""
        while (end := self.rest.find(b"\n")) < 0:
            if len(self.rest) > MAX_HEAD:
                raise MalformedAnswerError(f"a line of more than {MAX_HEAD >> 10} KiB in a chunked body")
            self.more("within its answer")
        line, self.rest = self.rest[:end], self.rest[end + 1 :]
        return line

    def take(self, size: int) -> bytes:
        """So many bytes, or fewer where the server closed before."""
        parts, missing = [self.rest], size - len(self.rest)
        while missing > 0 and not self.ended:
            data = self._sock.recv(RECEIVE)
            self.ended = not data
            parts.append(data)
            missing -= len(data)
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        taken, self.rest = data[:size], data[size:]
        return taken


def read_head(incoming: Incoming) -> Head:
    """The head of the answer, behind any "100 Continue" and its like."""
    while True:
        data = incoming.head()
        start = _STATUS.match(data)
        if start is None:
            raise _malformed(data)
        status = int(start[2])
        if status >= HTTPStatus.OK:
            break
    fields = {name.lower(): value.strip().lower() for name, value in _FIELD.findall(data)}
    connection, size = fields.get(b"connection", b""), fields.get(b"content-length")
    keep = b"keep-alive" in connection if start[1] == b"0" else b"close" not in connection
    if status in _BODILESS:
        return Head(data, status, 0, keep=keep)
    if fields.get(b"transfer-encoding", b"").endswith(b"chunked"):
        return Head(data, status, chunked=True, keep=keep)
    if size is None:
        return Head(data, status)
    if _LENGTH.fullmatch(size) is None:
        raise MalformedAnswerError(f"Content-Length: {size[:_SHOWN].decode('latin-1')}")
    return Head(data, status, int(size), keep=keep)


def read_body(head: Head, incoming: Incoming, limit: int) -> bytes:
    """The body behind a head."""
    if head.chunked:
        return _chunked(incoming, limit)
    if head.size is not None and head.size > limit:
        raise LongAnswerError
    body = incoming.take(limit + 1 if head.size is None else head.size)
    if len(body) > limit:
        raise LongAnswerError
    return body


def _chunked(incoming: Incoming, limit: int) -> bytes:
    """A chunked body, read to the end of its trailer."""
    parts: list[bytes] = []
    while True:
        line = incoming.line()
        start = _CHUNK.fullmatch(line)
        if start is None:
            raise MalformedAnswerError(f"no chunk: {line[:_SHOWN].decode('latin-1')}")
        size = int(start[1], 16)
        if size == 0:
            break
        limit -= size
        if limit < 0:
            raise LongAnswerError
        parts.append(incoming.take(size))
        if incoming.line().strip():
            raise MalformedAnswerError("a chunk is longer than it says")
    left = MAX_HEAD
    while line := incoming.line().strip():
        left -= len(line)
        if left < 0:
            raise MalformedAnswerError(f"a trailer of more than {MAX_HEAD >> 10} KiB")
    return b"".join(parts)


def _malformed(data: bytes) -> MalformedAnswerError:
    return MalformedAnswerError(f"no HTTP answer: {data[:_SHOWN].decode('latin-1')}")
