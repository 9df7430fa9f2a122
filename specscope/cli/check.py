"""``specscope check``: the findings, for people and for scripts."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from specscope import __version__
from specscope.cli.common import settings_of
from specscope.cli.exits import FINDINGS, OK, CommandError
from specscope.cli.pump import last_state, played
from specscope.cli.runs import load_runs
from specscope.cli.targets import resolve
from specscope.cli.watching import mark, sleep_or_signal, watching
from specscope.findings.recorded import recorded_of
from specscope.findings.rule import SEVERITIES
from specscope.recording import Recording, RecordingError
from specscope.reports.drift import drift_json, drift_markdown, drift_text
from specscope.reports.findings_json import diagnosis_json
from specscope.reports.findings_text import findings_markdown, findings_text
from specscope.reports.snapshot import SCHEMA_VERSION, encode, target_json
from specscope.session.provenance.against import compare

if TYPE_CHECKING:
    from argparse import Namespace

    from specscope.cli.pump import Pump
    from specscope.cli.runs import Runs
    from specscope.cli.targets import LiveTarget
    from specscope.findings.diagnosis import Diagnosis
    from specscope.reports.drift import Drift
    from specscope.session.state import Session
    from specscope.settings import Settings


def run(args: Namespace) -> int:
    """Print the findings; exit 1 when one is at or above ``--fail-on``."""
    settings, runs = settings_of(args), load_runs(args.runs)
    against = _against(args.against)
    target = resolve(args.target, args.pid, settings.url)
    if isinstance(target, Recording):
        pump = played(target, settings, args.label, runs, against)
    else:
        pump = asyncio.run(_watch(args, target, settings, runs, against))
    session = pump.session()
    diagnosis = pump.diagnosis(session, final=True)
    drift = _drift(session, against)
    if args.json:
        sys.stdout.write(encode(_json(args, session, diagnosis, drift)) + "\n")
    elif args.markdown:
        sys.stdout.write("\n".join([findings_markdown(session, diagnosis), *drift_markdown(drift)]) + "\n")
    else:
        sys.stdout.write("\n".join([findings_text(diagnosis), *drift_text(drift)]) + "\n")
    least = SEVERITIES.index(args.fail_on)
    return FINDINGS if any(SEVERITIES.index(f.severity) >= least for f in diagnosis.findings) else OK


def _against(file: str | None) -> Session | None:
    """The last state of the recording to compare with.

    Raises:
        CommandError: the file is no recording (exit 2).
    """
    if file is None:
        return None
    try:
        return last_state(Recording(Path(file)))
    except RecordingError as error:
        raise CommandError(f"--against {file}: {error}") from error


def _drift(session: Session, against: Session | None) -> Drift:
    """Each server beside the recorded one; None where the recording has none like it."""
    if against is None:
        return ()
    pairs = [(target, recorded_of(target, against)) for target in session.targets]
    return tuple((now.id, None if before is None else compare(now, before)) for now, before in pairs)


async def _watch(
    args: Namespace, target: list[LiveTarget], settings: Settings, runs: Runs, against: Session | None
) -> Pump:
    async with watching(target, settings, runs=runs, against=against, log_suffices=True) as pump:
        pump.look_along()
        mark(pump, args.label)
        await sleep_or_signal(args.seconds)
    return pump


def _json(args: Namespace, session: Session, diagnosis: Diagnosis, drift: Drift) -> dict[str, object]:
    return {
        "schema_version": SCHEMA_VERSION,
        "tool_version": __version__,
        "targets": [target_json(t) for t in session.targets],
        "fail_on": args.fail_on,
        "against": args.against,
        "drift": drift_json(drift) if args.against is not None else None,
        **diagnosis_json(diagnosis),
    }
