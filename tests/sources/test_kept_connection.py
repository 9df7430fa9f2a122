"""The poller's own HTTP client, against answers of every shape in pieces of every size."""

from __future__ import annotations

import contextlib
import socket
import threading
from contextlib import closing, contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specscope.sources.address import read_address
from specscope.sources.http_answer import MAX_HEAD, LongAnswerError, MalformedAnswerError
from specscope.sources.kept_connection import KeptConnection, Reply

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE_S = 20.0
LIMIT = 1000
OK = b"HTTP/1.1 200 OK\r\n"


@contextmanager
def answered(*answers: list[bytes], end: bool = False, limit: int = LIMIT) -> Iterator[KeptConnection]:
    """A connection whose other end gives each request the next answer, in these pieces; ``end`` closes behind it."""
    connection = KeptConnection(read_address("http://127.0.0.1:1/prefix", "key"), "/slots", limit=limit)
    ours, theirs = socket.socketpair()
    ours.settimeout(PATIENCE_S)
    connection.sock = ours

    def serve() -> None:
        with theirs, contextlib.suppress(OSError):
            for pieces in answers:
                _request(theirs)
                for piece in pieces:
                    theirs.sendall(piece)
            if not end:
                theirs.recv(1)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        with closing(connection):
            yield connection
    finally:
        thread.join(PATIENCE_S)


def _request(sock: socket.socket) -> bytes:
    request = b""
    while not request.endswith(b"\r\n\r\n"):
        data = sock.recv(65536)
        if not data:
            raise ConnectionError
        request += data
    return request


def cut(data: bytes, *places: int) -> list[bytes]:
    """The data in pieces."""
    ends = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(ends) if start < end]


def chunked(body: bytes, size: int, *, extension: bytes = b"", trailer: bytes = b"") -> bytes:
    parts = [body[i : i + size] for i in range(0, len(body), size)]
    chunks = b"".join(b"%X%s\r\n%s\r\n" % (len(part), extension, part) for part in parts)
    return b"Transfer-Encoding: Chunked\r\n\r\n" + chunks + b"0\r\n" + trailer + b"\r\n"


def test_the_request_has_what_a_server_needs_and_nothing_else() -> None:
    listener = socket.create_server(("127.0.0.1", 0))
    with listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/a%20b/"
        with closing(KeptConnection(read_address(url, "sk-1"), "/slots", limit=LIMIT)) as connection:
            connection.connect(PATIENCE_S, PATIENCE_S)
            accepted, _ = listener.accept()
            with accepted:
                accepted.sendall(OK + b"Content-Length: 2\r\n\r\n[]")
                assert connection.get() == Reply(200, b"[]")
                lines = _request(accepted).decode().split("\r\n")
    assert lines[0] == "GET /a%20b/slots HTTP/1.1"
    assert set(lines[1:-2]) == {f"Host: {url.split('/')[2]}", "Accept-Encoding: identity", "Authorization: Bearer sk-1"}


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("http://[::1]:8080", "[::1]:8080"),
        ("http://example.org", "example.org:80"),
        ("http://bücher.example:81/x", "xn--bcher-kva.example:81"),
    ],
)
def test_the_host_as_a_server_wants_it(address: str, host: str) -> None:
    connection = KeptConnection(read_address(address), "/slots", limit=LIMIT)
    assert f"\r\nHost: {host}\r\n".encode() in connection._request


@pytest.mark.parametrize(
    "answer",
    [
        OK + b"Content-Length: 5\r\n\r\nhello",
        OK + b"content-LENGTH :  5 \r\nX-A: b\r\n\r\nhello",
        OK.replace(b"\r\n", b"\n") + b"Content-Length: 5\n\nhello",
        b"HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 103 Early Hints\r\nContent-Length: 9\r\n\r\n" * 3 + OK + b"Content-Length: 5\r\n\r\nhello",
        OK + chunked(b"hello", 2),
        OK + chunked(b"hello", 5, extension=b' ;a="b"', trailer=b"X-Sum: 1\r\n"),
        OK + b"Content-Length: 99\r\n" + chunked(b"hello", 3),
    ],
)
@given(places=st.lists(st.integers(0, 300), max_size=4))
def test_an_answer_is_read_whole_in_whatever_pieces_it_comes(answer: bytes, places: list[int]) -> None:
    with answered(*[cut(answer, *places)] * 3) as connection:
        for _ in range(3):
            assert connection.get() == Reply(200, b"hello")
            assert connection.sock is not None


@given(bodies=st.lists(st.binary(max_size=40), min_size=1, max_size=6), places=st.lists(st.integers(0, 90), max_size=2))
def test_answers_of_changing_length_are_told_apart(bodies: list[bytes], places: list[int]) -> None:
    answers = [cut(OK + b"Content-Length: %d\r\n\r\n%s" % (len(body), body), *places) for body in bodies]
    with answered(*answers) as connection:
        assert [connection.get().body for _ in bodies] == bodies


@pytest.mark.parametrize(
    ("answer", "reply"),
    [
        (OK + b"Connection: close\r\nContent-Length: 2\r\n\r\n[]", Reply(200, b"[]")),
        (OK + b"Connection: close\r\n" + chunked(b"[]", 1), Reply(200, b"[]")),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n[]", Reply(200, b"[]")),
        (OK + b"Content-Length: 2\r\n\r\n[]HTTP/1.1 200", Reply(200, b"[]")),
        (b"HTTP/1.1 501 No\r\nContent-Length: 1\r\n\r\nx" + b"left over", Reply(501, b"x")),
    ],
)
def test_what_is_not_to_be_kept_is_closed(answer: bytes, reply: Reply) -> None:
    with answered([answer]) as connection:
        assert connection.get() == reply
        assert connection.sock is None


