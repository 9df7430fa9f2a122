"""What tracing sees on a GPU; what it costs the server there is for ``traced_slowdown.py``.

``python scripts/long/on_a_gpu.py --binary LLAMA_SERVER --out FOLDER`` as root, with bpftrace, on a machine with one
GPU. Prints Markdown; the figures are committed in ``benchmarks/results/traced_on_h200.md``,
the recordings in ``tests/recordings``.
``--size quick`` and no ``--binary`` try the script on a CPU.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import platform
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from specscope import __version__
from specscope.cli.targets import LiveTarget
from specscope.cli.watching import watching
from specscope.lab.load import LoadPlan, run_load
from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, ServerSpec
from specscope.recording import Recorder
from specscope.settings import Settings

if TYPE_CHECKING:
    from specscope.session.state import Target

TOKENS = 600


def servers(base: ServerSpec) -> list[tuple[str, ServerSpec, dict[str, object]]]:
    """The servers that are looked into, each with its requests' sampling."""
    dflash = replace(base, types=("dflash",), n_max=15, rates=LAB_RATES)
    return [
        ("plain", replace(base, types=()), {}),
        ("dflash", dflash, {}),
        ("dflash, host argmax", replace(dflash, draft_backend_sampling=False), {}),
        ("dflash, top_k 0, min_p 0", dflash, {"top_k": 0, "min_p": 0.0}),
        ("dflash, two slots", replace(dflash, slots=2), {}),
        ("dflash, real verification", replace(dflash, rates=None), {}),
        ("draft-simple, n_max 4", replace(base, types=("draft-simple",), n_max=4), {}),
        ("ngram-mod", replace(base, types=("ngram-mod",)), {"temperature": 0}),
    ]


async def look(name: str, spec: ServerSpec, sampling: dict[str, object], seconds: float, out: Path) -> Target:
    """Watch one server under load with everything, and record it."""
    file = out / f"{name.replace(', ', '_').replace(' ', '_')}.jsonl.gz"
    file.unlink(missing_ok=True)
    plan = LoadPlan(
        requests=None,
        duration_s=seconds,
        tokens=TOKENS,
        concurrency=spec.slots,
        sampling=sampling,
        repeat="ngram" in name,
    )
    async with LabServer(spec, start_timeout_s=120) as server:
        with Recorder(file, tool_version=__version__, started=time.time()) as recorder:
            async with watching(
                [LiveTarget(server.url, server.pid)], Settings(trace="auto"), recorder=recorder
            ) as pump:
                await run_load(server.url, plan)
            return pump.session().targets[0]


def print_anatomy(name: str, view: Target) -> None:
    """One row of the table of parts, and what the copies say."""
    count, anatomy, totals = view.referee.count, view.anatomy, view.totals
    captured = f"{totals.cycles} / {totals.drafted} / {totals.accepted}"
    counted = f"{count.cycles} / {count.drafted} / {count.accepted}" if count else "-"
    cells = [name, captured, counted, view.evidence]
    if anatomy is not None:
        p = anatomy.parts
        parts = (p.whole_ms, p.draft_ms, p.draft_sampling_ms, p.submit_ms, p.wait_ms)
        parts += (p.features_ms, p.sampling_ms, p.other_ms)
        cells += ["-" if v is None else f"{v:.2f}" for v in parts]
    stalls = view.stalls
    cells.append("-" if stalls is None else f"{stalls.waiting:.0%} / {stalls.idle:.0%}")
    path = view.backend_path
    cells += [path.draft, path.target]
    print(f"| {' | '.join(cells)} |", flush=True)


async def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", type=Path)
    parser.add_argument("--size", default="gpu")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seconds", type=float, default=14)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    extra = ("-ngl", "99", "-ngld", "99", "-fa", "on") if args.binary else ()
    base = ServerSpec(size=args.size, trace=False, binary=args.binary, ctx=8192, extra=extra)
    print(f"kernel {platform.release()}, {time.strftime('%Y-%m-%d')}, size {args.size}\n")
    heads = ("server", "captured", "counters", "evidence", "turn ms", "draft", "of it sampling", "submit", "wait")
    heads += ("features", "sampling", "other", "thread waits / device idle", "draft on", "target on")
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}", flush=True)
    notes: list[str] = []
    for name, spec, sampling in servers(base):
        if args.only not in name:
            continue
        try:
            view = await look(name, spec, sampling, args.seconds, args.out)
        except Exception as error:  # noqa: BLE001  one server less, the others are still to be seen
            print(f"| {name} | {type(error).__name__}: {error} |", flush=True)
            continue
        print_anatomy(name, view)
        copies = [(c.owner, c.bytes_each, round(c.per_turn, 2), c.meaning) for c in view.copies]
        sources = [(s.name, s.state, s.tier, s.detail, s.missed) for s in view.sources if s.name == "trace"]
        path = view.backend_path
        said = {"copies": copies, "trace": sources, "why": [path.draft_why, path.target_why]}
        notes.append(f"{name}: {json.dumps(said)}")
    print("\n" + "\n".join(notes), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
