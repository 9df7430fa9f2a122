"""GET of one path over one kept connection, for as little CPU as it can be had in Python.

/slots is asked up to 170 times a second, so the cost of one answer decides what a watch costs. CPU of the asking
thread per answer of a lab server at work (``benchmarks/poll_cost.py``, medians): 0.12 ms here, 0.36 in http.client,
0.35 in h11, 1.10 in httpx. The others spend it on objects for headers that nobody looks at. Here the request is made
once, and of an answer's head only the status and the three fields that say where the body ends are read, and those
only when the head differs from the one before.
"""

from __future__ import annotations

import contextlib
import socket
from typing import TYPE_CHECKING, NamedTuple

from specscope.sources.http_answer import RECEIVE, Head, Incoming, read_body, read_head

if TYPE_CHECKING:
    from specscope.sources.address import Address


class Reply(NamedTuple):
    """An answer's status and body. A body that the server broke off is as short as it came."""

    status: int
    body: bytes


class KeptConnection:
    """Connects when told, asks as often as wanted, and is closed by whatever goes wrong.

    Args:
        address: the server.
        path: below the address's prefix.
        limit: bytes of the longest body taken.

    Attributes:
        sock: the connection; None when there is none.
    """

    def __init__(self, address: Address, path: str, *, limit: int) -> None:
        self._place = (address.host, address.port)
        self._tls = address.tls()
        self._request = _request(address, path)
        self._limit = limit
        self._known = Head()
        self._whole = -1  # the length of no answer: nothing is known yet
        self.sock: socket.socket | None = None

    def connect(self, connect_s: float, answer_s: float) -> None:
        """Connect, in ``connect_s`` seconds for each of the host's addresses; a read may then take ``answer_s``.

        Raises:
            OSError: it cannot be reached, or its certificate is not to be trusted.
        """
        raw = socket.create_connection(self._place, connect_s)
        try:
            raw.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock = raw if self._tls is None else self._tls.wrap_socket(raw, server_hostname=self._place[0])
        except BaseException:
            raw.close()
            raise
        sock.settimeout(answer_s)
        self.sock = sock

    def close(self) -> None:
        """Let go of the connection, if there is one."""
        sock, self.sock = self.sock, None
        if sock is not None:
            sock.close()

    def shut(self) -> None:
        """End whatever is under way; may be called from any thread."""
        sock = self.sock
        if sock is not None:
            with contextlib.suppress(OSError, ValueError):
                sock.shutdown(socket.SHUT_RDWR)

    def get(self) -> Reply:
        """Ask, and read the whole answer.

        The connection is closed afterwards if the server wants that, or if more came than the answer.

        Raises:
            TimeoutError: nothing came for ``answer_s`` seconds.
            OSError: there is no connection, or it ended before the answer did.
            MalformedAnswerError: it is no HTTP answer.
            LongAnswerError: its body is longer than ``limit``.
        """
        sock = self.sock
        if sock is None:
            raise ConnectionError("not connected")
        try:
            sock.sendall(self._request)
            data = sock.recv(RECEIVE)
            # A head of the same bytes as the one before says the same, and the body lies behind it.
            if len(data) == self._whole and data.startswith(self._known.data):
                return Reply(self._known.status, data[len(self._known.data) :])
            return self._read(Incoming(sock, data))
        except BaseException:
            self.close()
            raise

    def _read(self, incoming: Incoming) -> Reply:
        head = read_head(incoming)
        body = read_body(head, incoming, self._limit)
        if not head.keep or incoming.rest or incoming.ended:
            self.close()
        elif head.size is not None:
            self._known, self._whole = head, len(head.data) + head.size
        return Reply(head.status, body)


def _request(address: Address, path: str) -> bytes:
    """The request as sent. ``identity``, so that a small answer cannot unfold into a huge one."""
    host = address.host if address.host.isascii() else address.host.encode("idna").decode("ascii")
    fields = {
        "Host": f"[{host}]:{address.port}" if ":" in host else f"{host}:{address.port}",
        "Accept-Encoding": "identity",
        **address.headers,
    }
    lines = [f"GET {address.prefix}{path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items()), "", ""]
    return "\r\n".join(lines).encode("ascii")
