"""Draws screenshots/ from tests/recordings/. With ``--check`` it writes nothing and fails when they are stale."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

from specscope.cli.feeds import ReplayFeed
from specscope.cli.runs import load_runs
from specscope.recording import Recording
from specscope.settings import Settings
from specscope.views.app import SpecscopeApp

ROOT = Path(__file__).parent.parent
RECORDINGS = ROOT / "tests" / "recordings"
BESIDE = {"h200_dflash": ("h200_plain",)}
"""Recordings that are shown beside another one of the same server, with speculation off."""

PICTURES: tuple[tuple[str, str, tuple[int, int], tuple[str, ...]], ...] = (
    ("live-120x40", "dflash", (120, 40), ()),
    ("live-80x24", "dflash", (80, 24), ()),
    ("live-200x60", "two_slots", (200, 60), ()),
    ("cycles-120x40", "dflash", (120, 40), ("2",)),
    ("polled-120x40", "polled", (120, 40), ()),
    ("ngram-120x40", "ngram", (120, 40), ()),
    ("none-120x40", "none", (120, 40), ()),
    ("speculation-off-120x40", "speculation_off", (120, 40), ()),
    ("traced-120x40", "h200_dflash", (120, 40), ()),
    ("traced-80x24", "h200_dflash", (80, 24), ()),
    ("widths-80x24", "h200_dflash", (80, 24), ("w",)),
    ("widths-120x40", "h200_dflash", (120, 40), ("w",)),
    ("widths-200x60", "h200_dflash", (200, 60), ("w",)),
    ("traced-top-k-0-200x60", "h200_top_k_0", (200, 60), ()),
    ("gpu-120x40", "h200_memory", (120, 40), ()),
    ("memory-80x24", "h200_memory", (80, 24), ("4",)),
    ("memory-120x40", "h200_memory", (120, 40), ("4",)),
    ("memory-200x60", "h200_memory", (200, 60), ("4",)),
    ("time-120x40", "h200_host_argmax", (120, 40), ("3",)),
    ("time-80x24", "h200_top_k_0", (80, 24), ("3",)),
    ("config-80x24", "settings", (80, 24), ("5", "j")),
    ("config-120x40", "settings", (120, 40), ("5", "j")),
    ("config-200x60", "settings", (200, 60), ("5", "j")),
    ("findings-80x24", "h200_top_k_0", (80, 24), ("6",)),
    ("findings-120x40", "h200_top_k_0", (120, 40), ("6",)),
    ("findings-200x60", "h200_host_argmax", (200, 60), ("6", "j")),
)


async def draw(recording: str, size: tuple[int, int], keys: tuple[str, ...]) -> str:
    """The screen at a recording's end, as SVG with names that do not change from run to run."""
    runs = load_runs([str(RECORDINGS / f"{name}.jsonl.gz") for name in BESIDE.get(recording, ())])
    feed = ReplayFeed(Recording(RECORDINGS / f"{recording}.jsonl.gz"), Settings(), 0.0, runs)
    app = SpecscopeApp(feed, Settings())
    async with app.run_test(size=size) as pilot:
        while not feed.at_end:
            await pilot.pause(0.05)
        await pilot.press(*keys)
        await pilot.pause(0.6)
        svg = app.export_screenshot(title="specscope")
    return re.sub(r"terminal-\d+", "terminal-0", svg)


async def main(*, check: bool) -> int:
    """Draw all, or compare all."""
    stale = []
    for name, recording, size, keys in PICTURES:
        path = ROOT / "screenshots" / f"{name}.svg"
        svg = await draw(recording, size, keys)
        if check:
            if not path.is_file() or path.read_text(encoding="utf-8") != svg:
                stale.append(path.name)
        else:
            path.write_text(svg, encoding="utf-8")
    if stale:
        print(f"stale: {', '.join(stale)}; draw them with scripts/draw_screenshots.py and look at them")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(check="--check" in sys.argv)))
