"""Feeds for the screens' tests: the real fold over given facts, with a clock that stands still."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from specscope import events as ev
from specscope.findings.diagnosis import Diagnosis, ranked
from specscope.findings.rule import Finding
from specscope.session.fold import Fold

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specscope.findings.diagnosis import Outcome
    from specscope.session.gpu_state import Machine
    from specscope.session.state import Session

HIDDEN_MIN_P = Finding(
    code="SPC201",
    name="hidden_min_p",
    severity="warning",
    target="t0",
    subject="t0",
    summary="min_p 0.05 is the server's default; your profile says 0 (the model's card)",
    evidence=(("min_p in force", "0.05"), ("recommended", "0")),
    advice='set "min_p": 0 in the request, or start the server with --min-p 0',
)
CLAMPED = Finding(
    code="SPC103",
    name="draft_width_clamped",
    severity="info",
    target="t0",
    subject="t0",
    summary="n_max 16 was clamped to 15, the drafter's block less one",
    evidence=(("asked", "16"), ("in force", "15")),
    advice="say --spec-draft-n-max 15",
)


class StillFeed:
    """All facts at once, seen at ``now``."""

    def __init__(
        self, facts: Sequence[ev.Event], findings: Sequence[Finding] = (), now: float | None = None, fails: str = ""
    ) -> None:
        self.fold = Fold()
        self.found = tuple(findings)
        self.outcomes: tuple[Outcome, ...] = ()
        self.fails = fails
        self.resets = 0
        self.closed = False
        self.tell(facts)
        self.now = now if now is not None else max((f.at for f in facts), default=0.0) + 0.1

    def tell(self, facts: Sequence[ev.Event]) -> None:
        """Fold more facts in, and let the clock follow."""
        for fact in facts:
            self.fold.apply(fact)
            self.now = fact.at + 0.1

    def session(self) -> Session:
        return self.fold.view(self.now)

    def diagnosis(self) -> Diagnosis:
        """In the order of the engine's."""
        return Diagnosis(ranked(self.found, self.session()), self.outcomes)

    def reset(self) -> None:
        self.resets += 1
        self.fold.reset()

    def mark(self, label: str) -> None:
        self.fold.apply(ev.Marked(at=self.now, label=label))

    async def run(self) -> None:
        if self.fails:
            raise ConnectionError(self.fails)
        try:
            await asyncio.Event().wait()
        finally:
            self.closed = True


class TracedFeed(StillFeed):
    """A watch whose first server has these fields, whatever the facts say."""

    def __init__(self, facts: Sequence[ev.Event], findings: Sequence[Finding] = (), **fields: Any) -> None:  # noqa: ANN401
        super().__init__(facts, findings)
        self.fields = fields

    def session(self) -> Session:
        session = super().session()
        first, *others = session.targets
        return replace(session, targets=(replace(first, **self.fields), *others))


class StillReplay(StillFeed):
    """A feed that replays, as far as keys can tell."""

    speed = 1.0
    at_end = False

    def set_speed(self, factor: float) -> None:
        self.speed = factor


class DeviceFeed(TracedFeed):
    """A watch on a machine with these devices, and a first server with these fields."""

    def __init__(
        self,
        facts: Sequence[ev.Event],
        findings: Sequence[Finding],
        machine: Machine,
        **fields: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(facts, findings, **fields)
        self.machine = machine

    def session(self) -> Session:
        return replace(super().session(), machine=self.machine)
