"""What the hits of a burst tell, reckoned by hand. Stamps are nanoseconds, written in microseconds."""

from __future__ import annotations

import pytest

from specscope.sources.probes.hits import SPAN_NS, Hit, Seen, Span, judge

US = 1000
TENSOR, OTHER = 0x7F0000001000, 0x7F0000002000
BACKEND, BUFFER, OFFSET = 0x5500, 0x6600, 0


def enter(at: float, role: str, *arguments: int) -> Hit:
    return Hit(round(at * US), role, left=False, arguments=arguments)


def leave(at: float, role: str) -> Hit:
    return Hit(round(at * US), role, left=True)


def whole(start: float, end: float, role: str) -> list[Hit]:
    return [enter(start, role), leave(end, role)]


def plain(at: float, size: int, tensor: int = TENSOR) -> Hit:
    """``ggml_backend_tensor_get(tensor, data, offset, size)``; two registers more that mean nothing."""
    return enter(at, "copy", tensor, BUFFER, OFFSET, size, 11, 12)


def asynchronous(at: float, size: int, tensor: int = TENSOR) -> Hit:
    """``ggml_backend_tensor_get_async(backend, tensor, data, offset, size)``."""
    return enter(at, "copy_async", BACKEND, tensor, BUFFER, OFFSET, size, 12)


def of_rows(at: float, size: int, rows: int, tensor: int = TENSOR) -> Hit:
    """``ggml_backend_tensor_get_2d_async(backend, tensor, data, offset, size, n_copies, ..)``."""
    return enter(at, "copy_2d_async", BACKEND, tensor, BUFFER, OFFSET, size, rows)


def seen(*hits: Hit, lost: int = 0) -> Seen:
    return judge(sorted(hits), 0, 1_000_000, lost)


def turn(*hits: Hit, at: float = 0) -> Seen:
    """What is seen of a whole turn that begins at ``at`` and lasts for 1000 us."""
    return seen(enter(at, "forward"), *hits, enter(at + 1000, "forward"))


# --- waits, submits and idle time ---------------------------------------------------------------------------------


def test_nothing_seen() -> None:
    assert judge([], 5, 7, 3) == Seen(begin_ns=5, end_ns=7, lost=3)


@pytest.mark.parametrize("wait", ["wait", "device_wait"])
def test_the_device_idles_from_the_end_of_a_wait_to_the_next_submit(wait: str) -> None:
    told = seen(*whole(0, 100, wait), *whole(150, 190, "submit"))
    assert (told.waits, told.wait_ns, told.submits, told.idle_ns) == (1, 100_000, 1, 50_000)
    assert told.spans == [Span("wait", 0, 100_000), Span("submit", 150_000, 40_000)]


def test_a_captured_graph_gives_the_device_work_when_it_is_launched() -> None:
    told = seen(*whole(0, 100, "wait"), enter(150, "submit"), enter(250, "launch"), leave(300, "submit"))
    assert (told.submits, told.idle_ns) == (1, 150_000)
    again = seen(
        *whole(0, 100, "wait"),
        enter(150, "submit"),
        enter(250, "launch"),
        leave(300, "submit"),
        *whole(300, 400, "wait"),
        *whole(410, 420, "submit"),
    )
    assert (again.submits, again.idle_ns) == (2, 160_000)


def test_a_wait_of_an_idle_device_does_not_interrupt_its_idleness() -> None:
    told = seen(*whole(0, 100, "wait"), *whole(120, 126, "wait"), *whole(150, 160, "submit"))
    assert (told.waits, told.wait_ns, told.idle_ns) == (2, 106_000, 50_000)


def test_a_wait_within_a_submit_leaves_the_device_at_work() -> None:
    told = seen(enter(0, "submit"), *whole(10, 90, "wait"), leave(100, "submit"), *whole(140, 150, "submit"))
    assert (told.waits, told.wait_ns, told.submits, told.idle_ns) == (1, 80_000, 2, 0)


def test_a_short_wait_is_added_up_and_not_told_one_by_one() -> None:
    long = SPAN_NS / US
    told = seen(*whole(0, long - 0.001, "wait"), *whole(100, 100 + long, "wait"))
    assert (told.waits, told.wait_ns) == (2, 2 * SPAN_NS - 1)
    assert told.spans == [Span("wait", 100_000, SPAN_NS)]


def test_what_began_before_the_burst_or_ends_after_it_has_no_length() -> None:
    told = seen(leave(5, "wait"), leave(6, "submit"), *whole(10, 20, "wait"), enter(30, "wait"))
    assert (told.waits, told.wait_ns, told.submits) == (1, 10_000, 0)
    assert told.idle_ns == 0


# --- copies -------------------------------------------------------------------------------------------------------


def test_copies_are_counted_by_size_in_whole_turns() -> None:
    told = seen(
        plain(1, 100),
        enter(10, "forward"),
        plain(11, 200),
        plain(12, 200),
        plain(13, 300),
        enter(20, "forward"),
        plain(21, 200),
        enter(30, "forward"),
        plain(31, 400),
    )
    assert told.forwards == 2
    assert told.copies == {("target", 200): 3, ("target", 300): 1}


def test_without_a_whole_turn_nothing_is_counted() -> None:
    assert seen(plain(1, 100), enter(10, "forward"), plain(11, 200)).copies == {}


@pytest.mark.parametrize("owner", ["draft", "features"])
def test_what_is_copied_for_the_drafter_is_the_drafters(owner: str) -> None:
    told = turn(
        plain(1, 100), enter(10, owner), plain(11, 100), of_rows(12, 4, 10, OTHER), leave(20, owner), plain(21, 100)
    )
    assert told.copies == {("target", 100): 2, ("drafter", 100): 1, ("drafter", 40): 1}


