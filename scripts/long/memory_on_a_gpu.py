"""Memory, power and energy on a GPU: the map against the driver, a context of 100,000 tokens filled, joules per token.

``python scripts/long/memory_on_a_gpu.py --binary LLAMA_SERVER --out FOLDER`` on a machine with one NVIDIA GPU. Prints
Markdown; the figures are committed in ``results/memory_on_a_gpu.md``, the recordings in ``tests/recordings``.
``--size quick --depths 200,1500 --ctx 4096`` and no ``--binary`` try the script on a CPU.

Each server is watched by specscope while one slot's context is filled step by step; at each depth some tokens are
generated. The referees: the driver's figure of the process (``nvidia-smi``), the server's own milliseconds per token,
and the power that ``nvidia-smi`` samples beside it, integrated over the same generating.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import platform
import random
import shutil
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx

from specscope import __version__
from specscope.cli.targets import LiveTarget
from specscope.cli.watching import watching
from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, ServerSpec
from specscope.recording import Recorder
from specscope.settings import Settings

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from specscope.cli.pump import Pump
    from specscope.session.state import Target

TOKENS = 256
"""Generated at each depth."""

REST_S = 2.5
"""Between steps: time for the energy counter and the memory to be read while nothing runs."""

MIB = 1 << 20
VOCABULARY_FROM = 300
"""Token ids from here on are ordinary ones in every lab model of size gpu."""


@dataclass
class Reference:
    """What nvidia-smi says, beside specscope: (time, watts) samples."""

    watts: list[tuple[float, float]] = field(default_factory=list["tuple[float, float]"])

    def joules(self, begin: float, end: float) -> float | None:
        """The integral of power over a time; None without samples in it."""
        inside = [(t, w) for t, w in self.watts if begin <= t <= end]
        if len(inside) < 2:
            return None
        mean = sum(w for _, w in inside) / len(inside)
        return mean * (end - begin)


@contextlib.asynccontextmanager
async def reference() -> AsyncGenerator[Reference]:
    """nvidia-smi's instant power ten times a second while the block runs."""
    seen = Reference()
    program = shutil.which("nvidia-smi")
    if program is None:
        yield seen
        return
    process = await asyncio.create_subprocess_exec(
        *(program, "--query-gpu=power.draw.instant", "--format=csv,noheader,nounits", "-lms", "100"),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
    )

    async def read() -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            with contextlib.suppress(ValueError):
                seen.watts.append((time.time(), float(line)))

    task = asyncio.create_task(read())
    try:
        yield seen
    finally:
        process.kill()
        await process.wait()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def process_mib(pid: int) -> int | None:
    """The process's memory as nvidia-smi lists it."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    process = await asyncio.create_subprocess_exec(
        *(program, "--query-compute-apps=pid,used_memory", "--format=csv,noheader,nounits"),
        stdout=asyncio.subprocess.PIPE,
    )
    out, _ = await process.communicate()
    rows = [row.split(",") for row in out.decode().splitlines() if "," in row]
    own = [int(row[1]) for row in rows if row[0].strip() == str(pid)]
    # Inside a container the listed pids are the host's; with a single process on the device it is the server.
    return own[0] if own else int(rows[0][1]) if len(rows) == 1 else None


async def generate(client: httpx.AsyncClient, url: str, prompt: Sequence[int]) -> dict[str, Any]:
    """Fill the slot with these tokens, those it has already taken from its cache, and generate."""
    body = {
        "prompt": list(prompt),
        "n_predict": TOKENS,
        "seed": 7,
        "temperature": 0,
        "ignore_eos": True,
        "cache_prompt": True,
        "id_slot": 0,
    }
    began = time.time()
    timings = (await client.post(f"{url}/completion", json=body, timeout=600)).json()["timings"]
    return timings | {"began": began, "ended": time.time()}


def print_map(when: str, target: Target, smi_mib: int | None) -> None:
    """The parts of the device's map, and how far they explain the process."""
    memory = target.memory.device or target.memory.host
    if memory is None:
        print(f"| {when} | no map |")
        return
    parts = ", ".join(f"{p.name} {p.bytes / MIB:,.0f} ({p.source})" for p in memory.parts)
    own = "-" if memory.process_bytes is None else f"{memory.process_bytes / MIB:,.0f}"
    share = "-" if memory.explained is None else f"{memory.explained:.2%}"
    kv = target.memory.kv
    fill = f"{kv.fill_tokens} of {kv.context_tokens}"
    print(f"| {when} | {fill} | {parts} | {own} | {smi_mib or '-'} | {share} |", flush=True)


def print_energy(target: Target, spans: list[tuple[float, float, int]], seen: Reference) -> None:
    """Joules per token by specscope and by nvidia-smi, over the same generating."""
    energy = target.energy
    parts = [(seen.joules(begin, end), tokens) for begin, end, tokens in spans]
    known = [(joules, tokens) for joules, tokens in parts if joules is not None]
    theirs = sum(j for j, _ in known) / sum(n for _, n in known) if known else None
    print("\n| J per token, specscope | nvidia-smi, power integrated | tokens | accepted | J per accepted | rejected |")
    print("|---|---|---|---|---|---|")
    if energy is None:
        print(f"| - | {theirs} | - | - | - | - |")
        return
    cells = [energy.j_per_token, theirs, energy.tokens, energy.accepted, energy.j_per_accepted, energy.rejected_share]
    print(f"| {' | '.join('-' if c is None else f'{c:.4g}' for c in cells)} |\n", flush=True)


