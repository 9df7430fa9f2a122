"""A server's memory, made by hand: the DFlash pair on an H200 as it was measured, and places of which less is known."""

from __future__ import annotations

from dataclasses import replace

import traced

from specscope.session.depth import DepthRow
from specscope.session.memory.map_state import AtFull, Growth, KvFill, MapPart, Memory, MemoryMap, MemorySample

MIB = 2**20
END = traced.END

LOGGED = (
    MapPart("target weights", 3853 * MIB, "log", "the server's log"),
    MapPart("drafter weights", 630 * MIB, "log", "the server's log"),
    MapPart("target KV", 5120 * MIB, "log", "the server's log", 801 * MIB),
    MapPart("drafter KV", 800 * MIB, "log", "the server's log", 125 * MIB),
    MapPart("compute buffers", 363 * MIB, "log", "the server's log"),
    MapPart("output buffers", 200_000, "log", "the server's log"),
    MapPart("CUDA context", 518 * MIB, "log", "taken before anything was loaded"),
    MapPart("unexplained", 128 * MIB, "rest", "the process's memory, less the parts above"),
    MapPart("other processes", 7 * MIB, "driver", "as the driver lists them"),
    MapPart("driver reserve", 616 * MIB, "rest", "used by no listed process"),
    MapPart("free", 131_120 * MIB, "driver"),
)
"""The DFlash pair on an H200, b11434 at -lv 4."""

DEVICE_MAP = MemoryMap(
    place="device",
    parts=LOGGED,
    total_bytes=143_771 * MIB,
    used_bytes=12_035 * MIB,
    free_bytes=131_120 * MIB,
    process_bytes=11_412 * MIB,
    explained=11_284 / 11_412,
)
HOST_MAP = MemoryMap(
    place="host",
    parts=(
        MapPart("target weights", 108 * MIB, "log", "the server's log"),
        MapPart("compute buffers", 192 * MIB, "log", "the server's log"),
        MapPart("output buffers", 400_000, "log", "the server's log"),
        MapPart("unexplained", 1190 * MIB, "rest", "resident memory, less the parts above"),
    ),
    process_bytes=1490 * MIB,
    explained=300 / 1490,
)
KV = KvFill(
    bytes_per_token=23_680.0,
    reserved_bytes=5920 * MIB,
    filled_bytes=926 * MIB,
    cells=262_144,
    fill_tokens=41_022,
    fill_max_tokens=41_421,
    context_tokens=262_144,
)


def growth(count: int = 200, first: int = 11_402, latest: int = 11_412, *, own: bool = True) -> Growth:
    """Four requests fill the cache step by step, and a buffer grows once."""
    samples = tuple(
        MemorySample(
            END - 3.0 * (count - 1 - n),
            (first if n < count // 3 else latest) * MIB,
            1000 + 31_000 * (4 * n // count) // 3,
        )
        for n in range(count)
    )
    return Growth(samples, samples[0], samples[-1], max(samples, key=lambda s: s.bytes), 4, own)


FULL = AtFull(11_470 * MIB, "KV is reserved at load; compute buffers as now", fits=True)
DEPTHS = (
    DepthRow(0, 1024, 412.6, 5.42, 812),
    DepthRow(1024, 2048, 409.1, 5.40, 404),
    DepthRow(2048, 4096, 396.0, 5.31, 377),
    DepthRow(4096, 8192, 371.8, 5.22, 350),
    DepthRow(8192, 16_384, 338.3, 5.26, 214),
    DepthRow(16_384, 32_768, 281.9, 5.18, 96),
    DepthRow(32_768, 65_536, 240.2, 5.24, 31),
)
MEMORY = Memory(DEVICE_MAP, HOST_MAP, KV, growth(), FULL)


def _computed() -> Memory:
    """A 24 GB card that is nearly full, with a log that tells nothing of buffers."""
    parts = (
        MapPart(
            "target weights", 20_275 * MIB, "computed", "all layers assumed on devices: the default is as many as fit"
        ),
        MapPart(
            "drafter weights", 1_638 * MIB, "computed", "all layers assumed on devices: the default is as many as fit"
        ),
        MapPart("target KV", 380 * MIB, "computed", "context from the flags", 61 * MIB),
        MapPart("unexplained", 317 * MIB, "rest", "the process's memory, less the parts above"),
        MapPart("other processes", 310 * MIB, "driver", "as the driver lists them"),
        MapPart("free", 1_547 * MIB, "driver"),
    )
    device = MemoryMap(
        place="device",
        parts=parts,
        missing=("drafter KV", "compute buffers", "CUDA context"),
        total_bytes=24_467 * MIB,
        used_bytes=22_920 * MIB,
        free_bytes=1_547 * MIB,
        process_bytes=22_610 * MIB,
        explained=22_293 / 22_610,
    )
    kv = replace(KV, bytes_per_token=None, unknown_why="the drafter's header is not read", filled_bytes=None)
    return Memory(
        device, None, kv, growth(60, 22_400, 22_610), AtFull(24_900 * MIB, "buffers grow with fill", fits=False)
    )


def _by_cpu() -> Memory:
    """All is in the host's memory, and the parts are told too large."""
    parts = (
        MapPart("target weights", 108 * MIB, "log", "the server's log"),
        MapPart("drafter weights", 34 * MIB, "log", "the server's log"),
        MapPart("target KV", 96 * MIB, "log", "the server's log", 12 * MIB),
        MapPart("compute buffers", 64 * MIB, "log", "the server's log"),
        MapPart("unexplained", -9 * MIB, "rest", "resident memory, less the parts above"),
    )
    host = MemoryMap(place="host", parts=parts, total_bytes=15_900 * MIB, process_bytes=293 * MIB, explained=302 / 293)
    kv = replace(
        KV,
        reserved_bytes=96 * MIB,
        filled_bytes=12 * MIB,
        cells=8192,
        fill_tokens=1024,
        fill_max_tokens=1024,
        context_tokens=8192,
    )
    return Memory(None, host, kv)


COMPUTED, BY_CPU = _computed(), _by_cpu()