@pytest.mark.parametrize("head", [OK, b"HTTP/1.0 200 OK\r\n", OK + b"Connection: keep-alive\r\n"])
@given(places=st.lists(st.integers(0, 60), max_size=3))
def test_without_a_length_the_body_ends_with_the_connection(head: bytes, places: list[int]) -> None:
    with answered(cut(head + b"\r\n[1, 2]", *places), end=True) as connection:
        assert connection.get() == Reply(200, b"[1, 2]")
        assert connection.sock is None


@pytest.mark.parametrize("status", [204, 304])
def test_an_answer_that_has_no_body_is_not_waited_for(status: int) -> None:
    answer = b"HTTP/1.1 %d X\r\n\r\n" % status
    with answered([answer], [OK + b"Content-Length: 2\r\n\r\n[]"]) as connection:
        assert connection.get() == Reply(status, b"")
        assert connection.get() == Reply(200, b"[]")


def test_a_body_broken_off_is_as_short_as_it_came() -> None:
    with answered([OK + b"Content-Length: 900\r\n\r\n[{"], end=True) as connection:
        assert connection.get() == Reply(200, b"[{")
        assert connection.sock is None


def test_the_answer_before_says_nothing_of_one_with_the_same_head_that_breaks_off() -> None:
    head = OK + b"Content-Length: 4\r\n\r\n"
    with answered([head + b"[{}]"], [head + b"[{"], end=True) as connection:
        assert connection.get() == Reply(200, b"[{}]")
        assert connection.get() == Reply(200, b"[{")
        assert connection.sock is None


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b"", "without response"),
        (b"HTTP/1.1 20", "within its answer's head"),
        (OK + b"Content-Length: 3\r\n", "within its answer's head"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", "without response"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n", "within its answer"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhel", "within its answer"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "within its answer"),
        (OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n", "within its answer"),
    ],
)
def test_a_connection_that_ends_too_early(answer: bytes, says: str) -> None:
    with answered([answer], end=True) as connection:
        with pytest.raises(ConnectionError, match=says):
            connection.get()
        assert connection.sock is None


@pytest.mark.parametrize(
    "answer",
    [
        b"garbage",
        b"\x15\x03\x01\x00\x02\x02",
        b"\r\n\r\n",
        b"<html>\r\n\r\n",
        b"HTTP/2 200\r\n\r\n",
        b"HTTP/1.1 2000 OK\r\n\r\n",
        b"HTTP/1.1 xx OK\r\n\r\n",
        OK + b"Content-Length: five\r\n\r\nhello",
        OK + b"Content-Length: -5\r\n\r\nhello",
        OK + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n",
        OK + b"X: " + b"a" * (MAX_HEAD + 70_000),
        OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n[]",
        OK + b"Transfer-Encoding: chunked\r\n\r\n\r\n[]",
        OK + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n[]",
        OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n[]]\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n" + b"1" * (MAX_HEAD + 70_000),
        OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"X: y\r\n" * 20_000,
    ],
)
@given(place=st.integers(0, 200))
def test_what_is_no_answer_is_refused_without_waiting_for_its_end(answer: bytes, place: int) -> None:
    with answered(cut(answer, place)) as connection:
        with pytest.raises(MalformedAnswerError):
            connection.get()
        assert connection.sock is None


@pytest.mark.parametrize(
    "answer",
    [
        OK + b"Content-Length: 1001\r\n\r\n",
        OK + b"Content-Length: 999999999999\r\n\r\n",
        OK + b"\r\n" + b"x" * 1001,
        OK + chunked(b"x" * 1001, 100),
        OK + b"Transfer-Encoding: chunked\r\n\r\nffffffff\r\n",
    ],
)
def test_a_body_over_the_limit_is_not_taken_in(answer: bytes) -> None:
    with answered([answer]) as connection:
        with pytest.raises(LongAnswerError):
            connection.get()
        assert connection.sock is None


@pytest.mark.parametrize("answer", [OK + b"Content-Length: 1000\r\n\r\n" + b"x" * 1000, OK + chunked(b"x" * 1000, 100)])
def test_a_body_of_the_limit_is_taken(answer: bytes) -> None:
    with answered([answer]) as connection:
        assert len(connection.get().body) == LIMIT


@pytest.mark.parametrize("answer", [b"", OK, OK + b"Content-Length: 9\r\n\r\n[", OK + chunked(b"x", 1)[:-5]])
def test_an_answer_that_stops_coming_is_late(answer: bytes) -> None:
    with answered([answer]) as connection:
        assert connection.sock is not None
        connection.sock.settimeout(0.05)
        with pytest.raises(TimeoutError):
            connection.get()
        assert connection.sock is None


def test_another_thread_can_end_a_request() -> None:
    with answered([]) as connection:
        timer = threading.Timer(0.05, connection.shut)
        timer.start()
        with pytest.raises(ConnectionError):
            connection.get()
        timer.join()
        connection.shut()


def test_nothing_is_asked_without_a_connection() -> None:
    connection = KeptConnection(read_address("http://127.0.0.1:1"), "/slots", limit=LIMIT)
    connection.shut()
    with pytest.raises(ConnectionError):
        connection.get()
