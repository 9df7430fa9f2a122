"""A small threaded HTTP server that misbehaves on command: for answers that no real server can be made to give."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import ssl

FIXTURES = Path(__file__).parent / "fixtures" / "http"
Route = Callable[["Request"], None]
Json = Any


def body(name: str) -> bytes:
    """A body kept in fixtures/http."""
    return (FIXTURES / name).read_bytes()


@dataclass
class Request:
    """One request, and the connection to answer it on."""

    path: str
    headers: dict[str, str]
    connection: socket.socket
    closing: threading.Event

    def send(self, data: bytes) -> None:
        """Send bytes; the client may be gone."""
        with contextlib.suppress(OSError):
            self.connection.sendall(data)

    def end(self) -> None:
        """Close the connection behind what was sent."""
        with contextlib.suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)


def reply(content: bytes | str, status: int = 200, kind: str = "application/json", **headers: str) -> Route:
    """A whole answer. ``headers`` have ``_`` for ``-``; one of None's text is left out."""
    data = content.encode() if isinstance(content, str) else content

    def route(request: Request) -> None:
        given = {"Content-Type": kind, "Content-Length": str(len(data))}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        lines = "".join(f"{name}: {value}\r\n" for name, value in given.items() if value)
        request.send(f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode() + data)

    return route


def raw(data: bytes) -> Route:
    """Bytes as they are, then the end of the connection."""

    def route(request: Request) -> None:
        request.send(data)
        request.end()

    return route


def chunked(data: bytes, size: int = 7) -> Route:
    """An answer in chunks."""
    parts = [data[i : i + size] for i in range(0, len(data), size)]
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts)

    def route(request: Request) -> None:
        request.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n")

    return route


def hang(request: Request) -> None:
    """No answer until the server closes."""
    request.closing.wait()


