"""Does a healthy server under load for two minutes raise a warning? It must not.

``python scripts/long/healthy.py [--seconds N] [--trace auto]`` drives two servers of the lab, lets the rules look once
a second, and prints whatever was raised at any time, from when to when. One does not draft; the other is one on which
drafting pays, at its best width. Its drafts are accepted by chance, as no pair of random weights has a drafter that
predicts its target, and it is told so: that one finding is right. CI runs a request of it. Results:
``results/healthy.md``.
"""

from __future__ import annotations

import argparse
import asyncio
import sys

from specscope.cli.targets import LiveTarget
from specscope.cli.watching import watching
from specscope.findings.engine import EVERY_S
from specscope.lab.demo_load import demo_load
from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, ServerSpec
from specscope.settings import Settings

HEALTHY = {
    "plain": ServerSpec(types=()),
    "drafting": ServerSpec(size="paying", n_max=7, rates=LAB_RATES, threads=1),
}
RIGHT = {"drafting": {"synthetic_acceptance"}}


async def run(name: str, seconds: float, trace: str) -> bool:
    """Print what was raised; whether none of it was a warning that is not right."""
    raised: dict[tuple[str, str], tuple[float, float, str, str]] = {}
    spec, settings = HEALTHY[name], Settings(trace=trace, gpu=False)  # type: ignore[arg-type]
    async with LabServer(spec) as server:
        target = LiveTarget(server.url, server.pid)
        async with watching([target], settings) as pump, demo_load(server.url):
            for _ in range(int(seconds / EVERY_S)):
                await asyncio.sleep(EVERY_S)
                session = pump.session()
                for f in pump.diagnosis(session).findings:
                    began = raised[f.code, f.subject][0] if (f.code, f.subject) in raised else session.at
                    raised[f.code, f.subject] = (began, session.at, f.severity, f"{f.name}: {f.summary}")
        said = pump.diagnosis(final=True)
    view = pump.session()
    cycles = view.targets[0].totals.cycles or 0
    print(f"{name}: {seconds:g} s, trace {trace}: {cycles:,} cycles, {len(said.outcomes)} rules")
    for (code, subject), (began, ended, severity, text) in sorted(raised.items()):
        print(f"  {severity} {code} {subject} {text} ({began - view.started_at:.0f}-{ended - view.started_at:.0f} s)")
    for state in ("collecting", "failed"):
        for o in said.rules(state):
            print(f"  {state}: {o.rule.name}: {o.says}")
    final = [f.name for f in said.findings if (f.code, f.subject) not in raised]
    print(f"  at the last look besides: {', '.join(final) or 'nothing'}")
    right = RIGHT.get(name, set[str]())
    bad = [severity for _, _, severity, text in raised.values() if text.partition(":")[0] not in right]
    bad += [f.severity for f in said.findings if f.name not in right]
    return not said.rules("failed") and all(severity == "info" for severity in bad)


def main() -> int:
    """Exit 1 when a warning was raised."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--trace", default="off")
    args = parser.parse_args()
    well = [asyncio.run(run(name, args.seconds, args.trace)) for name in HEALTHY]
    return 0 if all(well) else 1


if __name__ == "__main__":
    sys.exit(main())
