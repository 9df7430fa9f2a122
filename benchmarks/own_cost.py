"""What watching costs: CPU and memory of the real screen at about 100 cycles/s, beside the server it watches.

``python benchmarks/own_cost.py [--seconds N] [--peer COMMAND]``: every way of watching is run for N seconds on the
same server under the same load; a peer's command may contain URL. Shares are of one core and include child processes
(the tracer); memory is specscope's own. The ratio is to the server's own use in the same seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import fcntl
import os
import pty
import shlex
import struct
import sys
import termios
import threading
import time

import httpx
import psutil

from specscope.lab.demo_load import demo_load
from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, ServerSpec

SIZES = ((120, 40), (200, 60))
TIERS = (("cycles (log)", True, "off"), ("polled", False, "off"), ("traced", False, "auto"))
"""What tells the cycles, whether the server's log does, and the probes."""

START_S = 5.0
"""Until what is measured is attached; probes take 0.5-3 s."""


def in_terminal(command: list[str], size: tuple[int, int]) -> tuple[int, int]:
    """Start a command in a terminal of its own, whose output is read and thrown away; returns pid and descriptor."""
    pid, descriptor = pty.fork()
    if pid == 0:
        os.environ.update(TERM="xterm-256color", COLUMNS=str(size[0]), LINES=str(size[1]))
        os.execvp(command[0], command)  # noqa: S606  the benchmark's own command
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
    threading.Thread(target=_drain, args=(descriptor,), daemon=True).start()
    return pid, descriptor


def _drain(descriptor: int) -> None:
    try:
        while os.read(descriptor, 65536):
            pass
    except OSError:
        return


async def measure(name: str, command: list[str], size: tuple[int, int], server: LabServer, seconds: float) -> None:
    """Print one row: own CPU, memory, and the server's CPU and cycles meanwhile."""
    pid, descriptor = in_terminal(command, size)
    try:
        await asyncio.sleep(START_S)
        own, watched = psutil.Process(pid), psutil.Process(server.pid)
        before, served, cycles, began = _cpu(own), _cpu(watched), await _cycles(server), time.monotonic()
        await asyncio.sleep(seconds)
        span = time.monotonic() - began
        share, theirs = (_cpu(own) - before) / span, (_cpu(watched) - served) / span
        rate = (await _cycles(server) - cycles) / span
        rss = own.memory_info().rss / 2**20
        print(f"{name:34} {share:7.1%} {rss:7.0f} MiB {rate:7.0f} cycles/s {share / theirs:8.3f} of the server's CPU")
    finally:
        os.write(descriptor, b"q")
        await asyncio.sleep(1)
        for process in (pid,):
            if psutil.pid_exists(process):
                os.kill(process, 15)
        await asyncio.to_thread(os.waitpid, pid, 0)
        os.close(descriptor)


def _cpu(process: psutil.Process) -> float:
    """CPU seconds of a process, of its children that have ended, and of those that run."""
    total = 0.0
    for each in (process, *process.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            times = each.cpu_times()
            total += times.user + times.system + times.children_user + times.children_system
    return total


async def _cycles(server: LabServer) -> int:
    async with httpx.AsyncClient() as client:
        text = (await client.get(f"{server.url}/metrics")).text
    return next(
        int(float(line.split()[-1]))
        for line in text.splitlines()
        if line.startswith("llamacpp:spec_decode_num_drafts_total")
    )


async def main() -> None:
    """Run all rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--peer", action="append", default=[], help="a rival's command, with URL in it")
    args = parser.parse_args()
    print(f"{'watched by':34} {'CPU':>7} {'memory':>11}")
    for tier, logged, probes in TIERS:
        async with LabServer(ServerSpec(n_max=15, rates=LAB_RATES, trace=logged)) as server:
            own = [sys.executable, "-m", "specscope", "--trace", probes, server.url]
            await measure(f"at rest, {tier}, 120x40", own, (120, 40), server, args.seconds)
            async with demo_load(server.url):
                for size in SIZES:
                    await measure(f"busy, {tier}, {size[0]}x{size[1]}", own, size, server, args.seconds)
                for peer in args.peer if logged else []:
                    words = shlex.split(peer.replace("URL", server.url))
                    await measure(f"busy, {words[0]}", words, SIZES[0], server, args.seconds)


if __name__ == "__main__":
    asyncio.run(main())
