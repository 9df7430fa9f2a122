"""Makes tests/recordings/ anew: short real sessions of the lab's servers, for snapshot tests and pictures.

Run by hand: ``.venv/bin/python scripts/record_fixtures.py [NAME ...]``.
"""

from __future__ import annotations

import asyncio
import gzip
import re
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from specscope import __version__
from specscope.cli.targets import LiveTarget
from specscope.cli.watching import mark, watching
from specscope.lab.load import LoadPlan, run_load
from specscope.lab.models import ModelSpec, model_path
from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, ServerSpec
from specscope.recording import Recorder
from specscope.settings import Settings

TESTS = Path(__file__).parent.parent / "tests"
sys.path.insert(0, str(TESTS))

from watched import older_build  # noqa: E402  the tests' own way to the b10434 server

FOLDER = TESTS / "recordings"
GREEDY = {"temperature": 0}
SETTINGS = Settings(trace="off", gpu=False)
"""Whoever records, as root or not: what the log and the endpoints tell."""


@dataclass(frozen=True)
class Session:
    """A server and what is asked of it, by label."""

    spec: ServerSpec
    plans: dict[str, LoadPlan] = field(default_factory=dict)
    restart: bool = False


SESSIONS: dict[str, Session] = {
    "dflash": Session(
        ServerSpec(n_max=15, rates=LAB_RATES),
        {"code": LoadPlan(requests=5, tokens=300), "prose": LoadPlan(requests=3, tokens=200, seed=40)},
    ),
    "polled": Session(ServerSpec(n_max=15, rates=LAB_RATES, trace=False), {"": LoadPlan(requests=5, tokens=300)}),
    "two_slots": Session(
        ServerSpec(n_max=15, rates=LAB_RATES, slots=2), {"agent": LoadPlan(requests=8, tokens=250, concurrency=2)}
    ),
    "ngram": Session(
        ServerSpec(types=("ngram-simple",)), {"": LoadPlan(requests=5, tokens=300, repeat=True, sampling=GREEDY)}
    ),
    "replay": Session(
        ServerSpec(types=("ngram-simple",), target="mamba"),
        {"": LoadPlan(requests=6, tokens=200, repeat=True, sampling=GREEDY)},
    ),
    "none": Session(ServerSpec(types=()), {"": LoadPlan(requests=4, tokens=600)}),
    "speculation_off": Session(ServerSpec(types=(), extra=("-md", "DRAFTER")), {"": LoadPlan(requests=2, tokens=300)}),
    "settings": Session(
        ServerSpec(
            types=("ngram-simple",),
            binary=older_build(),
            model_sampling={"top_k": 70, "temp": 0.0, "min_p": 0.0},
            env={"LLAMA_ARG_TOP_K": "50", "LLAMA_ARG_TEMPERATURE": "0.3", "LLAMA_ARG_CACHE_REUSE": "256"},
        ),
        {
            "code": LoadPlan(requests=3, tokens=200, repeat=True),
            "prose": LoadPlan(requests=2, tokens=100, repeat=True, sampling={"temperature": 1.0, "min_p": 0.05}),
            "agent": LoadPlan(requests=2, tokens=100, repeat=True, sampling={"top_k": 30}),
        },
    ),
    "restart": Session(ServerSpec(n_max=15, rates=LAB_RATES), {"": LoadPlan(requests=3, tokens=300)}, restart=True),
}


async def record(name: str, session: Session) -> None:
    """Record one session."""
    path = FOLDER / f"{name}.jsonl.gz"
    path.unlink(missing_ok=True)
    drafter = str(model_path(ModelSpec("draft", "quick")))
    extra = tuple(drafter if word == "DRAFTER" else word for word in session.spec.extra)
    spec = ServerSpec(**{f: getattr(session.spec, f) for f in session.spec.__dataclass_fields__} | {"extra": extra})
    with Recorder(path, tool_version=__version__, started=time.time()) as recorder:
        async with LabServer(spec) as server:  # noqa: SIM117  the watch outlives a restarted server
            async with watching([LiveTarget(server.url, server.pid)], SETTINGS, recorder=recorder) as pump:
                for label, plan in session.plans.items():
                    mark(pump, label)
                    await run_load(server.url, plan)
                    await asyncio.sleep(1.2)
                if session.restart:
                    await server.stop()
                    await asyncio.sleep(1)
                    again = LabServer(ServerSpec(**_fields(spec) | {"port": int(server.url.rsplit(":", 1)[1])}))
                    async with again:
                        await asyncio.sleep(2)
                        await run_load(again.url, LoadPlan(requests=2, tokens=200, seed=9))
                        await asyncio.sleep(1)
        print(f"{name}: {recorder.facts} facts, {path.stat().st_size:,} bytes, {pump.session().targets[0].evidence}")


def _fields(spec: ServerSpec) -> dict[str, object]:
    return {f: getattr(spec, f) for f in spec.__dataclass_fields__}


PLACES = (
    (re.compile(rb'"[^"]*/lab-\d+/([\w.-]+)'), rb'"/models/\1'),
    (re.compile(rb'"[^"]*/specscope-lab-\w+/'), rb'"/var/log/'),
    (re.compile(rb'"/[^"]*/bin/(python[\d.]*|llama-server)"'), rb'"/usr/bin/\1"'),
)


def neutral(path: Path) -> None:
    """Take the names of this machine's folders out of a recording."""
    text = gzip.decompress(path.read_bytes())
    for place, name in PLACES:
        text = place.sub(name, text)
    path.write_bytes(gzip.compress(text, mtime=0))


async def main(names: list[str]) -> None:
    """Record the named sessions, or all."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, session in SESSIONS.items():
        if not names or name in names:
            await record(name, session)
            neutral(FOLDER / f"{name}.jsonl.gz")


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
