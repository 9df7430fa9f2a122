"""What the Memory screen says: the map and what it adds up to, growth, the KV cache, depth, power and devices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import devices
import facts
import memories
import pytest
from feeds import StillFeed
from screens import painted, rows, running, text

from specscope import events as ev
from specscope.findings.diagnosis import Diagnosis
from specscope.session.gpu_state import Machine
from specscope.session.memory.map_state import Growth, MapPart, Memory, MemoryMap, MemorySample
from specscope.views.frame import Frame, activity_of
from specscope.views.screens.memory_plan import plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from feeds import DeviceFeed
    from textual.pilot import Pilot

SIZES = [(80, 24), (120, 40), (200, 60)]
MIB = devices.MIB


async def fourth(pilot: Pilot[None]) -> str:
    """Show the Memory screen."""
    await pilot.press("4")
    await painted(pilot)
    return text(pilot)


@pytest.mark.parametrize("size", SIZES)
async def test_every_size_shows_what_matters(size: tuple[int, int]) -> None:
    async with running(devices.h200(), size=size) as pilot:
        shown = await fourth(pilot)
        for words in (
            "─ device memory 12,035 of 143,771 MiB in use (11.8 of 140.4 GiB) ─",
            "target weights",
            "3,853+",
            "801 (16 %)",
            "518+",
            "parts make up 11,284 of the process's 11,412 MiB: 98.9 %, 128 MiB unexplained",
            "─ KV cache of all slots ─",
            "context 41,022 of 262,144 (16 %), never above 16 %",
            "─ growth +10 MiB while 31,000 tokens came in",
            "with every context full: 11,470 MiB~, it fits",
            "─ speed by KV depth ─",
            "32,768 to 65,536",
            "240.2=",
            "─ GPUs ─",
            "247 of 700",
            "42 of 87",
        ):
            assert words in shown, words


async def test_wide_screens_show_charts_and_the_host() -> None:
    async with running(devices.h200()) as pilot:
        shown = await fourth(pilot)
        assert "─ power W, SM MHz of GPU 0, ! limited ─" in shown
        assert "─ host memory the process's 1,490 MiB ─" in shown
        assert "W weights 108+   B buffers 192+   ? unexplained 1,190~" in shown
        assert "20:16:51" in shown
        assert " 700 │ limit ─" in shown
    async with running(devices.h200(), size=(200, 60)) as pilot:
        shown = await fourth(pilot)
        assert "─ power W, % busy, SM MHz of GPU 0" in shown
        assert "the driver lists its process; driver 570.124.06" in shown
        assert "resident memory, less the parts above" in shown


async def test_parts_that_are_not_told_are_dashes_with_what_would_tell() -> None:
    async with running(devices.small()) as pilot:
        shown = await fourth(pilot)
        for name in ("drafter KV", "compute buffers", "CUDA context"):
            row = next(row for row in rows(pilot) if row.strip().startswith(name))
            assert row.split()[2:5] == ["—", "—", "not"], row
        assert "317 MiB unexplained; for what is not told start the server with -lv 4" in " ".join(shown.split())
        assert "bytes a token: the drafter's header is not read" in shown
        assert "filled — MiB" in shown
        assert "with every context full: 24,900 MiB~, IT DOES NOT FIT" in shown
    async with running(devices.small(), size=(80, 24)) as pilot:
        assert "start the server with -lv 4" in " ".join((await fourth(pilot)).split())


async def test_seconds_in_which_a_limit_held_are_marked() -> None:
    async with running(devices.small()) as pilot:
        await fourth(pilot)
        assert any("!!!!!!!!!!" in row for row in rows(pilot))
    async with running(devices.h200()) as pilot:
        await fourth(pilot)
        assert not any("!!" in row for row in rows(pilot))


async def test_a_server_without_a_device_has_the_hosts_memory_alone() -> None:
    async with running(devices.by_cpu()) as pilot:
        shown = await fourth(pilot)
        assert "─ host memory the process's 293 MiB ─" in shown
        assert "device memory" not in shown
        assert "GPU" not in shown.split("device idle")[-1]
        assert "parts make up 302 of the process's 293 MiB: 9 MiB of them are not resident" in shown
        assert "-9~" in shown


async def test_how_a_part_is_known_comes_before_its_share_of_the_whole() -> None:
    parts = (MapPart("target weights", 3 * MIB, "computed", "the server has no device"),)
    held = Memory(None, MemoryMap(place="host", parts=parts, process_bytes=107 * MIB))
    async with running(devices.feed(Machine(), memory=held), size=(80, 24)) as pilot:
        shown = await fourth(pilot)
        assert "computed: the server has no device" in shown
        assert "of all" not in shown
    async with running(devices.feed(Machine(), memory=held)) as pilot:
        assert "of all" in await fourth(pilot)


async def test_nothing_known_says_why_and_what_would_tell() -> None:
    async with running(devices.no_driver(), size=(80, 24)) as pilot:
        said = " ".join((await fourth(pilot)).split())
        assert "nothing is known of this server's memory yet; nvml: no NVIDIA driver" in said
        assert "the server's log at -lv 4 would tell" in said
    async with running(StillFeed([]), size=(80, 24)) as pilot:
        assert "no server seen yet" in await fourth(pilot)


async def test_lost_devices_have_their_reason_in_the_place_of_figures() -> None:
    async with running(devices.two(lost="GPU is lost")) as pilot:
        shown = await fourth(pilot)
        assert any(row.split()[:2] == ["1", "H200"] and "LOST: GPU is lost" in row for row in rows(pilot))
        assert any(row.split()[:3] == ["0", "H200", "yes"] for row in rows(pilot))
        assert "LOST" in shown
    async with running(devices.two(lost="gone"), size=(80, 24)) as pilot:
        assert "─ GPUs, 1 more" in await fourth(pilot)
        assert " LOST: gone " in text(pilot)


async def test_a_device_that_the_server_does_not_hold_is_listed_as_such() -> None:
    none = ev.ProcessSampled(at=facts.T0, gpu_minors=[])
    async with running(devices.feed(devices.unsure().machine, gpus=(), usage=none)) as pilot:
        await fourth(pilot)
        assert any(row.split()[:3] == ["0", "H200", "no"] for row in rows(pilot))
    async with running(devices.unsure()) as pilot:
        await fourth(pilot)
        assert any(row.split()[:3] == ["0", "H200", "—"] for row in rows(pilot))


async def test_unknown_figures_of_a_device_are_dashes() -> None:
    async with running(devices.jetson()) as pilot:
        await fourth(pilot)
        row = next(row for row in rows(pilot) if "Orin" in row)
        assert set(row.split()[4:]) == {"—"}


async def test_the_largest_parts_are_shown_where_not_all_fit() -> None:
    async with running(devices.h200(), size=(80, 20)) as pilot:
        shown = await fourth(pilot)
        assert "more ─" in shown
        assert "target KV" in shown
        assert "output buffers" not in shown
        assert "parts make up" in shown


@pytest.mark.parametrize("scene", devices.SCENES, ids=lambda s: s.__name__)
def test_panels_do_not_overlap(scene: Callable[[], DeviceFeed]) -> None:
    session = scene().session()
    target = session.targets[0]
    frame = Frame(session, target, 0, Diagnosis(), activity_of(target, session.at), session.started_at)
    for width in (40, 80, 110, 169, 170, 240):
        for height in range(3, 70):
            taken: set[tuple[int, int]] = set()
            for name, region in plan(width, height, frame).items():
                assert region.height > 0, name
                assert region.right <= width, name
                cells = {(x, y) for y in range(region.y, region.bottom) for x in (region.x, region.right - 1)}
                assert not cells & taken or height < 3, (name, width, height)
                taken |= cells
                assert region.bottom <= height, name


@pytest.mark.parametrize("scene", devices.SCENES, ids=lambda s: s.__name__)
async def test_any_size_is_drawn(scene: Callable[[], DeviceFeed]) -> None:
    async with running(scene(), size=(120, 40)) as pilot:
        await fourth(pilot)
        for size in [(20, 5), (40, 12), (80, 24), (101, 30), (190, 50), (300, 90)]:
            await pilot.resize_terminal(*size)
            await painted(pilot)
            shown = rows(pilot)
            assert len(shown) == size[1]
            assert all(len(row) == size[0] for row in shown), size


async def test_short_growth_has_no_chart_but_its_words() -> None:
    first = MemorySample(float(devices.END), 100 * MIB, None)
    memory = Memory(memories.DEVICE_MAP, None, memories.KV, Growth((first,), first, first, first, 0, own=True))
    async with running(devices.h200(memory=memory)) as pilot:
        assert "─ growth no growth in 0 s ─" in await fourth(pilot)


async def test_ascii_and_colourless_memory() -> None:
    async with running(devices.small(), ascii=True, no_color=True) as pilot:
        shown = await fourth(pilot)
        assert shown.isascii()
        assert any("WWWW target weights WWWW" in row for row in rows(pilot))
        styles = [s.style for strip in pilot.app.screen._compositor.render_strips() for s in strip if s.style]
        assert all(style.color is None and style.bgcolor is None for style in styles)


async def test_nothing_is_painted_again_while_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = devices.h200()
    async with running(feed) as pilot:
        await fourth(pilot)
        drawn: list[str] = []
        for panel, function in (
            ("memory_map", "memory_bar"),
            ("growth", "spread"),
            ("power", "value_rows"),
            ("kv", "flow"),
            ("depth", "row"),
            ("devices", "row"),
        ):
            name = f"specscope.views.panels.{panel}.{function}"
            monkeypatch.setattr(name, lambda *_, panel=panel: drawn.append(panel) or pytest.fail(panel))
        feed.fields["memory"] = Memory(
            memories.DEVICE_MAP, memories.HOST_MAP, memories.KV, memories.growth(), memories.FULL
        )
        feed.now += 1.5
        await painted(pilot)
        assert drawn == []
