"""Words, bars and charts of memory, each on its own."""

from __future__ import annotations

from dataclasses import replace

import memories
from hypothesis import given
from hypothesis import strategies as st

from specscope.session.memory.map_state import AtFull, KvFill, MapPart, MemorySample
from specscope.views.ink import ink_from
from specscope.views.memory_parts import groups_of, portions_of
from specscope.views.memory_words import context_words, full_words, gib, growth_words, mib, reserved_words, sum_words
from specscope.views.panels.growth import spread
from specscope.views.themes import DARK
from specscope.views.widgets.memory_bar import memory_bar
from specscope.views.widgets.value_strip import Value, value_rows

INK = ink_from(DARK, colour=True, ascii_only=False)
PLAIN = ink_from(DARK, colour=False, ascii_only=True)
MIB = memories.MIB


def test_sizes_below_the_unit_are_no_zeros() -> None:
    assert [mib(n) for n in (None, 0, 200_000, 9_718 * MIB)] == ["—", "0", "<1", "9,718"]
    assert [gib(n) for n in (None, 0, 20 * MIB, 20_275 * MIB)] == ["—", "0.0", "<0.1", "19.8"]


def test_the_sum_says_what_it_rests_on() -> None:
    whole = replace(memories.DEVICE_MAP, process_bytes=11_284 * MIB, explained=1.0)
    assert sum_words(whole) == ("parts make up 11,284 of the process's 11,284 MiB: 100.0 %, none unexplained", False)
    said, wrong = sum_words(replace(memories.DEVICE_MAP, process_bytes=None, explained=None))
    assert said == "parts add up to 11,284 MiB; the process's own memory is not told, so nothing confirms them"
    assert not wrong
    assert sum_words(replace(memories.DEVICE_MAP, process_bytes=11_000 * MIB))[1]
    host = replace(memories.HOST_MAP, process_bytes=200 * MIB)
    assert sum_words(host) == ("parts make up 300 of the process's 200 MiB: 100 MiB of them are not resident", False)


def test_growth_is_told_in_words() -> None:
    grown = memories.growth()
    assert growth_words(grown) == ["+10 MiB", "while 31,000 tokens came in", "over 4 requests"]
    still = replace(grown, latest=replace_sample(grown.first), requests=0, own=False)
    assert growth_words(still) == ["no growth", "(all processes)", "in 0 s"]
    less = replace(grown, latest=grown.first._replace(bytes=grown.first.bytes - 3 * MIB, at=grown.first.at + 60))
    assert growth_words(less)[:2] == ["-3 MiB", "in 60 s"]


def replace_sample(sample: MemorySample) -> MemorySample:
    return sample._replace(fill_tokens=None)


def test_a_full_context_fits_or_does_not_or_it_is_not_known() -> None:
    assert full_words(AtFull(MIB, "")) == ("with every context full: 1 MiB~, whether it fits is not known", False)
    assert full_words(AtFull(MIB, "b", fits=False)) == ("with every context full: 1 MiB~, IT DOES NOT FIT (b)", True)


def test_context_and_cache_in_words() -> None:
    assert context_words(KvFill()) == "context — of —"
    assert context_words(replace(memories.KV, fill_max_tokens=262_144)) == "context 41,022 of 262,144 (16 %)"
    assert context_words(KvFill(fill_tokens=10, context_tokens=8192)) == "context 10 of 8,192 (<1 %)"
    assert reserved_words(KvFill()) == ["— bytes a token", "reserved — MiB", "filled — MiB"]
    assert reserved_words(memories.KV)[1:] == ["reserved 5,920 MiB for 262,144 cells", "filled 926 MiB (16 %)"]


def test_groups_are_as_well_known_as_the_least_known_of_their_parts() -> None:
    groups = {group.name: group for group in groups_of(memories.DEVICE_MAP)}
    assert groups["buffers"].evidence == groups["KV"].evidence == "counted"
    assert groups["others"].evidence == "estimated"
    assert groups["KV"].filled_bytes == 926 * MIB
    assert sum(group.bytes for group in groups.values()) == sum(part.bytes for part in memories.LOGGED)
    half = replace(memories.DEVICE_MAP, parts=(memories.LOGGED[2], MapPart("drafter KV", MIB, "log")))
    assert groups_of(half)[0].filled_bytes is None


@given(st.integers(min_value=20, max_value=200), st.booleans())
def test_a_bar_is_as_wide_as_asked(width: int, plain: object) -> None:
    line = memory_bar(portions_of(memories.DEVICE_MAP), PLAIN if plain else INK, width)
    assert line.cells == width


def test_what_is_filled_is_solid_and_the_rest_shaded() -> None:
    parts = (MapPart("target KV", 100, "log", "", 30), MapPart("free", 100, "driver"))
    known = replace(memories.DEVICE_MAP, parts=parts)
    assert memory_bar(portions_of(known), PLAIN, 20).strip(20).text == "KKK:::::::-- free --"
    full = replace(known, parts=(MapPart("target KV", 100, "log", "", 100),))
    assert memory_bar(portions_of(full), PLAIN, 10).strip(10).text == "KKKKKKKKKK"
    assert "░" in memory_bar(portions_of(known), INK, 20).strip(20).text


def test_values_are_columns_and_what_is_too_high_is_cut() -> None:
    drawn = value_rows(
        [Value(None), Value(0.0), Value(1.0), Value(50.0), Value(100.0), Value(130.0)], 100.0, 2, INK, INK.text
    )
    assert [row.text for row in drawn] == ["    █↑", "  ▁███"]
    assert [row.text for row in value_rows([Value(1.0)], 100.0, 1, PLAIN, PLAIN.text)] == ["."]


def test_samples_are_spread_over_columns_of_equal_time() -> None:
    samples = [MemorySample(float(n), 100 + n, n) for n in (0, 1, 2, 30)]
    columns = spread(samples, 10)
    assert len(columns) == 10
    assert columns[0].bytes == 102
    assert columns[5].bytes == 102
    assert columns[-1] == (130, 30)
    assert len(spread(samples[:1], 10)) == 1


@given(
    st.lists(st.floats(min_value=0, max_value=4000), min_size=1, max_size=60), st.integers(min_value=1, max_value=120)
)
def test_no_peak_is_lost_between_columns(times: list[float], cells: int) -> None:
    samples = [MemorySample(at, n * 7 % 13, None) for n, at in enumerate(sorted(times))]
    columns = spread(samples, cells)
    assert len(columns) <= cells
    assert max(c.bytes for c in columns) == max(s.bytes for s in samples)
