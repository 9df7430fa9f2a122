"""What Live says of devices and their memory: limits, unknowns, several of them, lost ones, and none."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import devices
import facts
import memories
import pytest
import traced
from feeds import CLAMPED, HIDDEN_MIN_P, StillFeed
from screens import painted, rows, running, text

from specscope import events as ev
from specscope.session.gpu_state import GpuUse, Limit, Machine
from specscope.session.memory.map_state import Memory
from specscope.session.state import SourceView
from specscope.views import energy_words, gpu_words

if TYPE_CHECKING:
    from collections.abc import Callable

    from feeds import DeviceFeed

SIZES = [(80, 24), (120, 40), (200, 60)]


def gpu_rows(shown: str) -> str:
    """The rows of the devices on a screen of two columns, from their title on."""
    return shown[shown.index("─ GPU") :].split("─ position", 1)[0]


@pytest.mark.parametrize("size", SIZES)
async def test_power_limit_and_cost_are_on_every_size(size: tuple[int, int]) -> None:
    async with running(devices.small([HIDDEN_MIN_P]), size=size) as pilot:
        shown = text(pilot)
        for words in (
            "69.6 of 70 W",
            "power cap 96 %",
            "0.83 J/token+",
            "22.4 of 23.9 GiB",
            "hidden_min_p",
            "─ cycles",
        ):
            assert words in shown, words


async def test_a_limit_is_told_with_its_share_and_the_clock_it_costs() -> None:
    async with running(devices.small()) as pilot:
        said = gpu_rows(text(pilot))
        assert " now    69.6 of 70 W  1,410 of 2,617 MHz  98 % busy  71 C" in said
        assert " clocks power cap 96 % of busy time: 1,408 of 2,617 MHz" in said
        assert " energy 0.83 J/token+  now 0.81~  1.16 J/accepted+" in said
        assert "1 other process on it" in said
    async with running(devices.small(), size=(200, 60)) as pilot:
        assert "power cap 96 % of busy time: 1,408 of 2,617 MHz  thermal 12 %" in text(pilot)


@pytest.mark.parametrize("size", SIZES)
async def test_a_device_that_nothing_limits_waits_for_the_host(size: tuple[int, int]) -> None:
    async with running(devices.h200(), size=size) as pilot:
        short = "247 of 700 W  not limited: waits for host  0.83 J/token+  11.8 of 140.4 GiB"
        assert (short if size[0] == 80 else "nothing limits the clocks: it waits for the host") in text(pilot)


def test_limits_are_told_only_where_they_were_judged() -> None:
    def said(**fields: Any) -> str:  # noqa: ANN401
        return gpu_words.limits_of(devices.gpu(**fields)).text

    hardly = Limit("thermal", 0.004, 0.8, 1900.0, now=False)
    assert said(judged_s=0.0) == "limits not judged yet: not busy so far"
    assert said(judged_s=2.0) == "limits not judged yet: busy for 2 s so far"
    assert said(reasons_known=False) == "limits not known: the driver names none"
    assert said(busy_pct=97.0) == said(busy_pct=None) == "nothing limits the clocks"
    assert said(limits=(hardly,)) == "hardly anything limits the clocks: it waits for the host"
    assert said(limits=(hardly,), busy_pct=97.0) == "thermal <1 % of busy time: 1,900 of 1,980 MHz"
    assert not gpu_words.limits_of(devices.gpu(limits=(hardly,), busy_pct=97.0)).loud
    past = Limit("thermal", 0.4, 80.0, 1685.0, now=False)
    assert gpu_words.limits_of(devices.gpu(limits=(past,))).others == "not now"
    assert "another GPU" in gpu_words.limits_of(devices.gpu(), several=True).text


async def test_memory_stands_beside_the_device() -> None:
    async with running(devices.h200()) as pilot:
        shown = text(pilot)
        assert "─ memory 11.8 of 140.4 GiB in use, 128.0 free ─" in shown
        for words in ("W weights 3.8+", "D drafter 0.6+", "K KV 0.9 of 5.8+ filled", "B buffers 0.9+", "O others 0.6~"):
            assert words in shown, words
        assert "context 41,022 of 262,144 (16 %), never above 16 %" in shown
    async with running(devices.h200(), size=(80, 44)) as pilot:
        shown = text(pilot)
        assert shown.index("─ GPU 0 H200") < shown.index("─ memory 11.8 of 140.4 GiB")


async def test_what_crosses_the_bus_is_estimated_only_without_a_trace() -> None:
    async with running(devices.h200()) as pilot:
        assert "bus    to host 388 MB/s  mean at work: 241 W, 64 % busy" in text(pilot)
    async with running(devices.h200(copies=())) as pilot:
        assert "bus    to host 388 MB/s  5.12 MB a turn~" in text(pilot)
    few = GpuUse(devices.gpu(to_host_readings=3), "processes")
    async with running(devices.h200(copies=(), gpus=(few,))) as pilot:
        assert "a turn~" not in text(pilot)


async def test_several_devices_have_a_row_each() -> None:
    async with running(devices.two()) as pilot:
        said = gpu_rows(text(pilot).replace("─ 2 GPUs", "─ GPUs"))
        assert " 0 247 of 700 W  not limited: waits for others  62 % busy" in said
        assert " 1 247 of 700 W  thermal 34 %                   62 % busy" in said
        assert "─ memory of 2 GPUs" in text(pilot)
    async with running(devices.two(), size=(80, 24)) as pilot:
        assert any(row.startswith(" 2 GPUs GPU 1:  247 of 700 W  thermal 34 %") for row in rows(pilot))
    async with running(devices.two(count=8), size=(100, 34)) as pilot:
        assert "more not shown" in text(pilot)
        assert "thermal 34 %" in text(pilot)


@pytest.mark.parametrize("size", SIZES)
async def test_a_lost_device_is_loud_and_says_why(size: tuple[int, int]) -> None:
    async with running(devices.lost(), size=size) as pilot:
        assert " LOST: GPU is lost: it has fallen off the bus " in text(pilot)
        assert "247" not in text(pilot)
    async with running(devices.two(lost="gone"), size=size) as pilot:
        assert " LOST: gone " in text(pilot)
        assert "used?" not in text(pilot)


async def test_a_driver_that_went_away_is_no_lost_device() -> None:
    feed = devices.lost()
    feed.machine = Machine(feed.machine.gpus, (SourceView("nvml", "lost", "none", facts.T0, "driver unloaded"),))
    async with running(feed) as pilot:
        assert " NOT READ: GPU is lost" in text(pilot)
        assert any(row.split()[:3] == ["✖", "nvml", "off"] for row in rows(pilot))


async def test_without_a_driver_there_is_a_row_among_the_sources() -> None:
    async with running(devices.no_driver()) as pilot:
        shown = text(pilot)
        assert "─ GPU" not in shown
        assert "─ memory" not in shown
        assert any(row.startswith(" ○ nvml      none         no NVIDIA driver") for row in rows(pilot))
        assert "off" not in shown.split("─ sources", 1)[1].split("\n", 1)[0]


async def test_devices_of_which_use_is_not_known_say_so() -> None:
    async with running(devices.unsure()) as pilot:
        assert "─ GPU 0 H200 ─ decoding ─ not known if this server uses it " in text(pilot)
        assert "what of it is the server's, and what for, is not known" in text(pilot)
        assert "J/token" not in text(pilot)
    async with running(devices.unsure(3), size=(80, 24)) as pilot:
        assert " 3 GPUs used? not known GPU 1:" in text(pilot)


async def test_devices_say_nothing_of_a_server_elsewhere_or_one_that_holds_none() -> None:
    async with running(devices.feed(devices.unsure().machine, gpus=(), pid=None, url="http://10.0.0.7:8080")) as pilot:
        assert "─ GPU" not in text(pilot)
    none = ev.ProcessSampled(at=facts.T0, gpu_minors=[])
    async with running(devices.feed(devices.unsure().machine, gpus=(), usage=none)) as pilot:
        assert "─ GPU" not in text(pilot)
    async with running(devices.feed(devices.unsure().machine, gpus=(), pid=None, url="http://[::1]:8080")) as pilot:
        assert "─ GPU" in text(pilot)


@pytest.mark.parametrize("size", SIZES)
async def test_unknown_is_a_dash_never_a_zero(size: tuple[int, int]) -> None:
    async with running(devices.jetson(), size=size) as pilot:
        shown = text(pilot)
        said = next(row for row in rows(pilot) if "GPU" in row) if size[0] == 80 else gpu_rows(shown)
        assert "not told" in said or "the driver tells neither power, clocks nor use" in said
        assert "— J/token" in said
        assert not any(f"{zero} " in said for zero in ("0 W", "0 MHz", " 0 %", "0 C", "0.0"))


def test_a_single_figure_that_is_missing_is_a_dash() -> None:
    now = ev.GpuSampled(at=devices.END, index=0, power_w=None, sm_clock_mhz=1980)
    gpu = devices.gpu(now=now, memory=None, found=replace_found(power_limit_w=None, sm_clock_max_mhz=None))
    assert gpu_words.power_words(gpu) == "— W"
    assert gpu_words.sm_clock_words(gpu) == "1,980 MHz"
    assert gpu_words.busy_words(gpu) == "— busy"
    assert gpu_words.temperature_words(gpu) == "— C"
    assert energy_words.per_token(None) == "— J/token"
    assert energy_words.per_token(replace(devices.ENERGY, counted=False)) == "0.83 J/token~"
    assert [energy_words.joules(j) for j in (0.0421, 0.83, 12.34)] == ["0.042", "0.83", "12.3"]


def replace_found(**fields: Any) -> ev.GpuFound:  # noqa: ANN401
    known = {name: getattr(devices.H200, name) for name in devices.H200.__struct_fields__}
    return ev.GpuFound(**{**known, **fields})


@pytest.mark.parametrize(
    ("found", "words"),
    [({"mig": True}, "MIG instances"), ({"virtual": "vgpu"}, "a virtual GPU"), ({"unified": True}, "system's memory")],
)
async def test_devices_of_another_kind_say_so(found: dict[str, Any], words: str) -> None:
    async with running(devices.odd(**found), size=(200, 60)) as pilot:
        assert words in text(pilot)


async def test_old_readings_say_how_old_they_are() -> None:
    feed = devices.h200()
    feed.now += 14
    async with running(feed) as pilot:
        assert "─ last read 13 s ago ─" in text(pilot)
        await pilot.resize_terminal(80, 24)
        await painted(pilot)
        assert "last read 13 s ago" in text(pilot)


async def test_joules_of_now_are_not_told_while_nothing_is_decoded() -> None:
    feed = devices.h200()
    feed.now += 3
    async with running(feed) as pilot:
        assert "0.83 J/token+  1.16 J/accepted+" in text(pilot)


async def test_nothing_of_devices_is_shown_where_a_recording_has_none() -> None:
    async with running(StillFeed(facts.exact(), [HIDDEN_MIN_P, CLAMPED])) as pilot:
        assert "GPU" not in text(pilot)
        assert "─ memory" not in text(pilot)


async def test_a_device_without_a_map_shows_what_is_in_use() -> None:
    async with running(devices.h200(memory=Memory(kv=memories.KV))) as pilot:
        assert "─ memory 11.8 of 139.8 GiB in use, 128.0 free ─" in text(pilot)
        assert "O in use 11.8+" in text(pilot)


@pytest.mark.parametrize("scene", devices.SCENES, ids=lambda s: s.__name__)
async def test_any_size_is_drawn(scene: Callable[[], DeviceFeed]) -> None:
    async with running(scene(), size=(120, 40)) as pilot:
        for size in [(20, 5), (40, 12), (80, 24), (101, 30), (190, 50), (300, 90)]:
            await pilot.resize_terminal(*size)
            await painted(pilot)
            shown = rows(pilot)
            assert len(shown) == size[1]
            assert all(len(row) == size[0] for row in shown), size


async def test_poor_terminals_lose_nothing() -> None:
    async with running(devices.h200(), ascii=True, no_color=True) as pilot:
        shown = text(pilot)
        assert shown.isascii()
        assert "K KV 0.9 of 5.8+ filled" in shown
        assert any("WDK:B?O--" in row for row in rows(pilot))


async def test_nothing_is_painted_again_while_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = devices.h200()
    async with running(feed) as pilot:
        drawn: list[str] = []
        monkeypatch.setattr("specscope.views.panels.gpu._details", lambda *_: drawn.append("gpu") or [])
        monkeypatch.setattr("specscope.views.panels.vram.memory_bar", lambda *_: drawn.append("vram"))
        feed.now += 1.5
        await painted(pilot)
        assert drawn == []
        gpu = devices.gpu(now=ev.GpuSampled(at=feed.now, index=0, power_w=300.0))
        feed.fields["gpus"] = (GpuUse(gpu, "processes"),)
        feed.now += 0.2
        await painted(pilot)
        assert drawn == ["gpu"]
        feed.fields["gpus"] = (
            GpuUse(devices.gpu(now=ev.GpuSampled(at=feed.now, index=0, power_w=301.0)), "processes"),
        )
        feed.now += 0.2
        await painted(pilot)
        assert drawn == ["gpu"], "at most about once a second"


async def test_readings_of_the_driver_reach_the_screen() -> None:
    end = facts.exact()[-1].at
    told: list[ev.Event] = [replace_found(target=ev.MACHINE)]
    told.append(ev.GpuMemoryRead(at=facts.T0 + 1, target=ev.MACHINE, index=0, processes=[(4242, 9_718 * devices.MIB)]))
    at = facts.T0 + 1.0
    while at < end:
        at += 0.1
        told.append(ev.GpuSampled(at=at, target=ev.MACHINE, index=0, power_w=431.4, sm_clock_mhz=1755, reasons=4))
    feed = StillFeed(sorted([*facts.exact(), *told], key=lambda fact: fact.at))
    async with running(feed) as pilot:
        shown = text(pilot)
        assert "─ GPU 0 H200 ─ decoding ─" in shown
        assert "431 of 700 W  1,755 of 1,980 MHz  — busy  — C" in shown
        assert "power cap 100 % of busy time: 1,755 of 1,980 MHz" in shown


def test_scenes_are_of_the_same_second() -> None:
    assert traced.END == devices.END