def print_depths(target: Target, told: list[tuple[int, float, float]]) -> None:
    """Speed by depth as specscope has it, and the server's own at each depth visited."""
    print("\n| depth | server: tok/s | server: tau |\n|---|---|---|")
    for depth, speed, tau in told:
        print(f"| {depth:,} | {speed:.1f} | {tau:.2f} |")
    print("\n| band | specscope: tok/s | tau | steps |\n|---|---|---|---|")
    for row in target.by_depth:
        print(f"| {row.tokens:,}-{row.to_tokens:,} | {row.tok_s:.1f} | {row.tau:.2f} | {row.steps} |")


def print_limits(target: Target) -> None:
    """What limited the device, and its means over busy time."""
    for use in target.gpus:
        gpu = use.gpu
        limits = [f"{x.name} {x.share:.1%} at {x.sm_clock_mhz or 0:.0f} MHz" for x in gpu.limits] or ["none"]
        print(
            f"\nGPU {gpu.index} ({use.how}): {gpu.judged_s:.0f} s busy, {gpu.power_w} W of {gpu.found.power_limit_w},"
            f" {gpu.sm_clock_mhz} of {gpu.found.sm_clock_max_mhz} MHz, busy {gpu.busy_pct} %, limits {limits}"
        )
        print(json.dumps({"found": repr(gpu.found), "link": repr(gpu.link), "to_host": gpu.to_host_bytes_per_s}))


async def fill(pump: Pump, server: LabServer, depths: Sequence[int], vocabulary: int) -> None:
    """Fill one slot step by step under the eyes of specscope, and print what it and the referees say."""
    dice = random.Random(5)  # noqa: S311  varied, not secret
    low = min(VOCABULARY_FROM, vocabulary // 2)
    prompt: list[int] = []
    told: list[tuple[int, float, float]] = []
    spans: list[tuple[float, float, int]] = []
    print("\n| when | fill | parts, MiB | process MiB | nvidia-smi MiB | explained |\n|---|---|---|---|---|---|")
    async with httpx.AsyncClient() as client, reference() as seen:
        await asyncio.sleep(REST_S)
        print_map("before", pump.session().targets[0], await process_mib(server.pid))
        for depth in depths:
            prompt += [dice.randrange(low, vocabulary) for _ in range(depth - TOKENS - len(prompt))]
            timings = await generate(client, server.url, prompt)
            steps = timings["predicted_n"] - timings.get("draft_n_accepted", 0)
            speed = (timings["predicted_n"] - 1) * 1000 / timings["predicted_ms"]
            told.append((depth, speed, timings["predicted_n"] / steps))
            spans.append((timings["ended"] - timings["predicted_ms"] / 1000, timings["ended"], timings["predicted_n"]))
            await asyncio.sleep(REST_S)
            print_map(f"at {depth:,}", pump.session().targets[0], await process_mib(server.pid))
        target = pump.session().targets[0]
        print_energy(target, spans, seen)
    print_depths(target, told)
    print_limits(target)
    growth, full = target.memory.growth, target.memory.at_full
    if growth is not None:
        print(f"\ngrowth {growth.bytes / MIB:.1f} MiB over {growth.requests} requests (own: {growth.own})")
    if full is not None:
        print(f"full context: {full.bytes / MIB:,.0f} MiB, fits {full.fits}; {full.basis}")
    print(f"own cost: {pump.session().own_cost}")


async def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path)
    parser.add_argument("--size", default="gpu")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--ctx", type=int, default=114_688)
    parser.add_argument("--depths", default="1024,8192,32768,65536,106496")
    parser.add_argument("--trace", default="auto", choices=("off", "cheap", "auto", "full"))
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    depths = [int(depth) for depth in args.depths.split(",")]
    # The lab's models say that they were trained for less: the server would cap the slot's context at that.
    extra: tuple[str, ...] = ()
    if args.binary:
        trained = ",".join(f"{arch}.context_length=int:{args.ctx}" for arch in ("llama", "dflash"))
        extra = ("-ngl", "99", "-ngld", "99", "-fa", "on", "--override-kv", trained)
    base = ServerSpec(types=(), size=args.size, trace=False, binary=args.binary, ctx=args.ctx, verbosity=4, extra=extra)
    servers = {"plain": base, "dflash": replace(base, types=("dflash",), n_max=15, rates=LAB_RATES)}
    print(f"kernel {platform.release()}, {time.strftime('%Y-%m-%d')}, size {args.size}, uid {os.geteuid()}")
    for name, spec in servers.items():
        print(f"\n## {name}", flush=True)
        file = args.out / f"memory_{name}.jsonl.gz"
        file.unlink(missing_ok=True)
        async with LabServer(spec, start_timeout_s=120) as server:
            with Recorder(file, tool_version=__version__, started=time.time()) as recorder:
                target = LiveTarget(server.url, server.pid)
                async with watching([target], Settings(trace=args.trace), recorder=recorder) as pump:
                    models = pump.session().targets[0].models
                    vocabulary = models["target"].n_vocab if "target" in models else None
                    await fill(pump, server, depths, vocabulary or VOCABULARY_FROM)


if __name__ == "__main__":
    asyncio.run(main())
