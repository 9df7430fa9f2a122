"""What all rules say together: findings, the worst first, and how each rule fares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from specscope.findings.rule import SEVERITIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from specscope.findings.rule import Finding, Rule
    from specscope.session.state import Session, Target

State: TypeAlias = Literal["found", "collecting", "inapplicable", "failed", "nothing"]
"""How a rule fares: it has raised something, it waits for facts, it does not apply to the server as it is, it broke,
or it looked and found nothing."""

_SUMS: Final[dict[State, tuple[str, str]]] = {
    "found": ("found something", "found something"),
    "nothing": ("looked and found nothing", "looked and found nothing"),
    "collecting": ("waits", "wait"),
    "inapplicable": ("does not apply", "do not apply"),
    "failed": ("FAILED", "FAILED"),
}
"""The words for one rule and for several."""

_LEAST_MS: Final = 1e-6
"""For a loss in tokens per second without a known cycle time: below every loss in ms, above no known loss."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one rule's look at one server.

    Attributes:
        target: the server's id.
        says: what a waiting rule needs, why one does not apply, or how a failed one failed; else empty.
    """

    rule: Rule
    target: str
    state: State
    says: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What all rules say of all servers, in the order in which both are shown."""

    findings: tuple[Finding, ...] = ()
    outcomes: tuple[Outcome, ...] = ()

    def of(self, target: str) -> Diagnosis:
        """What they say of one server."""
        return Diagnosis(
            tuple(f for f in self.findings if f.target == target),
            tuple(o for o in self.outcomes if o.target == target),
        )

    def rules(self, state: State) -> tuple[Outcome, ...]:
        """The rules that fare so."""
        return tuple(o for o in self.outcomes if o.state == state)


def sum_words(diagnosis: Diagnosis, *, short: bool = False) -> str:
    """How the rules fare, in numbers: ``62 rules: 5 looked and found nothing, 30 wait, 27 do not apply``."""
    count = {state: len(diagnosis.rules(state)) for state in _SUMS}
    told = [f"{count[state]} {words[count[state] != 1]}" for state, words in _SUMS.items() if count[state]]
    said = f"{len(diagnosis.outcomes)} rules: {', '.join(told)}"
    nothing = "nothing" if count["found"] else "found nothing"
    return said.replace("looked and found nothing", nothing) if short else said


def ranked(findings: Iterable[Finding], session: Session) -> tuple[Finding, ...]:
    """The one order everywhere: the severest first, of those what costs most where that was measured, then by code.

    A critical one (output that is not valid, a server that does not draft) often has no cost that could be measured,
    and must not stand below a warning that has one.
    """
    targets = {t.id: t for t in session.targets}
    return tuple(
        sorted(findings, key=lambda f: (-SEVERITIES.index(f.severity), -_loss_ms(f, targets), f.code, f.subject))
    )


def _loss_ms(finding: Finding, targets: Mapping[str, Target]) -> float:
    """What a finding costs per cycle; a loss in tokens per second is the share of the cycle that it stands for."""
    if finding.cost_ms is not None:
        return finding.cost_ms
    lost = finding.cost_tok_per_s
    if lost is None or lost <= 0:
        return 0.0
    target = targets.get(finding.target)
    rates = target.rates if target is not None else None
    if rates is None or rates.cycle_ms is None or rates.tok_s is None:
        return _LEAST_MS
    return rates.cycle_ms * lost / (rates.tok_s + lost)
