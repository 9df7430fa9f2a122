"""What each drafting method does on the real server: its clamp, ``p_min``, passes of the drafter, lines of its own.

``python scripts/long/methods.py`` (as root, with bpftrace) prints a Markdown table; the figures of a run are in
``results/methods.md``. The models are the lab's, of random weights: that a width changes is a fact, how much is not.
A pass is a ``llama_process`` of the drafter: those inside ``common_speculative_draft`` make the draft, those inside
``common_speculative_process`` feed it what the target computed.
"""

from __future__ import annotations

import asyncio
import re
import subprocess
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from specscope.cli.targets import LiveTarget
from specscope.cli.watching import watching
from specscope.lab.load import LoadPlan, run_load
from specscope.lab.server import LabServer
from specscope.lab.spec import ServerSpec
from specscope.settings import Settings
from specscope.sources.probes.libraries import find_functions

if TYPE_CHECKING:
    from collections.abc import Generator

NAMES = ("draft-simple", "dflash", "dflash2", "dspark", "eagle3", "mtp", "mtp3")
ASKED, WIDTHS = 20, (1, 3, 7)
P_MINS = (0.0, 0.2, 0.85)
KEYS = ("draft", "features", "drafting", "feeding")
PLAN = LoadPlan(requests=3, tokens=200)
LINE = re.compile(r"(?:DFlash|EAGLE3|creating MTP|adding spec|- block_size|- n_max|requested draft size).*")


def spec_of(name: str, n_max: int) -> ServerSpec:
    """A server of a method whose drafts are verified for real, so that its cycles are many."""
    return ServerSpec(types=(name,), n_max=n_max, verbosity=4)


@contextmanager
def passes(pid: int) -> Generator[Counter[str]]:
    """Counts forwards by what they are inside of, while the block runs; there when it ends."""
    roles = find_functions(pid).roles
    at = {role: f"{places[0].path}:{places[0].function.name}" for role, places in roles.items()}
    own = f"/pid == {pid}/"  # other servers may have the same library
    inside = "".join(
        f"uprobe:{at[role]} {own} {{ @in[tid] = {number}; @{role} = count(); }} "
        f"uretprobe:{at[role]} {own} {{ @in[tid] = 0; }} "
        for number, role in ((1, "draft"), (2, "features"))
    )
    forwards = (
        f"uprobe:{at['forward']} /pid == {pid} && @in[tid] == 1/ {{ @drafting = count(); }} "
        f"uprobe:{at['forward']} /pid == {pid} && @in[tid] == 2/ {{ @feeding = count(); }}"
    )
    told = "".join(f"print(@{key}); " for key in KEYS)
    program = f'{inside}{forwards} interval:ms:100 {{ printf("so far\\n"); {told}}} END {{ clear(@in); }}'
    counts: Counter[str] = Counter()
    command = ["bpftrace", "-p", str(pid), "-e", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield counts
        process.terminate()
        counts.update(_between(process.stdout.read()))


def _between(text: str) -> dict[str, int]:
    """What was counted from the moment when every probe was armed, which is when each has counted."""
    snapshots = [{key: int(n) for key, n in re.findall(r"@(\w+): (\d+)", part)} for part in text.split("so far\n")[1:]]
    whole = [snapshot for snapshot in snapshots if len(snapshot) == len(KEYS)]
    return {key: whole[-1][key] - whole[0][key] for key in KEYS} if whole else {}


async def widths(spec: ServerSpec) -> tuple[Counter[int], str]:
    """Drafts by width, cycles of full width or not, and the log."""
    async with LabServer(spec) as server:
        await run_load(server.url, PLAN)
        log = server.log_path.read_text(errors="replace")
    return Counter(int(w) for w in re.findall(r"accepted +\d+/ *(\d+) draft tokens", log)), log


async def cost(spec: ServerSpec) -> tuple[float, Counter[str]]:
    """Milliseconds of a draft by the trace, and passes of the drafter."""
    async with LabServer(replace(spec, trace=False)) as server:
        with passes(server.pid) as counts:
            await run_load(server.url, PLAN)
        async with watching([LiveTarget(server.url, server.pid)], Settings(trace="cheap", gpu=False)) as pump:
            for _ in range(200):
                if any(s.name == "trace" and s.state == "attached" for s in pump.session().targets[0].sources):
                    break
                await asyncio.sleep(0.05)
            await run_load(server.url, PLAN)
            await asyncio.sleep(0.5)
        anatomy = pump.session().targets[0].anatomy
    assert anatomy is not None
    return anatomy.parts.draft_ms or 0.0, counts


def told(log: str) -> list[str]:
    """Lines that name the method or its limits, without stamps and paths."""
    found = (match[0].strip() for line in log.splitlines() if (match := LINE.search(line)))
    return list(dict.fromkeys(re.sub(r"'/.*/", "'", line) for line in found))


def mean(counts: Counter[int]) -> str:
    """The mean width and the number of drafts."""
    drafts = counts.total()
    return f"{sum(w * n for w, n in counts.items()) / drafts:.2f} ({drafts})" if drafts else "none (0)"


async def row(name: str) -> tuple[str, list[str]]:
    """One method."""
    wide, log = await widths(spec_of(name, ASKED))
    cells = [f"{ASKED} -> {max(wide, default=0)}"]
    for p_min in P_MINS:
        extra = ("--spec-draft-p-min", str(p_min))
        cells.append(mean((await widths(replace(spec_of(name, 7), extra=extra)))[0]))
    for width in WIDTHS:
        ms, counts = await cost(spec_of(name, width))
        drafts = max(1, counts["draft"])
        cells.append(f"{ms:.2f} ms, {counts['drafting'] / drafts:.2f} + {counts['feeding'] / drafts:.2f}")
    return f"| {name} | {' | '.join(cells)} |", told(log)


async def main() -> None:
    """Print the table, then the lines."""
    asked = [f"mean width (drafts), p_min {p:g}" for p in P_MINS]
    costs = [f"n_max {w}: draft ms, passes drafting + feeding" for w in WIDTHS]
    heads = ["method", "width asked -> seen", *asked, *costs]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    lines: dict[str, list[str]] = {}
    for name in NAMES:
        text, lines[name] = await row(name)
        print(text, flush=True)
    for name, its in lines.items():
        print(f"\n`{name}` at -lv 4:\n")
        print("\n".join(f"    {line}" for line in its))


if __name__ == "__main__":
    asyncio.run(main())
