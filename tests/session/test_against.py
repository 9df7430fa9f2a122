"""A server against a recorded one: what was configured otherwise, and which figures moved beyond noise."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import builders as b
import pytest
from replayed import replayed

from specscope.session.provenance.against import Difference, compare

if TYPE_CHECKING:
    from specscope import events as ev
    from specscope.session.provenance.against import Against
    from specscope.session.state import Target

LINE = "-md d.gguf --spec-type draft-dflash --spec-draft-n-max 7 -c 4096 --top-k 40"
PROPS = {"temperature": 0.8, "top_k": 40, "min_p": 0.05}


def run(*facts: ev.Event, line: str = LINE, build: str = "b11434-1a2b3c4", **defaults: object) -> Target:
    told = b.props(build=build, defaults=PROPS | defaults, n_ctx=4096, total_slots=1)
    return b.seen(b.found(), b.process(line, env={}), told, b.attached("log", "cycles"), *facts)


def requests(rate: float, *, count: int, ms: float = 20.0, seed: int = 1, label: str | None = None) -> list[ev.Event]:
    """Requests of 40 cycles 7 wide, each draft token accepted at this rate until the first that is not."""
    draw = random.Random(seed)  # noqa: S311  no secret
    facts: list[ev.Event] = [b.mark(label)] if label else []
    for task in range(1000 * seed, 1000 * seed + count):
        at, taken = 10.0 * (task - 1000 * seed) + 1000 * seed, [_accepted(draw, rate) for _ in range(40)]
        facts += [b.launched(at, task=task)]
        facts += [b.cycle(at + 0.1 + i / 100, 7, a, task=task) for i, a in enumerate(taken)]
        generated = 1 + sum(a + 1 for a in taken)
        facts.append(b.logged(at + 1, task=task, generated=generated, generated_ms=40 * ms))
    return facts


def _accepted(draw: random.Random, rate: float) -> int:
    return next((i for i in range(7) if draw.random() > rate), 7)


def moved(found: Against) -> dict[str, bool]:
    return {f"{m.figure} {m.label}".strip(): m.beyond for m in found.figures}


def test_the_same_run_is_no_drift() -> None:
    found = compare(run(*requests(0.8, count=8, seed=2)), run(*requests(0.8, count=8, seed=1)))
    assert (found.identity, found.settings, found.flags) == ((), (), ())
    assert moved(found) == {"tau": False, "acceptance": False, "tok_s": False, "step_ms": False}


def test_a_recording_against_itself() -> None:
    (one,), (other,) = replayed("dflash").targets, replayed("dflash").targets
    found = compare(one, other)
    assert (found.identity, found.settings, found.flags, found.too_few) == ((), (), (), ())
    assert {m.change for m in found.figures} == {0.0}
    assert not any(m.beyond for m in found.figures)


def test_two_recordings_of_different_servers() -> None:
    (now,), (before,) = replayed("h200_top_k_0").targets, replayed("h200_dflash").targets
    settings = {d.what: (d.before, d.now) for d in compare(now, before).settings}
    assert settings == {"top_k": (40, 0), "min_p": (0.05, 0.0)}


def test_settings_that_differ_by_value_not_by_origin() -> None:
    before = run()
    by_default = run(line="-md d.gguf --spec-type draft-dflash --spec-draft-n-max 7 -c 4096")
    assert compare(by_default, before).settings == ()
    now = run(line=LINE.replace("n-max 7", "n-max 15"), min_p=0.0)
    assert compare(now, before).settings == (Difference("min_p", 0.05, 0.0), Difference("spec_draft_n_max", 7, 15))


def test_what_each_request_decides_for_itself_is_no_drift() -> None:
    one, other = b.busy(params=PROPS | {"seed": 1, "n_predict": 9}), b.busy(params=PROPS | {"seed": 2, "n_predict": 8})
    assert compare(run(other), run(one)).settings == ()


def test_another_build_and_another_file() -> None:
    old = b.model(name="m", file_bytes=10, tensor_types={"Q5_K": 9})
    same_elsewhere = type(old)(
        at=old.at, role="target", path="/x/y.gguf", name="m", file_bytes=10, tensor_types={"Q5_K": 9}
    )
    other = b.model(name="m", file_bytes=9, tensor_types={"Q4_K": 9})
    assert compare(run(same_elsewhere), run(old)).identity == ()
    found = compare(run(other, build="b11549-1a2b3c4"), run(old)).identity
    assert found == (
        Difference("build", "b11434-1a2b3c4", "b11549-1a2b3c4"),
        Difference("target model", "target.gguf, 10 bytes", "target.gguf, 9 bytes"),
    )


def test_a_drafter_that_is_gone() -> None:
    drafter = b.model("drafter", name="d", file_bytes=5)
    assert compare(run(), run(drafter)).identity == (Difference("drafter model", "drafter.gguf, 5 bytes", None),)


def test_flags_that_are_no_setting_of_their_own() -> None:
    found = compare(run(line=f"{LINE} --load-mode none --port 99"), run())
    assert found.flags == (Difference("load_mode", None, "none"),)


@pytest.mark.parametrize(("before", "now"), [(0.8, 0.6), (0.6, 0.8)])
def test_acceptance_that_moved(before: float, now: float) -> None:
    found = compare(run(*requests(now, count=8, seed=2)), run(*requests(before, count=8, seed=1)))
    assert moved(found) == {"tau": True, "acceptance": True, "tok_s": True, "step_ms": False}
    tau = next(m for m in found.figures if m.figure == "tau")
    assert (tau.change > 0) == (now > before)


def test_steps_that_became_slower() -> None:
    found = compare(run(*requests(0.8, count=8, ms=30.0, seed=2)), run(*requests(0.8, count=8, seed=1)))
    assert moved(found) == {"tau": False, "acceptance": False, "tok_s": True, "step_ms": True}
    (steps,) = (m for m in found.figures if m.figure == "step_ms")
    assert (steps.before, steps.now) == (pytest.approx(20.0, rel=0.03), pytest.approx(30.0, rel=0.03))


def test_a_certain_but_small_change_is_within_what_repeats_differ_by() -> None:
    found = compare(run(*requests(0.8, count=8, ms=20.6, seed=2)), run(*requests(0.8, count=8, seed=1)))
    assert not moved(found)["step_ms"]


def test_too_few_requests() -> None:
    found = compare(run(*requests(0.5, count=2, seed=2)), run(*requests(0.9, count=8, seed=1)))
    assert (found.figures, found.too_few) == ((), ("tau", "acceptance", "tok_s", "step_ms"))


def test_another_mix_of_work_is_no_drift() -> None:
    def mixed(code: int, prose: int, seed: int) -> Target:
        return run(
            *requests(0.9, count=code, seed=seed, label="code"),
            *requests(0.3, count=prose, seed=seed + 1, label="prose"),
        )

    found = compare(mixed(3, 9, 3), mixed(9, 3, 1))
    assert {m.label for m in found.figures} == {"code", "prose"}
    assert not any(m.beyond for m in found.figures)