def test_a_forward_of_the_drafter_is_no_turn() -> None:
    told = turn(
        enter(10, "draft"), enter(11, "forward"), plain(12, 8), enter(13, "forward"), plain(14, 8), leave(20, "draft")
    )
    assert told.forwards == 1
    assert told.copies == {("drafter", 8): 2}


def test_a_burst_that_begins_while_the_server_drafts() -> None:
    told = seen(
        enter(1, "forward"),
        plain(2, 8),
        leave(5, "draft"),
        enter(10, "forward"),
        plain(11, 100),
        enter(20, "forward"),
    )
    assert told.forwards == 1
    assert told.copies == {("target", 100): 1}


def test_an_asynchronous_copy_that_falls_into_the_plain_one_is_counted_once() -> None:
    assert turn(asynchronous(1, 100), plain(2, 100)).copies == {("target", 100): 1}
    assert turn(of_rows(1, 50, 2), plain(2, 100)).copies == {("target", 100): 1}


def test_a_plain_copy_of_another_tensor_or_a_further_one_counts() -> None:
    assert turn(asynchronous(1, 100), plain(2, 100, OTHER)).copies == {("target", 100): 2}
    assert turn(asynchronous(1, 100), plain(2, 100), plain(3, 100)).copies == {("target", 100): 2}
    assert turn(asynchronous(1, 100), asynchronous(2, 100)).copies == {("target", 100): 2}


def test_rows_are_one_copy_of_all_their_bytes() -> None:
    assert turn(of_rows(1, 1200, 16)).copies == {("target", 19_200): 1}


def test_a_copy_whose_registers_were_not_seen_tells_nothing() -> None:
    told = turn(enter(1, "copy"), enter(2, "copy_async"), enter(3, "copy_2d_async"), plain(4, 100))
    assert told.copies == {("target", 100): 1}


def test_what_no_forward_copies_is_told_apart() -> None:
    # A forward's results are asked for asynchronously; within a submit layers come from the device to the host.
    told = seen(
        *(enter(at, "forward") for at in (0, 1000, 2000, 3000)),
        *(hit for at in (10, 1010, 2010) for hit in whole(at, at + 50, "submit")),
        *(hit for at in (100, 1100, 2100) for hit in (asynchronous(at, 1200), plain(at + 1, 1200))),
        plain(1020, 500, OTHER),
        *(plain(1200 + layer, 78_848, OTHER + layer) for layer in range(16)),
        *whole(1300, 1400, "draft"),
        plain(1350, 600, OTHER),
    )
    assert told.apart == {78_848: 16}
    assert told.copies == {("target", 1200): 3, ("target", 500): 1, ("drafter", 600): 1}


def test_a_state_that_every_turn_saves_is_part_of_the_turn() -> None:
    hits = [enter(at, "forward") for at in (0, 1000, 2000, 3000)]
    hits += [*whole(10, 20, "submit"), plain(30, 4096), plain(1030, 4096), plain(2030, 800)]
    told = seen(*hits)
    assert (told.copies, told.apart) == ({("target", 4096): 2}, {800: 1})


def test_where_no_submit_was_seen_nothing_is_told_apart() -> None:
    told = turn(plain(1, 4096))
    assert (told.copies, told.apart) == ({("target", 4096): 1}, None)


# --- sampling -----------------------------------------------------------------------------------------------------


def test_sampling_is_told_by_model() -> None:
    told = turn(
        enter(10, "draft"),
        *whole(11, 13, "sample"),
        *whole(14, 16, "sample"),
        leave(20, "draft"),
        *whole(500, 530, "sample"),
        *whole(540, 550, "sample"),
        *whole(560, 565, "sample"),
    )
    assert (told.samples, told.sampling_ns, told.draft_sampling_ns) == (3, 45_000, 4_000)


def test_sampling_outside_a_whole_turn_is_not_counted() -> None:
    told = seen(
        leave(1, "sample"),
        *whole(2, 3, "sample"),
        enter(10, "forward"),
        leave(11, "sample"),
        *whole(12, 15, "sample"),
        enter(20, "forward"),
        *whole(21, 29, "sample"),
        enter(30, "sample"),
    )
    assert (told.forwards, told.samples, told.sampling_ns) == (1, 1, 3_000)


def test_a_burst_of_everything() -> None:
    hits = []
    for at in (0, 1000, 2000, 3000):
        hits += [enter(at, "forward"), *whole(at + 10, at + 60, "submit"), *whole(at + 100, at + 500, "wait")]
        hits += [asynchronous(at + 510, 19_200), *whole(at + 600, at + 640, "sample"), enter(at + 700, "draft")]
        hits += [enter(at + 710, "forward"), *whole(at + 710, at + 720, "submit"), *whole(at + 730, at + 780, "wait")]
        hits += [of_rows(at + 790, 4, 10), leave(at + 800, "draft")]
    told = seen(*hits)
    assert (told.forwards, told.submits, told.waits) == (3, 8, 8)
    assert told.wait_ns == 4 * 450_000
    # From 500 to the drafter's submit at 710, and from 780 to the next turn's at 1010.
    assert told.idle_ns == 4 * 210_000 + 3 * 230_000
    assert told.copies == {("target", 19_200): 3, ("drafter", 40): 3}
    assert (told.samples, told.sampling_ns) == (3, 120_000)
    assert [span.start_ns for span in told.spans] == sorted(span.start_ns for span in told.spans)
