"""In a pid namespace of its own, as in a container, the kernel knows the server by another pid than specscope does."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from probed import needs_probes

pytestmark = [pytest.mark.server, pytest.mark.trace, needs_probes]

TESTS = Path(__file__).parent.parent
NAMESPACE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
INSIDE = f"""
import asyncio, json, os, sys
sys.path[:0] = [{str(TESTS)!r}, {str(TESTS / "truth")!r}]
from probed import TRACED, until_traced
from watched import target, watch
from specscope.lab.load import LoadPlan, run_load
from specscope.lab.server import LabServer
from specscope.lab.spec import LAB_RATES, ServerSpec

SPEC = ServerSpec(n_max=15, rates=LAB_RATES, trace=False)
PLAN = LoadPlan(requests=3, tokens=100)

async def main():
    async with LabServer(SPEC) as server, LabServer(SPEC) as beside:
        async with watch(server, TRACED) as pump:
            await until_traced(pump)
            await asyncio.gather(run_load(server.url, PLAN), run_load(beside.url, PLAN))
    seen = target(pump)
    count = seen.referee.count
    print(json.dumps(dict(
        own_pid=os.getpid(), agrees=count is not None and count.agrees, cycles=count.cycles,
        told=len(seen.cycles), evidence=seen.evidence, tier=seen.tier)))

asyncio.run(main())
"""


def _has_none() -> bool:
    """Whether no pid namespace can be made here."""
    if shutil.which("unshare") is None:
        return True
    return subprocess.run([*NAMESPACE, "true"], capture_output=True, check=False).returncode != 0


@pytest.mark.skipif(_has_none(), reason="needs a pid namespace of its own: root and unshare")
def test_the_watched_server_is_told_from_one_beside_it() -> None:
    done = subprocess.run([*NAMESPACE, sys.executable, "-c", INSIDE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert seen["own_pid"] < 10
    assert seen["cycles"] > 0
    assert seen["agrees"] is True
    assert seen["told"] == seen["cycles"]
    assert (seen["evidence"], seen["tier"]) == ("exact", "trace")
