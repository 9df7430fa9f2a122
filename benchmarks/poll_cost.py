"""What one look at /slots costs the asking thread: specscope's own client beside http.client, h11 and httpx.

``python benchmarks/poll_cost.py [--polls N] [--rounds N]``: CPU milliseconds per answer of a lab server at work, by
the thread's own CPU clock, the clients in turn, about 6 ms apart as the poller's looks are; least and median of the
rounds. The ratio is of the medians.
"""

from __future__ import annotations

import argparse
import asyncio
import http.client
import socket
import statistics
import threading
import time
from typing import TYPE_CHECKING

import h11
import httpx

from specscope.lab.demo_load import demo_load
from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, ServerSpec
from specscope.sources.address import read_address
from specscope.sources.kept_connection import KeptConnection

if TYPE_CHECKING:
    from collections.abc import Callable

PAUSE_S = 0.006
TIMEOUT_S = 5.0
LIMIT = 8 << 20


def own(url: str) -> Callable[[], bytes]:
    """The client of specscope's poller."""
    connection = KeptConnection(read_address(url), "/slots", limit=LIMIT)

    def get() -> bytes:
        if connection.sock is None:
            connection.connect(TIMEOUT_S, TIMEOUT_S)
        return connection.get().body

    return get


def standard(url: str) -> Callable[[], bytes]:
    """The standard library's client."""
    address = read_address(url)
    connection = http.client.HTTPConnection(address.host, address.port, timeout=TIMEOUT_S)

    def get() -> bytes:
        connection.request("GET", "/slots")
        return connection.getresponse().read(LIMIT)

    return get


def with_h11(url: str) -> Callable[[], bytes]:
    """h11's parser on a socket."""
    address = read_address(url)
    request = h11.Request(method="GET", target="/slots", headers=[("Host", f"{address.host}:{address.port}")])
    kept: list[tuple[socket.socket, h11.Connection]] = []

    def get() -> bytes:
        if not kept:
            sock = socket.create_connection((address.host, address.port), TIMEOUT_S)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            kept.append((sock, h11.Connection(h11.CLIENT)))
        sock, parser = kept[0]
        sock.sendall((parser.send(request) or b"") + (parser.send(h11.EndOfMessage()) or b""))
        parts: list[bytes] = []
        while not isinstance(event := parser.next_event(), h11.EndOfMessage):
            if event is h11.NEED_DATA:
                parser.receive_data(sock.recv(1 << 16))
            elif isinstance(event, h11.Data):
                parts.append(bytes(event.data))
        if h11.MUST_CLOSE in (parser.our_state, parser.their_state):
            kept.pop()[0].close()
        else:
            parser.start_next_cycle()
        return b"".join(parts)

    return get


def with_httpx(url: str) -> Callable[[], bytes]:
    """httpx, as the rest of specscope uses it."""
    client = httpx.Client(trust_env=False, timeout=TIMEOUT_S)
    return lambda: client.get(f"{url}/slots").content


CLIENTS = {"specscope": own, "http.client": standard, "h11": with_h11, "httpx": with_httpx}


def cost_ms(get: Callable[[], bytes], polls: int) -> float:
    """CPU of one poll, measured on a thread of its own as the poller is one."""
    spent: list[float] = []

    def ask() -> None:
        get()
        total = 0.0
        for _ in range(polls):
            time.sleep(PAUSE_S)
            began = time.thread_time()
            get()
            total += time.thread_time() - began
        spent.append(total * 1000 / polls)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    return spent[0]


async def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--polls", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=9)
    args = parser.parse_args()
    async with LabServer(ServerSpec(n_max=15, rates=LAB_RATES)) as server, demo_load(server.url):
        await asyncio.sleep(2)
        seen: dict[str, list[float]] = {name: [] for name in CLIENTS}
        for _ in range(args.rounds):
            for name, make in CLIENTS.items():
                seen[name].append(await asyncio.to_thread(cost_ms, make(server.url), args.polls))
    base = statistics.median(seen["specscope"])
    print(f"{'client':12} {'least':>9} {'median':>9} {'ratio':>6}")
    for name, values in seen.items():
        median = statistics.median(values)
        print(f"{name:12} {min(values):6.3f} ms {median:6.3f} ms {median / base:5.1f}x")


if __name__ == "__main__":
    asyncio.run(main())
