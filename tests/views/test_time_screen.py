"""What the Time screen says, what Live says of a turn, and what both say where less is known."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import facts
import pytest
import traced
from feeds import CLAMPED, HIDDEN_MIN_P, StillFeed
from screens import painted, rows, running, text

from specscope.session.economics.method_state import MethodRow
from specscope.session.turn_state import BackendPath, CopyRow, SavedRow, Stalls

if TYPE_CHECKING:
    from collections.abc import Callable

    from feeds import TracedFeed

SIZES = [(80, 24), (120, 40), (200, 60)]
FEEDS = [traced.traced, traced.estimated, traced.untraced, traced.by_cpu, traced.cheap, traced.plain]


async def test_live_shows_a_bar_where_there_is_room() -> None:
    async with running(traced.traced()) as pilot:
        shown = text(pilot)
        assert "─ where 13.0 ms= go in a turn, mean of 154 in 2.0 s ─" in shown
        for words in ("V verify on device 4.7= 36 %", "H host sampling 3.2= 25 %", "F features 1.3= 10 %"):
            assert words in shown
        assert "draft selection: device=   target sampling: host=" in shown
        assert "to host 4.46 MB a turn, most: target logits of 16 rows" in shown
        assert "CPU waits 46 %, GPU idle 41 % (sampled 0.5 s in 10 s)" in shown
        assert "evidence: trace, exact" in rows(pilot)[0]
        assert "● trace     trace        auto, process 4242, dear probes 0.5 s in 10 s" in shown


async def test_on_a_small_screen_live_has_one_row_of_it() -> None:
    async with running(traced.traced([HIDDEN_MIN_P]), size=(80, 24)) as pilot:
        said = [row.strip() for row in rows(pilot) if "a turn" in row]
        assert said == ["13.0 ms= a turn: draft 3.4, submit 0.4, verify 4.7, features 1.3, sampling 3.2"]
        assert "hidden_min_p" in text(pilot)


async def test_the_smallest_parts_are_added_up_where_a_row_is_too_narrow() -> None:
    async with running(traced.traced(), size=(60, 24)) as pilot:
        (row,) = [row for row in rows(pilot) if "a turn" in row]
        assert row.strip() == "13.0 ms= a turn: draft 3.4, verify 4.7, all else 4.9"
        assert "…" not in row


async def test_live_leaves_the_anatomy_out_where_nothing_is_known() -> None:
    async with running(traced.untraced()) as pilot:
        assert "where" not in text(pilot)
        assert "a turn" not in text(pilot)


async def test_parted_counts_are_told_before_the_trace() -> None:
    async with running(traced.traced(cycle_evidence="parted")) as pilot:
        assert "evidence: trace, PARTED" in rows(pilot)[0]
    async with running(traced.traced(evidence="unconfirmed")) as pilot:
        assert "evidence: trace, not yet compared" in rows(pilot)[0]


async def test_old_figures_say_how_old_they_are() -> None:
    feed = traced.traced()
    async with running(feed) as pilot:
        feed.now += 14
        await painted(pilot)
        assert "last one 13 s ago" in text(pilot)
        await pilot.press("3")
        await painted(pilot)
        assert "last one 13 s ago" in rows(pilot)[1]


async def test_a_trace_that_lacks_functions_says_which() -> None:
    async with running(traced.cheap()) as pilot:
        assert "dear probes never; not in this build: sample, copy_2d_async" in text(pilot)
        assert "the rest holds what was not seen apart: verify on device, host sampling" in text(pilot)
        assert "GPU idle" not in text(pilot)


@pytest.mark.parametrize("size", SIZES)
async def test_time_shows_all_that_is_traced(size: tuple[int, int]) -> None:
    async with running(traced.traced(stacks=traced.STACKS), size=size) as pilot:
        await pilot.press("3")
        await painted(pilot)
        shown = text(pilot)
        for words in (
            "where 13.0 ms= go in a turn, mean of 154 in 2.0 s",
            "↑ cut, up to 5",
            "─ stalls % of the time, sampled 0.5 s in 10 s",
            "CPU waits for GPU",
            "GPU idle",
            "logits of 16 rows",
            "3,145,728",
            "4.46 MB a turn to host",
            "draft selection device=",
            "target sampling host=",
            "auto, dear probes 0.5 s in 10 s",
            "86 % _call_chat",
        ):
            assert words in shown, words
        assert "not traced" not in shown


async def test_parts_can_be_told_apart_without_colour_and_unicode() -> None:
    async with running(traced.traced(), ascii=True, no_color=True) as pilot:
        await pilot.press("3")
        await painted(pilot)
        assert text(pilot).isascii()
        for letter in "DVFH":
            assert any(letter * 10 in row for row in rows(pilot)), letter
        assert any(row.split()[-6:-3] == ["V", "verify", "on"] or "V verify on device" in row for row in rows(pilot))


async def test_untraced_says_why_and_what_lifts_it() -> None:
    async with running(traced.untraced(), size=(80, 24)) as pilot:
        await pilot.press("3")
        await painted(pilot)
        said = " ".join(" ".join(rows(pilot)).split())
        assert f"not traced: tracing needs root; what lifts it: {traced.AS_ROOT}" in said
        assert "…" not in text(pilot)
        assert not any(c.isdigit() for row in rows(pilot)[1:-1] for c in row)


async def test_an_estimate_is_shown_with_what_it_rests_on() -> None:
    async with running(traced.estimated(), size=(80, 24)) as pilot:
        await pilot.press("3")
        await painted(pilot)
        said = " ".join(" ".join(rows(pilot)).split())
        assert "what is shown is an estimate" in said
        assert "estimated from: turn of 13.3 ms from the time between steps; draft from the log's statistics" in said
        assert "D draft 3.4~ 26 %" in said
        assert "target sampling host~ request: backend_sampling false" in said


async def test_a_trace_that_ended_leaves_what_it_showed() -> None:
    async with running(traced.traced(sources=(traced.HTTP, traced.OFF)), size=(120, 40)) as pilot:
        await pilot.press("3")
        await painted(pilot)
        said = " ".join(" ".join(rows(pilot)).split())
        assert "what is shown is what was traced before" in said
        assert "where 13.0 ms= go" in said


async def test_a_watch_without_a_tracing_source_says_so() -> None:
    async with running(StillFeed(facts.exact()), size=(80, 24)) as pilot:
        await pilot.press("3")
        await painted(pilot)
        assert "not traced: not permitted; what lifts it: run as root, or setcap bpftrace" in text(pilot)
    async with running(traced.traced(trace=None, sources=(traced.HTTP,), anatomy=None)) as pilot:
        await pilot.press("3")
        await painted(pilot)
        assert "nothing is traced here: this watch or recording has no tracing source" in text(pilot)
    async with running(traced.traced(anatomy=None)) as pilot:
        await pilot.press("3")
        await painted(pilot)
        assert "traced: waiting for the first turn" in text(pilot)


async def test_the_cpu_waits_for_no_device() -> None:
    async with running(traced.by_cpu()) as pilot:
        assert "verify (computed by the CPU)" in text(pilot)
        await pilot.press("3")
        await painted(pilot)
        shown = text(pilot)
        assert "V verify (CPU)" in shown
        assert "GPU" not in shown
        assert "on device " not in shown.split("where tokens")[0]


async def test_a_server_that_does_not_draft_has_no_parts_of_drafting() -> None:
    async with running(traced.plain()) as pilot:
        shown = text(pilot)
        assert "where 3.37 ms= go in a plain step, mean of 594" in shown
        assert "C compute on device 2.71= 80 %" in shown
        assert "draft selection" not in shown
        assert "D draft" not in shown
        await pilot.press("3")
        await painted(pilot)
        assert "draft selection —       speculation is off" in text(pilot)


async def test_bursts_without_length_divide_by_nothing() -> None:
    for empty in (Stalls(()), Stalls((replace(traced.stalls().bursts[0], span_s=0.0),))):
        async with running(traced.traced(stalls=empty)) as pilot:
            assert "GPU idle" not in text(pilot)
            await pilot.press("3")
            await painted(pilot)
            assert "stalls" not in text(pilot)


async def test_bursts_all_the_time_are_not_called_samples() -> None:
    dense = traced.stalls(28, every=1.0)
    feed = traced.traced(stalls=replace(dense, burst_s=1.0))
    async with running(feed) as pilot:
        assert "(seen all the time)" in text(pilot)
        await pilot.press("3")
        await painted(pilot)
        assert "% of the time, seen all the time" in text(pilot)


async def test_copies_that_no_size_explains_say_so() -> None:
    odd = tuple(replace(row, bytes_each=row.bytes_each + 1, meaning="") for row in traced.COPIES) * 5
    async with running(traced.traced(copies=odd, backend_path=BackendPath())) as pilot:
        assert "to host 22.3 MB a turn " in text(pilot)
        await pilot.press("3")
        await painted(pilot)
        assert "not explained by the models' sizes" in text(pilot)
        assert "more not shown" in text(pilot)


async def test_sizes_that_few_turns_have_are_added_up() -> None:
    prompts = tuple(CopyRow("target", 16_384 * n, 0.01, f"features of one layer, {n} rows of a prompt") for n in (5, 9))
    async with running(traced.traced(copies=(*prompts, *traced.COPIES))) as pilot:
        await pilot.press("3")
        await painted(pilot)
        said = "4.46 MB a turn to host, of it 2.29 kB in 2 sizes rarer than 1 in 10 turns"
        assert said in text(pilot)
        assert "of a prompt" not in text(pilot)
    async with running(traced.traced(copies=prompts)) as pilot:
        await pilot.press("3")
        await painted(pilot)
        assert "9 rows of a prompt" in text(pilot)


async def test_a_state_that_was_saved_is_told_besides_and_counted_in_no_turn() -> None:
    saved = (
        SavedRow(78_848, 18, "slot state (K or V of 308 cells), saved to the prompt cache"),
        SavedRow(27_136, 18, "slot state (K or V of 106 cells), saved to the prompt cache"),
    )
    async with running(traced.traced(saved=saved)) as pilot:
        assert "to host 4.46 MB a turn" in text(pilot)
        await pilot.press("3")
        await painted(pilot)
        assert "4.46 MB a turn to host" in text(pilot)
        assert "besides, in no turn: 1.91 MB in 36 copies, most: slot state (K or V of 308 cells)" in text(pilot)
    async with running(traced.traced(saved=saved), size=(80, 24)) as pilot:
        await pilot.press("3")
        await painted(pilot)
        assert "besides: 1.91 MB, slot state (K or V of 308 cells), saved to the prompt cache" in text(pilot)


async def test_several_methods_have_a_row_on_cycles() -> None:
    methods = (
        MethodRow("draft-dflash", "exact", 231, 3410, 1702),
        MethodRow("ngram-simple", "exact", 79, 974, 530),
    )
    async with running(traced.traced(by_method=methods)) as pilot:
        await pilot.press("2")
        await painted(pilot)
        said = rows(pilot)[2]
        assert "dflash 231 cycles, 1,702 of 3,410 accepted, 49.9 %" in said
        assert "ngram-simple 79 cycles, 530 of 974 accepted, 54.4 %" in said
        assert rows(pilot)[3].startswith("─ cycle")
        await pilot.resize_terminal(80, 24)
        await painted(pilot)
        assert rows(pilot)[2].rstrip() == " by method   dflash 231 cycles, 49.9 %   ngram-simple 79 cycles, 54.4 %"
    async with running(traced.traced(by_method=methods[:1])) as pilot:
        await pilot.press("2")
        await painted(pilot)
        assert rows(pilot)[2].startswith("─ cycle")


@pytest.mark.parametrize("feed", FEEDS, ids=lambda f: f.__name__)
async def test_any_size_is_drawn(feed: Callable[[], TracedFeed]) -> None:
    async with running(feed(), size=(120, 40)) as pilot:
        await pilot.press("3")
        for size in [(20, 5), (40, 12), (80, 24), (101, 30), (190, 50), (300, 90)]:
            await pilot.resize_terminal(*size)
            await painted(pilot)
            shown = rows(pilot)
            assert len(shown) == size[1]
            assert all(len(row) == size[0] for row in shown), size


async def test_nothing_seen_yet() -> None:
    async with running(StillFeed([]), size=(80, 24)) as pilot:
        await pilot.press("3")
        await painted(pilot)
        assert "no server seen yet" in text(pilot)


async def test_nothing_is_painted_again_while_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = traced.traced([HIDDEN_MIN_P, CLAMPED], stacks=traced.STACKS)
    async with running(feed) as pilot:
        await pilot.press("3")
        await painted(pilot)
        drawn: list[str] = []
        monkeypatch.setattr(
            "specscope.views.panels.timeline.strip_rows", lambda *_: drawn.append("strip") or pytest.fail("drawn")
        )
        feed.fields["anatomy"] = traced.anatomy()
        feed.now += 1.5
        await painted(pilot)
        assert drawn == []
