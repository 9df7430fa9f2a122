"""``specscope check``: the findings, for people and for scripts."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from specscope import __version__
from specscope.cli.common import settings_of
from specscope.cli.exits import FINDINGS, OK
from specscope.cli.pump import played
from specscope.cli.runs import load_runs
from specscope.cli.targets import resolve
from specscope.cli.watching import mark, sleep_or_signal, watching
from specscope.findings.rule import SEVERITIES
from specscope.recording import Recording
from specscope.reports.snapshot import SCHEMA_VERSION, collecting_json, encode, finding_json
from specscope.reports.text import findings_markdown, findings_text

if TYPE_CHECKING:
    from argparse import Namespace

    from specscope.cli.pump import Pump
    from specscope.cli.runs import Runs
    from specscope.cli.targets import LiveTarget
    from specscope.settings import Settings


def run(args: Namespace) -> int:
    """Print the findings; exit 1 when one is at or above ``--fail-on``."""
    settings, runs = settings_of(args), load_runs(args.runs)
    target = resolve(args.target, args.pid, settings.url)
    if isinstance(target, Recording):
        pump = played(target, settings, args.label, runs)
    else:
        pump = asyncio.run(_watch(args, target, settings, runs))
    diagnosis = pump.diagnosis(final=True)
    if args.json:
        found = {
            "schema_version": SCHEMA_VERSION,
            "tool_version": __version__,
            "fail_on": args.fail_on,
            "findings": [finding_json(f) for f in diagnosis.findings],
            "collecting": [collecting_json(o) for o in diagnosis.rules("collecting")],
        }
        sys.stdout.write(encode(found) + "\n")
    elif args.markdown:
        sys.stdout.write(findings_markdown(pump.session(), diagnosis) + "\n")
    else:
        sys.stdout.write(findings_text(diagnosis) + "\n")
    least = SEVERITIES.index(args.fail_on)
    return FINDINGS if any(SEVERITIES.index(f.severity) >= least for f in diagnosis.findings) else OK


async def _watch(args: Namespace, target: list[LiveTarget], settings: Settings, runs: Runs) -> Pump:
    async with watching(target, settings, runs=runs) as pump:
        pump.look_along()
        mark(pump, args.label)
        await sleep_or_signal(args.seconds)
    return pump
