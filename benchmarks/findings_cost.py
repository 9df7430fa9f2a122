"""What the rules cost: all of them at the end of recordings, and at a session as full as it gets.

Run by hand: ``python benchmarks/findings_cost.py``. Times are this process's CPU time, the best of several runs. The
full session is the largest recording whose cycles and turns were repeated until no more are kept. Each figure stands
beside the goal and beside the view that the rules look at, which is made anyway.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from specscope import events as ev
from specscope.findings.engine import Engine, diagnose
from specscope.findings.registry import RULES
from specscope.findings.rule import Case
from specscope.recording import Recording
from specscope.session.cycle_book import CYCLES_KEPT
from specscope.session.fold import Fold

if TYPE_CHECKING:
    from collections.abc import Callable

    from specscope.session.state import Session

RECORDINGS = Path(__file__).parent.parent / "tests" / "recordings"
GOAL_MS = 2.0
RUNS, LOOKS = 7, 50
REPEATED = (ev.CycleLogged, ev.CycleTraced, ev.TurnTraced)
SHOWN = 5


def best_ms(what: Callable[[], object]) -> float:
    """CPU milliseconds of one call."""
    best = float("inf")
    for _ in range(RUNS):
        began = time.process_time()
        for _ in range(LOOKS):
            what()
        best = min(best, (time.process_time() - began) / LOOKS)
    return best * 1000


def folded(path: Path) -> Fold:
    """A fold that has taken in the whole recording."""
    fold = Fold()
    for fact in Recording(path).events():
        fold.apply(fact)
    return fold


def full(path: Path) -> Fold:
    """The same, its cycles and turns repeated until as many cycles are kept as there can be."""
    fold = folded(path)
    facts = [fact for fact in Recording(path).events() if isinstance(fact, REPEATED)]
    span = facts[-1].at - facts[0].at + 1
    lap = 0
    while len(fold.view().targets[0].cycles) < CYCLES_KEPT:
        lap += 1
        for fact in facts:
            fold.apply(msgspec.structs.replace(fact, at=fact.at + lap * span))
    return fold


def row(name: str, fold: Fold) -> None:
    """One line of the table."""
    session = fold.view()
    rules_ms = best_ms(lambda: diagnose(session))
    view_ms = best_ms(fold.view)
    cycles = len(session.targets[0].cycles)
    print(f"{name:<24} {cycles:>6,} {rules_ms:>9.3f} {rules_ms / GOAL_MS:>8.1%} {rules_ms / view_ms:>9.1%}")


def dearest(session: Session) -> None:
    """The rules that take longest."""
    case = Case(session.targets[0], session)
    took = sorted(((best_ms(lambda rule=rule: rule.look(case)), rule.name) for rule in RULES), reverse=True)
    for ms, name in took[:SHOWN]:
        print(f"  {name:<30} {ms:>8.4f} ms")


def asked_again(session: Session) -> None:
    """What a screen pays that asks before the rules are due."""
    engine = Engine()
    engine.look(session)
    print(f"asked again within a second: {best_ms(lambda: engine.look(session)) * 1000:.1f} us")


def main() -> None:
    """Print the table."""
    paths = sorted(RECORDINGS.glob("*.jsonl.gz"), key=lambda path: path.stat().st_size)
    largest = max(paths, key=lambda path: len(folded(path).view().targets[0].cycles))
    print(f"{len(RULES)} rules, goal {GOAL_MS:g} ms a look")
    print(f"{'session':<24} {'cycles':>6} {'ms':>9} {'of goal':>8} {'of view':>9}")
    for path in paths:
        row(path.name.removesuffix(".jsonl.gz"), folded(path))
    most = full(largest)
    row(f"{largest.name.removesuffix('.jsonl.gz')}, full", most)
    print("the dearest of them at the last one:")
    dearest(most.view())
    asked_again(most.view())


if __name__ == "__main__":
    main()