def drip(request: Request) -> None:
    """An answer whose headers never end, a byte at a time."""
    request.send(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    while not request.closing.wait(0.02):
        try:
            request.connection.sendall(b"a")
        except OSError:
            return


def reset(request: Request) -> None:
    """Half an answer, then the connection is reset."""
    request.send(b'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n[{"id":0')
    with contextlib.suppress(OSError):
        request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        request.connection.close()


def in_turn(*routes: Route) -> Route:
    """Each route once, then the same again."""
    calls = iter(range(1 << 30))

    def route(request: Request) -> None:
        routes[next(calls) % len(routes)](request)

    return route


INVALID_KEY = reply('{"error":{"code":401,"message":"Invalid API Key","type":"authentication_error"}}', 401)
LOADING = reply('{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}', 503)
NO_SLOTS = reply(
    '{"error":{"code":501,"message":"This server does not support slots endpoint. Start it with `--slots`",'
    '"type":"not_supported_error"}}',
    501,
)
NO_METRICS = reply(
    '{"error":{"code":501,"message":"This server does not support metrics endpoint. Start it with `--metrics`",'
    '"type":"not_supported_error"}}',
    501,
)
NOT_FOUND = reply('{"detail":"Not Found"}', 404)
HTML = reply("<!doctype html><html><body>Sign in</body></html>", 200, "text/html")


@dataclass(eq=False)
class FakeServer:
    """Serves ``routes`` until left; ``seen`` counts requests by path.

    Args:
        routes: by path; a path that is not there is a 404 of FastAPI's kind.
        port: 0 takes a free one.
        key: what every path but /health wants as a bearer token.
        tls: how it speaks TLS; None: plain HTTP.
    """

    routes: dict[str, Route]
    port: int = 0
    key: str | None = None
    host: str = "127.0.0.1"
    tls: ssl.SSLContext | None = None
    seen: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    authorizations: set[str] = field(default_factory=set)
    _closing: threading.Event = field(default_factory=threading.Event)
    _connections: list[socket.socket] = field(default_factory=list)
    _threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> Self:
        family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
        self._listener = socket.socket(family, socket.SOCK_STREAM)
        self._listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._listener.bind((self.host, self.port))
        self.port = self._listener.getsockname()[1]
        self._listener.listen(64)
        self._spawn(self._accept)
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def url(self) -> str:
        """Its address."""
        scheme = "http" if self.tls is None else "https"
        return f"{scheme}://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"

    def kill(self) -> None:
        """End as a killed process does: every connection is gone at once. Waits for all threads."""
        self._closing.set()
        for connection in [self._listener, *self._connections]:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in list(self._threads):
            thread.join(5)
        for connection in self._connections:
            connection.close()

    def drop_connections(self) -> None:
        """Close what is open, and go on serving."""
        for connection in list(self._connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _spawn(self, target: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=target, args=args, name="fake-server", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._closing.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self._connections.append(connection)
            self._spawn(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        rest = b""
        with contextlib.suppress(OSError):
            if self.tls is not None:
                connection = self.tls.wrap_socket(connection, server_side=True)
                self._connections.append(connection)
            while not self._closing.is_set():
                while b"\r\n\r\n" not in rest:
                    data = connection.recv(65536)
                    if not data:
                        return
                    rest += data
                head, _, rest = rest.partition(b"\r\n\r\n")
                self._answer(head.decode("latin-1"), connection)

    def _answer(self, head: str, connection: socket.socket) -> None:
        first, *lines = head.split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        path = first.split(" ")[1]
        authorization = headers.get("authorization", "")
        self.seen[path] += 1
        self.authorizations.add(authorization)
        request = Request(path, headers, connection, self._closing)
        if self.key is not None and path != "/health" and authorization != f"Bearer {self.key}":
            self.refused[path] += 1
            INVALID_KEY(request)
            return
        self.routes.get(path, NOT_FOUND)(request)


# --- a server of llama-server's kind ---------------------------------------------------------------------------


def slot(number: int = 0, **changes: Json) -> dict[str, Json]:
    """A slot of b11434 that has not been used; ``task`` and ``decoded`` make it a used one."""
    row: dict[str, Json] = {"id": number, "n_ctx": 8192, "speculative": True, "is_processing": False}
    if "task" in changes:
        decoded = changes.pop("decoded", 0)
        row |= {
            "id_task": changes.pop("task"),
            "is_processing": changes.pop("busy", True),
            "n_prompt_tokens": 40 + decoded,
            "n_prompt_tokens_processed": 40,
            "n_prompt_tokens_cache": 0,
            "params": {"temperature": 0.8, "min_p": 0.05, "speculative.types": "none,draft-dflash"},
            "next_token": [{"has_next_token": True, "n_remain": -1, "n_decoded": decoded}],
        }
    return row | changes


@dataclass
class Llama:
    """What a healthy llama-server would say; change the fields while it serves."""

    slots: list[dict[str, Json]] = field(default_factory=lambda: [slot(0), slot(1)])
    drafts: int = 0
    generated: int = 0
    started: str | None = "111"
    asleep: bool = False

    def routes(self, **changes: Route) -> dict[str, Route]:
        """All endpoints; ``changes`` replace some by name."""

        def props(request: Request) -> None:
            reply(self.props())(request)

        def slots(request: Request) -> None:
            reply(json.dumps(self.slots))(request)

        def metrics(request: Request) -> None:
            reply(self.metrics(), 200, "text/plain", Process_Start_Time_Unix=self.started or "")(request)

        own = {"/health": reply('{"status":"ok"}'), "/props": props, "/slots": slots, "/metrics": metrics}
        return own | {f"/{name}": route for name, route in changes.items()}

    def props(self) -> str:
        """GET /props."""
        found = json.loads(body("props_b11434.json"))
        return json.dumps(found | {"is_sleeping": self.asleep})

    def metrics(self) -> str:
        """GET /metrics."""
        values = {
            "llamacpp:prompt_tokens_total": 0,
            "llamacpp:tokens_predicted_total": self.generated,
            "llamacpp:spec_decode_num_drafts_total": self.drafts,
            "llamacpp:spec_decode_num_draft_tokens_total": self.drafts * 15,
            "llamacpp:spec_decode_num_accepted_tokens_total": max(0, self.generated - self.drafts - 1),
        }
        return "".join(f"# TYPE {name} counter\n{name} {value}\n" for name, value in values.items())
