"""GPUs in the session: what limits them while they are busy, who uses them, and what their energy went to."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import msgspec
import pytest

from specscope import events as ev
from specscope.session.gpu_book import limits_of

if TYPE_CHECKING:
    from specscope.session.gpu_state import Gpu
    from specscope.session.state import Session, Target

PID = 4242
MIB = 1 << 20
IDLE, APPLICATION_CLOCKS, POWER_CAP, SLOWDOWN = 0x01, 0x02, 0x04, 0x08
SOFTWARE_HEAT, HARDWARE_HEAT, BRAKE = 0x20, 0x40, 0x80


def view(*facts: ev.Event) -> Session:
    return b.fold(*facts).view()


def only_gpu(*facts: ev.Event) -> Gpu:
    (gpu,) = view(*facts).machine.gpus
    return gpu


def served(*facts: ev.Event) -> Target:
    """A server whose process the driver lists on GPU 0, and that decodes from second 1 on."""
    return view(*using(), *facts).targets[0]


def using() -> list[ev.Event]:
    return [
        b.found(pid=PID),
        b.server("ready"),
        b.gpu(name="NVIDIA H200", minor=0, power_limit_w=700.0, sm_clock_max_mhz=1980),
        b.gpu_memory(0.5, 9718 * MIB, pids=[(PID, 9700 * MIB)]),
        b.busy(1.0, decoded=1),
    ]


def every(seconds: list[float], power_w: float, reasons: int | None, **fields: object) -> list[ev.Event]:
    return [b.gpu_now(at, power_w, reasons=reasons, **fields) for at in seconds]


# --- what limits ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reasons", "names"),
    [
        (0, ()),
        (IDLE, ()),
        (POWER_CAP, ("power cap",)),
        (SLOWDOWN | HARDWARE_HEAT, ("thermal",)),
        (SLOWDOWN | BRAKE, ("power brake",)),
        (SLOWDOWN, ("hardware slowdown",)),
        (SOFTWARE_HEAT | POWER_CAP, ("power cap", "thermal")),
        (APPLICATION_CLOCKS, ("application clocks",)),
        (0x10, ("sync boost",)),
        (0x100, ("display clocks",)),
        (1 << 40, ()),
    ],
)
def test_reason_bits_in_words(reasons: int, names: tuple[str, ...]) -> None:
    assert limits_of(reasons) == names


def test_limits_are_judged_on_busy_time_only() -> None:
    at_rest = every([0.6, 0.7, 0.8, 0.9], 77.0, IDLE, sm_clock_mhz=345)
    at_work = every([1.0, 1.1, 1.2, 1.3, 1.4], 69.0, POWER_CAP, sm_clock_mhz=1400)
    at_work += every([1.5], 60.0, 0, sm_clock_mhz=1900)
    gpu = view(*using()[:-1], b.idle(0.5), *at_rest, using()[-1], *at_work).targets[0].gpus[0].gpu
    assert gpu.judged_s == pytest.approx(0.6)
    (limit,) = gpu.limits
    assert (limit.name, limit.now) == ("power cap", False)
    assert limit.share == pytest.approx(5 / 6)
    assert limit.sm_clock_mhz == pytest.approx(1400)
    assert gpu.power_w == pytest.approx((5 * 69 + 60) / 6)


def test_the_decoding_time_is_told_apart_from_prompts() -> None:
    prompt = [b.busy(0.9, decoded=0), *every([1.0, 1.1, 1.2], 600.0, POWER_CAP, busy_pct=100, memory_busy_pct=8)]
    bus = [b.gpu_link(1.15, to_device_bytes_per_s=3_000_000_000), b.gpu_link(1.45, to_device_bytes_per_s=40_000_000)]
    decoding = [b.step(1.25, 5), *every([1.3, 1.4, 1.5], 450.0, 0, busy_pct=74, memory_busy_pct=30)]
    facts = sorted([*prompt, *bus, *decoding], key=lambda fact: fact.at)
    gpu = view(*using()[:-1], *facts).targets[0].gpus[0].gpu
    told = gpu.decoding
    assert (told.seconds, told.busy_pct, told.memory_busy_pct) == (pytest.approx(0.3), 74, 30)
    assert (told.to_device_bytes_per_s, told.to_device_readings) == (40_000_000, 1)
    (cap,) = gpu.limits
    assert cap.power_w == pytest.approx(600.0)
    assert gpu.power_w == pytest.approx((0.2 * 600 + 0.3 * 450) / 0.5)


def test_a_driver_that_names_no_reasons_leaves_the_limits_unknown() -> None:
    gpu = served(*every([1.0, 1.1, 1.2], 50.0, None)).gpus[0].gpu
    assert gpu.judged_s == pytest.approx(0.2)
    assert (gpu.reasons_known, gpu.limits) == (False, ())
    assert gpu.sm_clock_mhz is None


def test_nothing_limits_is_known_as_such() -> None:
    gpu = served(*every([1.0, 1.1, 1.2], 300.0, 0, busy_pct=62)).gpus[0].gpu
    assert (gpu.reasons_known, gpu.limits, gpu.busy_pct) == (True, (), 62)


def test_where_no_server_tells_what_it_does_a_busy_device_is_at_work() -> None:
    facts = [b.gpu(), *every([1.0, 1.1], 80.0, IDLE, busy_pct=0), *every([1.2, 1.3], 300.0, POWER_CAP, busy_pct=87)]
    gpu = only_gpu(*facts)
    assert gpu.judged_s == pytest.approx(0.2)
    assert gpu.limits[0].share == pytest.approx(1.0)


def test_a_silence_is_no_evidence() -> None:
    gpu = served(*every([1.0, 61.0], 300.0, POWER_CAP)).gpus[0].gpu
    assert gpu.judged_s == pytest.approx(1.5)


# --- who uses it ---------------------------------------------------------------------------------------------------


def test_a_listed_process_uses_the_device_and_its_memory_is_its_own() -> None:
    (use,) = served().gpus
    assert (use.how, use.process_bytes) == ("processes", 9700 * MIB)


def test_the_server_of_another_process_does_not_use_it() -> None:
    target = view(b.found(pid=PID), b.gpu(minor=0), b.gpu_memory(0.5, pids=[(77, 1)])).targets[0]
    assert target.gpus == ()


def test_where_pids_are_of_another_namespace_open_device_files_tell() -> None:
    facts = [
        b.found(pid=PID),
        b.gpu(0, minor=3),
        b.gpu(1, minor=1),
        ev.ProcessSampled(at=b.T0, gpu_minors=[1]),
        *(b.gpu_memory(0.5, 5 * MIB, index=i, pids=[(99, None)]) for i in (0, 1)),
    ]
    (use,) = view(*facts).targets[0].gpus
    assert (use.gpu.index, use.how, use.process_bytes) == (1, "files", None)


def test_the_only_device_is_used_where_layers_are_offloaded() -> None:
    said = b.said("layers_offloaded", offloaded="33", layers="33")
    (use,) = view(b.found(pid=PID), b.gpu(), said).targets[0].gpus
    assert use.how == "only"
    assert view(b.found(pid=PID), b.gpu(), b.gpu(1), said).targets[0].gpus == ()
    assert view(b.found(pid=PID), b.gpu()).targets[0].gpus == ()


def test_the_log_names_the_device_by_its_address() -> None:
    facts = [
        b.found(pid=PID),
        b.gpu(0, bus_id="00000000:00:06.0"),
        b.gpu(1, bus_id="00000000:00:07.0"),
        b.said("device_used", **{"CUDA0.name": "NVIDIA H200", "CUDA0.bus_id": "0000:00:07.0"}),
    ]
    (use,) = view(*facts).targets[0].gpus
    assert (use.gpu.index, use.how) == (1, "named")


def test_a_remote_server_has_none_of_this_machines_devices() -> None:
    said = b.said("layers_offloaded", offloaded="33", layers="33")
    session = view(b.found(), b.gpu(), said)
    assert session.targets[0].gpus == ()
    assert len(session.machine.gpus) == 1


def test_the_machines_facts_make_no_server() -> None:
    session = view(b.gpu(), b.gpu_now(1.0, 70.0))
    assert session.targets == ()
    assert session.machine.gpus[0].now is not None


# --- lost and back -------------------------------------------------------------------------------------------------


def test_a_lost_device_shows_nothing_of_before_and_comes_back() -> None:
    facts = [*using(), *every([1.0, 1.1], 300.0, 0), b.gpu_link(1.2, 5000.0), b.gpu_lost(2.0)]
    lost = view(*facts).machine.gpus[0]
    assert (lost.lost, lost.now, lost.memory, lost.link) == ("fallen off the bus", None, None, None)
    back = view(*facts, b.gpu(at=3.0, name="NVIDIA H200", minor=0), b.gpu_now(3.1, 80.0)).machine.gpus[0]
    assert back.lost is None
    assert back.now is not None
    assert back.now.power_w == 80.0


def test_the_drivers_end_is_the_end_of_every_device() -> None:
    gone = ev.SourceLost(at=b.T0 + 2, target=ev.MACHINE, source="nvml", reason="the driver was unloaded")
    session = view(b.gpu(0), b.gpu(1), b.gpu_now(1.0, 70.0), gone)
    assert [gpu.lost for gpu in session.machine.gpus] == ["the driver was unloaded"] * 2
    assert session.machine.sources[0].state == "lost"


# --- energy --------------------------------------------------------------------------------------------------------


def test_the_counter_says_how_much_and_the_power_readings_when() -> None:
    target = served(
        b.gpu_link(1.0, 1000.0),
        *every([1.0 + i / 10 for i in range(11)], 400.0, 0),
        *(b.step(1.0 + i / 10, 1 + 10 * i, held_ms=None) for i in range(1, 10)),
        b.idle(2.0, fill_tokens=100),
        *every([2.1 + i / 10 for i in range(10)], 100.0, 0),
        b.gpu_link(3.0, 1600.0),
    )
    assert target.energy is not None
    assert target.energy.counted
    # 400 W for 1 s of decoding and 100 W for 0.9 s of rest are what was sampled; the counter says 600 J in all.
    assert target.energy.decode_j == pytest.approx(600 * 400 / (400 + 100))
    assert target.energy.tokens == pytest.approx(90, abs=12)
    assert target.energy.j_per_token == pytest.approx(480 / target.energy.tokens)


def test_tokens_that_only_the_log_tells_of_are_counted_too() -> None:
    # No step is seen: the request's total comes with its end. Many may end between two reads.
    facts: list[ev.Event] = [*using(), b.gpu_link(1.0, 0.0)]
    for i in range(40):
        at = 1.0 + i / 20
        facts += [b.launched(at, task=i), b.busy(at, task=i, decoded=1), b.gpu_now(at, 100.0)]
        facts += [b.logged(at + 0.04, task=i, generated=10, generated_ms=30.0), b.released(at + 0.04, task=i)]
    facts += [b.busy(3.0, task=40, decoded=1), b.gpu_now(3.0, 100.0), b.gpu_link(3.0, 200.0)]
    energy = b.seen(*facts).energy
    assert energy is not None
    assert energy.tokens == 400
    assert energy.j_per_token == pytest.approx(200 / 400)


def test_what_a_request_had_generated_before_the_watch_is_not_set_against_its_energy() -> None:
    target = served(
        b.step(1.0, 5000, held_ms=None),
        b.gpu_link(1.0, 0.0),
        *every([1.0 + i / 10 for i in range(11)], 100.0, 0),
        b.step(1.9, 5090, held_ms=None),
        b.gpu_link(2.0, 100.0),
    )
    assert target.energy is not None
    assert target.energy.tokens == 90


def test_without_a_counter_power_is_integrated_and_said_to_be() -> None:
    target = served(
        b.gpu_link(1.0, None),
        *every([1.0 + i / 10 for i in range(11)], 50.0, 0),
        *(b.step(1.0 + i / 10, 1 + i, held_ms=None) for i in range(1, 10)),
        b.gpu_link(2.0, None),
    )
    assert target.energy is not None
    assert not target.energy.counted
    assert target.energy.decode_j == pytest.approx(50.0)


def test_a_device_that_tells_no_power_has_no_energy_rather_than_none_used() -> None:
    target = served(*[b.gpu_now(1 + i / 10, busy_pct=90) for i in range(10)], b.gpu_link(1.0), b.gpu_link(2.0))
    assert target.energy is None


def test_a_counter_that_went_back_is_a_new_beginning() -> None:
    facts = [*every([1.0 + i / 10 for i in range(31)], 100.0, 0)]
    target = served(
        b.gpu_link(1.0, 5000.0),
        *facts[:11],
        b.gpu_link(2.0, 10.0),
        *facts[11:21],
        b.gpu_link(3.0, 110.0),
    )
    assert target.energy is not None
    assert target.energy.decode_j == pytest.approx(100.0)


def test_a_long_silence_between_reads_of_the_counter_is_left_out() -> None:
    target = served(
        b.gpu_link(1.0, 0.0),
        *every([1.0, 1.1], 100.0, 0),
        b.gpu_link(500.0, 90_000.0),
        *every([500.0 + i / 10 for i in range(11)], 100.0, 0),
        b.gpu_link(501.0, 90_100.0),
    )
    assert target.energy is not None
    assert target.energy.decode_j == pytest.approx(100.0)


def test_counting_anew_forgets_energy_and_limits() -> None:
    made = b.fold(
        *using(),
        b.gpu_link(1.0, 0.0),
        *every([1.0 + i / 10 for i in range(11)], 100.0, POWER_CAP),
        b.gpu_link(2.0, 100.0),
    )
    assert made.view().targets[0].energy is not None
    made.reset()
    assert made.view().targets[0].energy is None
    assert made.view().machine.gpus[0].limits == ()


def test_rejected_rows_bound_what_rejected_drafts_cost() -> None:
    target = served(
        b.launched(1.0),
        b.gpu_link(1.0, 0.0),
        *every([1.0 + i / 10 for i in range(11)], 100.0, 0),
        *(b.cycle(1.0 + i / 10, 15, 5) for i in range(1, 10)),
        b.gpu_link(2.0, 100.0),
    )
    assert target.energy is not None
    assert target.energy.accepted == 45
    assert target.energy.rejected_share == pytest.approx(10 / 16)
    assert target.energy.j_per_accepted == pytest.approx(100 / 45)


# --- what must not be said -------------------------------------------------------------------------------------------


def second(power_w: float, at: float, index: int = 0) -> list[ev.Event]:
    """One second of readings."""
    return [b.gpu_now(at + i / 10, power_w, index=index, reasons=0) for i in range(11)]


def test_what_a_device_does_after_the_server_died_is_not_the_servers() -> None:
    facts = [
        *using(),
        b.gpu_link(1.0, 0.0),
        *second(100.0, 1.0),
        b.step(1.9, 101, held_ms=None),
        b.gpu_link(2.0, 100.0),
    ]
    held = [ev.ProcessSampled(at=b.T0 + 1, gpu_minors=[0])]
    before = b.seen(*held, *facts).energy
    dead = [b.server("down", at=2.1), b.gpu_memory(2.2, pids=[(77, 1)]), *second(700.0, 2.2), b.gpu_link(3.2, 800.0)]
    target = b.seen(*held, *facts, *dead)
    assert before is not None
    assert target.energy is not None
    assert target.energy.j_per_token == before.j_per_token == pytest.approx(1.0)
    assert target.energy.live_j_per_token is None
    assert target.gpus == ()


def test_a_device_on_which_the_driver_lists_only_others_is_not_used() -> None:
    facts = [
        b.found(pid=PID),
        b.gpu(0, minor=0),
        b.gpu(1, minor=1),
        ev.ProcessSampled(at=b.T0, gpu_minors=[0, 1]),  # CUDA opens the files of devices that it does not use
        b.gpu_memory(0.5, index=0, pids=[(PID, 5)]),
        b.gpu_memory(0.5, index=1, pids=[(77, 5)]),
    ]
    assert [use.gpu.index for use in view(*facts).targets[0].gpus] == [0]
    nobody = b.gpu_memory(0.6, index=0, pids=[])
    assert view(*facts[:4], nobody).targets[0].gpus[0].gpu.index == 1


def test_two_servers_at_work_share_a_device_and_one_at_rest_pays_nothing() -> None:
    facts: list[ev.Event] = [b.gpu(minor=0), b.gpu_memory(0.1, pids=[(1, None), (2, None)])]
    for i in (1, 2):
        server = [b.found(pid=i), b.server("ready"), b.busy(0.2, decoded=1)]
        facts += [msgspec.structs.replace(fact, target=f"t{i}") for fact in server]
    facts += [b.gpu_link(1.0, 0.0), *second(100.0, 1.0), b.gpu_link(2.0, 100.0)]
    facts += [msgspec.structs.replace(b.idle(2.05), target="t2"), *second(100.0, 2.1), b.gpu_link(3.1, 210.0)]
    one, two = (t.energy for t in view(*facts).targets)
    assert one is not None
    assert two is not None
    assert one.decode_j == pytest.approx(50 + 110, abs=6)
    assert two.decode_j == pytest.approx(50, abs=6)


def test_a_request_that_may_be_in_its_prompt_is_neither() -> None:
    facts = [b.found(pid=PID), b.server("ready"), b.gpu(minor=0), b.gpu_memory(0.5, pids=[(PID, None)])]
    facts += [b.launched(1.0), b.gpu_link(1.0, 0.0), *second(600.0, 1.0), b.gpu_link(2.0, 600.0)]
    assert view(*facts).machine.gpus[0].phase is None
    more = [b.cycle(2.0), *second(400.0, 2.1), b.cycle(3.0), b.gpu_link(3.2, 1000.0)]
    energy = b.seen(*facts, *more).energy
    assert energy is not None
    assert (energy.prefill_j, energy.j_per_token) == (None, None)


def test_accepted_tokens_that_are_told_again_count_once() -> None:
    polled = [b.step(1.0 + i / 10, 1 + 6 * i) for i in range(1, 10)]
    facts = [*using()[:-1], b.idle(0.6, task=0), b.busy(0.9, decoded=1), b.gpu_link(1.0, 0.0), *second(100.0, 1.0)]
    facts += [*polled, b.gpu_link(2.0, 100.0), b.gpu_link(2.1, 100.0)]
    logged = [b.cycle(1.0 + i / 10, 15, 5) for i in range(1, 10)]
    again = [*logged, *second(100.0, 2.1), b.cycle(3.0, 15, 5), b.gpu_link(3.2, 200.0)]
    energy = b.seen(*facts, *again).energy
    assert energy is not None
    assert energy.accepted == 50


def test_a_device_that_was_away_is_set_against_what_was_generated_while_it_was_there() -> None:
    facts = [b.found(pid=PID), b.server("ready"), b.gpu(0, minor=0), b.gpu(1, minor=1), b.busy(0.9, decoded=1)]
    facts += [b.gpu_memory(0.9, index=i, pids=[(PID, None)]) for i in (0, 1)]
    spent = {0: 0.0, 1: 0.0}
    for s in range(1, 7):
        for i in (0, 1):
            if i == 1 and s in (3, 4):
                continue
            facts += [b.gpu_link(float(s), spent[i], index=i), *second(100.0, float(s), index=i)]
            spent[i] += 100.0
        facts.append(b.step(s + 0.95, 1 + 100 * s, held_ms=None))
    facts += [b.gpu_link(7.0, spent[i], index=i) for i in (0, 1)]
    energy = b.seen(*sorted(facts, key=lambda f: f.at)).energy
    assert energy is not None
    assert energy.j_per_token == pytest.approx(2.0, rel=0.15)


def test_another_device_under_the_same_number_begins_anew() -> None:
    first = [b.gpu(uuid="GPU-a"), *every([1.0, 1.1, 1.2], 700.0, POWER_CAP, busy_pct=99)]
    gpu = only_gpu(*first, b.gpu(at=2.0, uuid="GPU-b"), *every([2.1, 2.2, 2.3], 100.0, 0, busy_pct=99))
    assert gpu.power_w == pytest.approx(100.0)
    assert gpu.limits == ()


@pytest.mark.parametrize("second_read", [0.0, 1e6], ids=["frozen", "jumped"])
def test_a_counter_that_the_power_readings_contradict_is_not_believed(second_read: float) -> None:
    target = served(
        b.gpu_link(1.0, 0.0), *second(300.0, 1.0), b.step(1.9, 101, held_ms=None), b.gpu_link(2.0, second_read)
    )
    assert target.energy is not None
    assert not target.energy.counted
    assert target.energy.j_per_token == pytest.approx(3.0)
