"""Lets all rules look, and holds what they raise: nothing flickers, and nothing outlives the server it was about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.diagnosis import Diagnosis, Outcome, ranked
from specscope.findings.registry import RULES
from specscope.findings.rule import Case, Collecting, Inapplicable
from specscope.findings.track import RAISE_S, Track

if TYPE_CHECKING:
    from collections.abc import Iterable

    from specscope.findings.rule import Finding, Rule
    from specscope.session.state import Session, Target

EVERY_S: Final = 1.0
"""The rules look once in so much of the session's time. Screens ask ten times as often and get the same answer."""


class Engine:
    """What the rules say of a session as it goes on. It knows no clock: time is the session's own.

    A finding is identified by its code and subject. It is raised once it has lasted (:mod:`specscope.findings.track`;
    a settled one at once), keeps the time at which it was first seen, and stays while its rule has too little to
    judge by. Where its rule does not apply any more, it is cleared as one that is no longer found. A restart of the
    server and a reset of the counts clear all findings about it.

    Args:
        against: the last state of a recording to compare with.
        rules: which rules look.
    """

    def __init__(self, against: Session | None = None, rules: tuple[Rule, ...] = RULES) -> None:
        self._against = against
        self._rules = rules
        self._tracks: dict[tuple[str, str], dict[str, Track]] = {}
        self._lives: dict[str, tuple[int, int]] = {}
        self._looked: tuple[float, int, bool] | None = None
        self._diagnosis = Diagnosis()

    @property
    def diagnosis(self) -> Diagnosis:
        """What the last look gave."""
        return self._diagnosis

    @property
    def looked_at(self) -> float | None:
        """The session's time at the last look; None before the first."""
        return self._looked[0] if self._looked is not None else None

    def look(self, session: Session, *, final: bool = False) -> Diagnosis:
        """Let every rule look at every server, unless they have just done so.

        Args:
            session: the state; one from before the last look changes nothing.
            final: there will be no later look: what is seen now is raised without having lasted. Each rule
                brings its own least evidence, so that this is no guess.
        """
        lives = {t.id: (t.epoch, t.resets) for t in session.targets}
        if lives == self._lives and not self._due(session, final=final):
            return self._diagnosis
        began_anew = {name for name, life in lives.items() if self._lives.get(name, life) != life}
        for key in [key for key in self._tracks if key[0] in began_anew]:
            del self._tracks[key]
        self._lives, self._looked = lives, (session.at, session.facts, final)
        outcomes = [o for target in session.targets for o in self._judge(session, target, final=final)]
        raised = [track.finding for tracks in self._tracks.values() for track in tracks.values() if track.raised]
        self._diagnosis = Diagnosis(ranked(raised, session), tuple(outcomes))
        return self._diagnosis

    def _due(self, session: Session, *, final: bool) -> bool:
        if self._looked is None:
            return True
        at, facts, was_final = self._looked
        if final and session.at >= at:
            return not was_final or (session.at, session.facts) != (at, facts)
        return session.at - at >= EVERY_S

    def _judge(self, session: Session, target: Target, *, final: bool) -> Iterable[Outcome]:
        for rule in self._rules:
            tracks = self._tracks.setdefault((target.id, rule.code), {})
            raised = frozenset(name for name, track in tracks.items() if track.raised)
            case = Case(target, session, raised, self._against)
            yield _outcome(rule, case, tracks, final=final)


def _outcome(rule: Rule, case: Case, tracks: dict[str, Track], *, final: bool) -> Outcome:
    """One rule's look at one server, kept in ``tracks``. What is raised stays while the rule cannot tell."""
    try:
        seen = rule.look(case)
    except Exception as error:  # noqa: BLE001  one broken rule must not end the others
        return Outcome(rule, case.target.id, "failed", f"{type(error).__name__}: {error}")
    if isinstance(seen, Collecting):
        for name in [name for name, track in tracks.items() if not track.raised]:
            del tracks[name]
        return Outcome(rule, case.target.id, "found" if tracks else "collecting", seen.needs)
    _follow(() if isinstance(seen, Inapplicable) else seen, tracks, case.session.at, final=final)
    if any(track.raised for track in tracks.values()):
        return Outcome(rule, case.target.id, "found")
    if tracks:
        return Outcome(rule, case.target.id, "collecting", f"to see it for {RAISE_S:g} s")
    if isinstance(seen, Inapplicable):
        return Outcome(rule, case.target.id, "inapplicable", seen.why)
    return Outcome(rule, case.target.id, "nothing")


def _follow(seen: tuple[Finding, ...], tracks: dict[str, Track], at: float, *, final: bool) -> None:
    subjects = {finding.subject for finding in seen}
    for name in [name for name, track in tracks.items() if name not in subjects and track.miss(at)]:
        del tracks[name]
    for finding in seen:
        track = tracks.setdefault(finding.subject, Track(finding, at))
        track.see(finding, at, at_once=final)


def diagnose(session: Session, against: Session | None = None) -> Diagnosis:
    """What the rules say of one state, of which nothing before is known."""
    return Engine(against).look(session, final=True)
