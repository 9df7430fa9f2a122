"""Servers whose libraries lie where a plain path does not lead: with a space, deleted since, in a container."""

from __future__ import annotations

import shutil
import stat
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from probed import TRACED, needs_probes, trace_of, until_traced
from watched import older_build, target, until, watch

from specscope.lab.load import LoadPlan, run_load
from specscope.lab.server import LabServer
from specscope.lab.spec import ServerSpec
from specscope.sources.probes.libraries import find_functions
from specscope.sources.trace import lines

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [
    pytest.mark.server,
    pytest.mark.trace,
    needs_probes,
    pytest.mark.skipif(older_build() is None, reason="the wheel with the b10434 server is not installed"),
]

NGRAM = ServerSpec(types=("ngram-simple",), trace=False)
PLAN = LoadPlan(requests=4, tokens=120, repeat=True, sampling={"temperature": 0})


def _copied(folder: Path) -> Path:
    """The b10434 server with its libraries in a folder of its own."""
    binary = older_build()
    assert binary is not None
    shutil.copytree(binary.parent, folder)
    return folder / binary.name


async def _is_traced(spec: ServerSpec, *, where: str, meanwhile: Callable[[], object] = lambda: None) -> None:
    """Its cycles are counted and its copies seen; its functions are reached by a path that has ``where`` in it."""
    async with LabServer(spec) as server:
        meanwhile()
        assert {where in p.path for places in find_functions(server.pid).roles.values() for p in places} == {True}
        async with watch(server, TRACED) as pump:
            await until_traced(pump)
            await run_load(server.url, PLAN)
            await until(lambda: bool(target(pump).copies), "a burst")
    seen = target(pump)
    count = seen.referee.count
    assert count is not None, trace_of(pump)
    assert count.agrees
    assert count.cycles > 0
    assert seen.evidence == seen.cycle_evidence == "exact"
    assert seen.copies


@pytest.fixture(autouse=True)
def _frequent_bursts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(lines.BURST_EVERY_S, "auto", 0.2)


async def test_a_folder_with_a_space_in_its_name(tmp_path: Path) -> None:
    binary = _copied(tmp_path / "with a space")
    await _is_traced(replace(NGRAM, binary=binary), where="/map_files/")


async def test_libraries_deleted_since_the_start(tmp_path: Path) -> None:
    binary = _copied(tmp_path / "gone")
    await _is_traced(replace(NGRAM, binary=binary), where="/map_files/", meanwhile=lambda: shutil.rmtree(binary.parent))


def _no_mounts() -> bool:
    """Whether no mount namespace can be made here."""
    if shutil.which("unshare") is None:
        return True
    return subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode != 0


@pytest.mark.skipif(_no_mounts(), reason="needs a mount namespace of its own: root and unshare")
async def test_libraries_that_only_the_servers_own_mounts_have(tmp_path: Path) -> None:
    """As in a container: what lies at the same path out here is something else."""
    inside, away = tmp_path / "inside", _copied(tmp_path / "away").parent
    inside.mkdir()
    start = tmp_path / "start"
    start.write_text(
        "#!/bin/sh\n"
        f"exec unshare --mount --propagation private sh -c 'mount --bind {away} {inside} && exec \"$@\"' sh "
        f'{inside}/llama-server "$@"\n'
    )
    start.chmod(start.stat().st_mode | stat.S_IXUSR)
    await _is_traced(replace(NGRAM, binary=start), where=f"/root{inside}/")
