"""A turn's parts without a trace: what the log's statistics and the threads' CPU let one say, and no more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest

if TYPE_CHECKING:
    from specscope import events as ev
    from specscope.session.turn_state import Anatomy

FOUND = [b.found(), b.attached("log", "cycles")]
H200 = [(2.9, 29, 98.509), (6.0, 238, 735.479), (9.5, 445, 1398.256), (40.5, 986, 3366.887)]
"""``statistics draft-dflash`` of an H200: seconds, drafts, milliseconds they took."""
GPU = b.said("layers_offloaded", offloaded="33", layers="33")


def drafting(count: int = 600, *, step_s: float = 0.013, begins: float = 1.0, slots: int = 1) -> list[ev.Event]:
    """Cycles one after another: at 13 ms each on an H200."""
    of_slot = [[b.cycle(begins + step_s * i, 15, 6, slot=s, task=1 + s) for i in range(count)] for s in range(slots)]
    return [f for together in zip(*of_slot, strict=True) for f in together]


def plain(count: int = 2000, step_s: float = 0.0033) -> list[ev.Event]:
    """Polled tokens of a server that does not draft."""
    polls = [b.step(1 + step_s * i, 1 + i) for i in range(count)]
    return [b.idle(0.1, task=None, speculative=False), b.busy(0.5, speculative=False), *polls]


def statistics(*lines: tuple[float, int, float | None], method: str = "draft-dflash") -> list[ev.Event]:
    return [b.statistics(at, drafts, ms, method=method) for at, drafts, ms in lines]


def anatomy(*facts: ev.Event) -> Anatomy | None:
    return b.seen(*FOUND, *facts).anatomy


def known(*facts: ev.Event) -> Anatomy:
    made = anatomy(*facts)
    assert made is not None
    assert made.evidence == "estimated"
    parts = made.parts
    told = [parts.draft_ms, parts.submit_ms, parts.wait_ms, parts.features_ms, parts.sampling_ms, parts.other_ms]
    assert sum(p or 0.0 for p in told) == pytest.approx(parts.whole_ms)
    return made


# --- the log's statistics --------------------------------------------------------------------------------------------


def test_the_draft_of_a_cycle_by_the_increase_of_its_statistics() -> None:
    made = known(*statistics(H200[0]), *drafting(), *statistics(*H200[1:]))
    assert made.parts.draft_ms == pytest.approx((3366.887 - 98.509) / (986 - 29))  # 3.42 ms
    assert made.parts.whole_ms == pytest.approx(13.0, abs=0.01)
    assert made.parts.draft_ms / made.parts.whole_ms == pytest.approx(0.26, abs=0.005)  # as traced on that machine
    assert (made.cycles, made.turns) == (957, 0)
    assert made.basis == ("turn of 13.0 ms from the time between steps; draft from the log's statistics of 957 drafts")


def test_what_nothing_tells_is_none_and_within_the_rest() -> None:
    parts = known(*drafting(), *statistics(*H200)).parts
    assert (parts.submit_ms, parts.wait_ms, parts.features_ms, parts.sampling_ms) == (None,) * 4
    assert parts.draft_sampling_ms is None
    assert parts.other_ms == pytest.approx(9.58, abs=0.01)


def test_a_single_line_is_the_mean_since_the_server_started() -> None:
    made = known(*drafting(), *statistics(H200[3]))
    assert made.parts.draft_ms == pytest.approx(3366.887 / 986)
    assert made.cycles == 986


def test_several_methods_together() -> None:
    ngram = statistics((1.0, 10, 0.2), (8.0, 40, 0.8), method="ngram-mod")
    made = known(*drafting(), *ngram, *statistics(*H200[:3]))
    assert made.parts.draft_ms == pytest.approx((1398.256 - 98.509 + 0.6) / (445 - 29 + 30))


def test_slots_that_decode_at_once_draft_in_one_turn() -> None:
    made = known(*drafting(slots=2), *statistics(*H200))
    assert made.parts.draft_ms == pytest.approx(2 * (3366.887 - 98.509) / 957, rel=0.01)


def test_a_draft_is_no_longer_than_its_turn() -> None:
    parts = known(*drafting(step_s=0.002), *statistics(*H200)).parts
    assert (parts.draft_ms, parts.other_ms) == (pytest.approx(2.0, abs=0.001), 0.0)


@pytest.mark.parametrize(
    "lines",
    [[], [(1.0, 19, 65.0)], [(1.0, 0, 0.0)], [(1.0, 500, None)], [(1.0, 500, 0.0)]],
    ids=["none", "too few", "no draft", "no times", "times of nothing"],
)
def test_without_statistics_nothing_is_known(lines: list[tuple[float, int, float | None]]) -> None:
    assert anatomy(*drafting(), *statistics(*lines)) is None


def test_without_cycles_there_is_no_turn_to_divide() -> None:
    assert anatomy(*statistics(*H200)) is None
    assert anatomy(*drafting(1), *statistics(*H200)) is None


def test_sums_that_went_backwards_begin_anew() -> None:
    made = known(*drafting(), *statistics((1.0, 900, 9000.0), (2.0, 30, 90.0), (3.0, 60, 180.0)))
    assert (made.cycles, made.parts.draft_ms) == (30, pytest.approx(3.0))


def test_a_restart_forgets_the_statistics_and_a_reset_counts_from_the_last() -> None:
    facts = [*FOUND, b.started("1"), *statistics(*H200[:2])]
    restarted = b.seen(*facts, b.started("2", at=7.0), *drafting(begins=8.0))
    assert restarted.anatomy is None
    fold = b.fold(*facts)
    fold.reset()
    for fact in (*drafting(), *statistics(*H200[2:])):
        fold.apply(fact)
    (target,) = fold.view().targets
    assert target.anatomy is not None
    assert target.anatomy.cycles == 986 - 238
    assert target.anatomy.parts.draft_ms == pytest.approx((3366.887 - 735.479) / (986 - 238))


def test_a_trace_goes_before_the_estimate() -> None:
    made = anatomy(*drafting(), *statistics(*H200), b.tracing(), b.turn(9.0, 13_000, draft_us=3_400))
    assert made is not None
    assert (made.evidence, made.parts.draft_ms) == ("exact", 3.4)


PAUSED = [
    *plain(200),
    b.idle(1.7, speculative=False),
    b.busy(5.0, task=2, speculative=False),
    *[b.step(5 + i / 300, 1 + i, task=2) for i in range(700)],
]
"""Two requests with three seconds between them."""

# --- the threads -----------------------------------------------------------------------------------------------------


def test_a_thread_that_sleeps_bounds_the_work_of_the_host() -> None:
    usage = b.usage(8.0, threads=[("llama-server", 62.0), ("httplib", 3.0)])
    made = known(GPU, *drafting(), *statistics(*H200), usage)
    assert made.basis.endswith("; the busiest thread sleeps 38%: at most 8.1 ms are host work")
    assert made.parts.wait_ms is None  # it may have slept for the drafter as well
    assert made.asynchronous is True


def test_a_thread_that_is_always_busy_may_be_spinning() -> None:
    usage = b.usage(8.0, threads=[("llama-server", 99.5)])
    assert "sleeps" not in known(GPU, *drafting(), *statistics(*H200), usage).basis
    assert anatomy(GPU, *plain(), b.usage(7.0, threads=[("llama-server", 99.5)])) is None


def test_without_drafts_a_thread_sleeps_for_the_target_alone() -> None:
    made = known(GPU, *plain(), b.usage(7.0, threads=[("llama-server", 20.0)]))
    assert made.parts.whole_ms == pytest.approx(3.3, abs=0.01)
    assert (made.parts.draft_ms, made.parts.wait_ms) == (0.0, pytest.approx(2.64, abs=0.01))
    assert made.parts.sampling_ms is None


@pytest.mark.parametrize(
    "facts",
    [
        [*plain(), b.usage(7.0, threads=[("llama-server", 20.0)])],
        [b.process("-ngl 0"), *plain(), b.usage(7.0, threads=[("llama-server", 20.0)])],
        [b.said("layers_offloaded", offloaded="0"), *plain(), b.usage(7.0, threads=[("llama-server", 20.0)])],
        [GPU, *plain(), b.usage(2.0, threads=[("llama-server", 20.0)])],
        [GPU, *plain(), b.usage(30.0, threads=[("llama-server", 20.0)])],
        [GPU, *plain(), b.usage(7.0, threads=[])],
        [GPU, *plain()],
        [GPU, *PAUSED, b.usage(6.9, threads=[("llama-server", 20.0)])],
    ],
    ids=["device unknown", "no layers", "none offloaded", "before", "after", "no threads", "no sample", "a pause"],
)
def test_what_a_thread_does_not_tell(facts: list[ev.Event]) -> None:
    assert anatomy(*facts) is None
