"""What is raised, for how long, and when it is cleared."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import builders as b
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judged import case

from specscope.findings.engine import EVERY_S, Engine
from specscope.findings.rule import Collecting, Inapplicable, Rule
from specscope.findings.track import CLEAR_S, RAISE_S
from specscope.session.fold import Fold

if TYPE_CHECKING:
    from collections.abc import Callable

    from specscope.findings.diagnosis import Diagnosis
    from specscope.findings.rule import Case, Finding, Seen

SOMETHING = (("seen", "1"),)


class Bench:
    """One engine with one rule, and a server whose facts come by hand. ``says`` is what the rule says next."""

    def __init__(self) -> None:
        self.fold = Fold()
        self.fold.apply(b.found())
        self.says: Callable[[Case], Seen] = lambda _: ()
        self.rule = Rule("SPC301", "probe", "warning", self._look)
        self.engine = Engine(rules=(self.rule,))

    def _look(self, case: Case) -> Seen:
        return self.says(case)

    def found(self, *parts: str, settled: bool = False, summary: str = "x") -> None:
        self.says = lambda c: tuple(
            self.rule.found(c, summary, SOMETHING, "y", part=part, settled=settled) for part in parts or ("",)
        )

    def nothing(self) -> None:
        self.says = lambda _: ()

    def waits(self) -> None:
        self.says = lambda _: Collecting("more of it")

    def stands_apart(self) -> None:
        self.says = lambda _: Inapplicable("no GPU seen")

    def look(self, at: float, *, final: bool = False) -> Diagnosis:
        return self.engine.look(self.fold.view(b.T0 + at), final=final)

    def shown(self, *times: float) -> list[bool]:
        """Whether anything is raised, at each of these times."""
        return [bool(self.look(at).findings) for at in times]

    def raise_it(self) -> Finding:
        """A raised finding, first seen at second 0."""
        self.found()
        assert self.shown(0, 1, 2)[-1]
        return self.look(2).findings[0]


@pytest.fixture
def bench() -> Bench:
    return Bench()


# --- how long it must last -------------------------------------------------------------------------------------------


def test_a_finding_is_raised_once_it_has_lasted_with_the_time_it_was_first_seen(bench: Bench) -> None:
    bench.found()
    assert bench.shown(0, 1) == [False, False]
    (finding,) = bench.look(RAISE_S).findings
    assert finding.since == b.T0
    assert bench.look(50).findings[0].since == b.T0


def test_two_looks_however_far_apart_are_too_few(bench: Bench) -> None:
    bench.found()
    assert bench.shown(0, 60, 120) == [False, False, True]


def test_many_looks_within_a_moment_are_too_short() -> None:
    many = Bench()
    many.engine._due = lambda *_, **__: True
    many.found()
    assert many.shown(*[i / 10 for i in range(20)]) == [False] * 20


def test_a_break_starts_it_anew(bench: Bench) -> None:
    bench.found()
    assert bench.shown(0, 1) == [False, False]
    bench.nothing()
    assert bench.shown(2) == [False]
    bench.found()
    assert bench.shown(3, 4, 5) == [False, False, True]
    assert bench.look(5).findings[0].since == b.T0 + 3


def test_too_little_to_judge_by_is_a_break_too(bench: Bench) -> None:
    bench.found()
    assert bench.shown(0, 1) == [False, False]
    bench.waits()
    assert bench.shown(2) == [False]
    bench.found()
    assert bench.shown(3, 4) == [False, False]


def test_meanwhile_it_is_said_what_is_waited_for(bench: Bench) -> None:
    bench.found()
    (outcome,) = bench.look(0).outcomes
    assert (outcome.rule, outcome.target, outcome.state) == (bench.rule, "t0", "collecting")
    assert outcome.says == "to see it for 2 s"
    bench.look(1)
    assert bench.look(2).rules("found")
    assert not bench.look(2).rules("collecting")


def test_what_is_settled_is_raised_and_cleared_at_once(bench: Bench) -> None:
    bench.found(settled=True)
    assert bench.shown(0) == [True]
    bench.nothing()
    assert bench.shown(1) == [False]


def test_the_last_look_does_not_wait(bench: Bench) -> None:
    bench.found()
    assert bench.shown(0) == [False]
    (finding,) = bench.look(0, final=True).findings
    assert finding.since == b.T0
    assert bench.look(0.3, final=True).findings == (finding,)


# --- how it is held and cleared --------------------------------------------------------------------------------------


def test_it_is_cleared_once_it_has_been_missed_for_long(bench: Bench) -> None:
    bench.raise_it()
    bench.nothing()
    assert bench.shown(3, 4, 7, 7.9, 3 + CLEAR_S, 9) == [True, True, True, True, False, False]
    assert bench.look(9).rules("nothing")


def test_what_is_found_again_meanwhile_goes_on(bench: Bench) -> None:
    first = bench.raise_it()
    bench.nothing()
    assert bench.shown(3, 5, 7) == [True] * 3
    bench.found()
    assert bench.shown(8) == [True]
    bench.nothing()
    assert bench.shown(9, 11, 13) == [True] * 3
    assert bench.look(13).findings[0].since == first.since


def test_it_stays_while_there_is_too_little_to_judge_by(bench: Bench) -> None:
    finding = bench.raise_it()
    bench.waits()
    for at in (3, 30, 300):
        said = bench.look(at)
        assert said.findings == (finding,)
        assert said.rules("found")[0].says == "more of it"


def test_what_its_rule_no_longer_applies_to_is_cleared_as_one_that_is_missed(bench: Bench) -> None:
    bench.raise_it()
    bench.stands_apart()
    assert bench.shown(3, 4, 7, 7.9, 3 + CLEAR_S) == [True, True, True, True, False]
    (outcome,) = bench.look(9).rules("inapplicable")
    assert outcome.says == "no GPU seen"
    bench.found(settled=True)
    assert bench.shown(10) == [True]
    bench.stands_apart()
    assert bench.shown(11) == [False]


def test_a_moment_in_which_its_rule_does_not_apply_clears_nothing(bench: Bench) -> None:
    first = bench.raise_it()
    bench.stands_apart()
    assert bench.shown(3, 4) == [True, True]
    bench.waits()
    assert bench.shown(5, 60) == [True, True]
    assert bench.look(61).findings[0].since == first.since


def test_its_figures_are_those_last_seen(bench: Bench) -> None:
    bench.raise_it()
    bench.found(summary="worse")
    assert [(f.summary, f.since) for f in bench.look(3).findings] == [("worse", b.T0)]


def test_each_subject_goes_its_own_way(bench: Bench) -> None:
    bench.found("slot 0")
    bench.shown(0, 1)
    bench.found("slot 0", "slot 1")
    assert [f.subject for f in bench.look(2).findings] == ["t0 slot 0"]
    bench.found("slot 1")
    bench.shown(3, 4, 5, 6, 7)
    assert [f.subject for f in bench.look(8).findings] == ["t0 slot 1"]


def test_the_rule_is_told_what_it_has_raised(bench: Bench) -> None:
    told: list[frozenset[str]] = []
    bench.says = lambda c: (told.append(c.raised), (bench.rule.found(c, "x", SOMETHING, "y", part="slot 1"),))[1]
    bench.shown(0, 1, 2, 3)
    assert told == [frozenset(), frozenset(), frozenset(), {"t0 slot 1"}]


@settings(deadline=None)
@given(st.lists(st.sampled_from(["found", "nothing", "waits", "stands_apart"]), min_size=3, max_size=60))
def test_it_never_changes_twice_within_moments(says: list[str]) -> None:
    bench, shown = Bench(), list[bool]()
    for at, what in enumerate(says):
        getattr(bench, what)()
        shown += bench.shown(at)
    changes = [i for i in range(1, len(shown)) if shown[i] != shown[i - 1]]
    assert all(after - before >= RAISE_S for before, after in pairwise(changes))
    assert not any(shown[:2])


# --- restarts and resets ---------------------------------------------------------------------------------------------


def restarted(bench: Bench) -> None:
    bench.fold.apply(b.started("1", at=2))
    bench.fold.apply(b.started("2", at=2.1))


@pytest.mark.parametrize("begin_anew", [restarted, lambda bench: bench.fold.reset()], ids=["restart", "reset"])
def test_a_new_beginning_clears_it(bench: Bench, begin_anew: Callable[[Bench], None]) -> None:
    bench.raise_it()
    begin_anew(bench)
    assert bench.shown(2.2, 3.2) == [False, False]
    assert bench.look(4.2).findings[0].since == b.T0 + 2.2


def test_a_restart_of_another_server_does_not(bench: Bench) -> None:
    bench.raise_it()
    for token in "12":
        bench.fold.apply(type(b.started(token))(at=b.T0 + 2, target="t1", token=token, by="http"))
    said = bench.look(3)
    assert [f.target for f in said.findings] == ["t0"]
    assert {o.target for o in said.outcomes} == {"t0", "t1"}


# --- when the rules look ---------------------------------------------------------------------------------------------


def test_they_look_once_in_a_while_however_often_they_are_asked(bench: Bench) -> None:
    looks: list[float] = []
    bench.says = lambda c: (looks.append(c.session.at - b.T0), ())[1]
    bench.shown(0, 0.1, 0.5, EVERY_S, 1.5, 1.9, 2.5)
    assert looks == pytest.approx([0, 1, 2.5])
    assert bench.engine.looked_at == b.T0 + 2.5


def test_a_state_from_before_changes_nothing(bench: Bench) -> None:
    bench.raise_it()
    bench.nothing()
    assert bench.shown(0) == [True]


def test_a_last_look_is_not_repeated(bench: Bench) -> None:
    looks: list[float] = []
    bench.says = lambda c: (looks.append(c.session.at), ())[1]
    for _ in range(3):
        bench.look(5, final=True)
    assert len(looks) == 1
    bench.fold.apply(b.mark("x", at=5))
    bench.look(5, final=True)
    assert len(looks) == 2


# --- a rule that breaks ----------------------------------------------------------------------------------------------


def broken(_: Case) -> Seen:
    raise ZeroDivisionError("division by zero")


def test_a_rule_that_breaks_is_told_and_does_not_end_the_others() -> None:
    sound = Rule("SPC302", "sound", "info", lambda c: (sound.found(c, "x", SOMETHING, "y", settled=True),))
    rules = (Rule("SPC301", "broken", "info", broken), sound)
    said = Engine(rules=rules).look(b.fold(b.found()).view())
    assert [(o.rule.code, o.says) for o in said.rules("failed")] == [("SPC301", "ZeroDivisionError: division by zero")]
    assert [f.code for f in said.findings] == ["SPC302"]


def test_what_a_rule_raised_before_it_broke_stays(bench: Bench) -> None:
    finding = bench.raise_it()
    bench.says = broken
    said = bench.look(3)
    assert (said.findings, said.rules("failed")[0].rule) == ((finding,), bench.rule)


# --- what a rule sees ------------------------------------------------------------------------------------------------


def test_the_recording_to_compare_with_is_handed_on() -> None:
    seen: list[object] = []
    rule = Rule("SPC301", "probe", "info", lambda c: (seen.append(c.against), ())[1])
    before = b.fold(b.found()).view()
    Engine(before, rules=(rule,)).look(before)
    assert seen == [before]


@pytest.mark.parametrize(
    ("value", "fresh", "raised"),
    [(None, False, False), (0.44, False, False), (0.45, False, True), (0.49, False, True), (0.5, True, True)],
)
def test_a_figure_that_is_bad_when_high(value: float | None, fresh: bool, raised: bool) -> None:
    assert case().holds(value, raise_at=0.5, clear_at=0.45) is fresh
    assert case(raised=["t0"]).holds(value, raise_at=0.5, clear_at=0.45) is raised


@pytest.mark.parametrize(("value", "fresh", "raised"), [(1.2, False, False), (1.1, False, True), (1.0, True, True)])
def test_a_figure_that_is_bad_when_low(value: float, fresh: bool, raised: bool) -> None:
    assert case().holds(value, raise_at=1.0, clear_at=1.1) is fresh
    assert case(raised=["t0"]).holds(value, raise_at=1.0, clear_at=1.1) is raised


def test_thresholds_are_those_of_the_part() -> None:
    assert case(raised=["t0 slot 2"]).holds(0.47, raise_at=0.5, clear_at=0.45, part="slot 2")
    assert not case(raised=["t0 slot 2"]).holds(0.47, raise_at=0.5, clear_at=0.45, part="slot 1")
    assert not case(raised=["t0 slot 2"]).holds(0.47, raise_at=0.5, clear_at=0.45)


def test_one_threshold_does_not_say_which_way_is_worse() -> None:
    with pytest.raises(ValueError, match="both raise and clear"):
        case().holds(0.4, raise_at=0.5, clear_at=0.5)
