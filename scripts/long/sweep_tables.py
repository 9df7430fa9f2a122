"""What specscope says of draft widths from recorded runs of the sweep, beside what was measured, as Markdown tables."""

from __future__ import annotations

import statistics
from dataclasses import dataclass, field
from math import exp, hypot, log
from typing import TYPE_CHECKING, TypeAlias

from specscope.recording import Recording
from specscope.session.economics.batches import below, t95
from specscope.session.economics.recorded import recorded_run
from specscope.session.economics.state import Span
from specscope.session.fold import Fold

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from specscope.session.economics.state import Economics
    from specscope.session.state import Target

OFF = 0
N_MAX = (15, OFF, 3, 7, 8, 1)
VARIED = "varied"

BASES = (
    ("a run whose widths vary", VARIED, ()),
    ("15, and off", "15", ("off",)),
    ("15, and 3", "15", ("3",)),
    ("3, and 15", "3", ("15",)),
    ("15, and 3 and off", "15", ("3", "off")),
)
"""(in words, the run that is watched, the recorded ones beside it)."""


Figures: TypeAlias = tuple[float, float, float]
"""Milliseconds per token, milliseconds per step, tokens per step."""


@dataclass
class Measured:
    """The server's own figures of whole requests at one width, of the first half of the time and the second."""

    halves: list[list[Figures]] = field(default_factory=list["list[Figures]"])

    def span(self, which: int) -> Span | None:
        """Mean of a figure over all requests, with its 95 % interval; None below two requests."""
        values = [row[which] for rows in self.halves for row in rows]
        if len(values) < 2:
            return None
        mean = statistics.fmean(values)
        half = t95(len(values) - 1) * statistics.stdev(values) / len(values) ** 0.5
        return Span(mean, below(mean, half), mean + half)

    def speed(self) -> Span | None:
        """Tokens per second: all tokens by all time, for the requests are of one length."""
        ms = self.span(0)
        return None if ms is None else Span(1000 / ms.value, 1000 / ms.high, 1000 / ms.low)

    def by_half(self, which: int) -> str:
        """The mean of each half; of milliseconds per token, the speed."""
        means = [statistics.fmean(row[which] for row in rows) for rows in self.halves if rows]
        return " / ".join(f"{mean if which else 1000 / mean:.4g}" for mean in means)


def name_of(n_max: int) -> str:
    """As files and tables call a width."""
    return str(n_max) if n_max else "off"


def seen(out: Path, name: str, *runs: str) -> Target:
    """A recording's last state, judged with these runs beside it."""
    fold, recorded = Fold(), [recorded_run(seen(out, run), run) for run in runs]
    for i, event in enumerate(Recording(out / f"{name}.jsonl.gz").events()):
        fold.apply(event)
        if not i:
            fold.targets["t0"].economics.runs = tuple(recorded)
    return fold.view().targets[0]


def said(span: Span | None, digits: int = 4) -> str:
    """A figure and its interval."""
    return "-" if span is None else f"{span.value:.{digits}g} ({span.low:.{digits}g} .. {span.high:.{digits}g})"


def meets(predicted: Span | None, measured: Span | None) -> str:
    """Whether a prediction's interval has the measured mean, or at least meets its interval."""
    if predicted is None or measured is None:
        return "-"
    if predicted.low <= measured.value <= predicted.high:
        return "yes"
    return "their intervals meet" if predicted.low <= measured.high and measured.low <= predicted.high else "NO"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """As Markdown."""
    print(f"\n| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    print("\n".join(f"| {' | '.join(row)} |" for row in rows), flush=True)


def print_measured(measured: dict[str, Measured]) -> None:
    """What the servers did by their own clocks."""
    heads = ("n_max", "tok/s", "of each half", "ms per step", "of each half", "tau", "requests")
    rows = [
        (
            name,
            said(m.speed()),
            m.by_half(0),
            said(m.span(1)),
            m.by_half(1),
            said(m.span(2)),
            str(sum(map(len, m.halves))),
        )
        for name, m in sorted(measured.items(), key=lambda kv: order(kv[0]))
    ]
    table(heads, rows)


def order(name: str) -> int:
    """Widths as numbers."""
    return OFF if name == "off" else int(name)


def print_predictions(views: dict[str, Economics], measured: dict[str, Measured]) -> None:
    """Tokens per second at each width as each basis has it, and whether the measured speed is in its interval."""
    rows: list[list[str]] = []
    for n in sorted(N_MAX):
        name = name_of(n)
        told = measured[name].speed() if name in measured else None
        row = [name, said(told)]
        for view in views.values():
            point = view.curve[n].tok_s if n < len(view.curve) else None
            row += [said(point), meets(point, told)]
        rows.append(row)
    heads = ["n_max", "measured tok/s"]
    for basis in views:
        heads += [f"from {basis}", "meets"]
    table(heads, rows)


def print_best(views: dict[str, Economics], measured: dict[str, Measured]) -> None:
    """The best width by each basis, and by what was measured."""
    speeds = {name: span for name, m in measured.items() if (span := m.speed()) is not None}
    top = max(speeds, key=lambda name: speeds[name].value) if speeds else "-"
    print(f"\nBest measured: {top}, {said(speeds.get(top))} tok/s.")
    rows: list[tuple[str, ...]] = []
    for basis, e in views.items():
        best = "-" if e.best_n_max is None else name_of(e.best_n_max)
        there = speeds.get(best)
        given = "-" if there is None else f"{there.value / speeds[top].value:.1%}"
        tried = "-" if e.try_next is None else f"{name_of(e.try_next.n_max)}: {e.try_next.why}"
        plain = "-" if e.plain is None else f"{e.plain.ms:.4g} ms ({e.plain.how})"
        rows.append((basis, best, given, said(e.gain_pct, 3), str(e.sure), plain, tried, e.collecting or "-"))
    heads = ("from", "best said", "of the best speed measured", "gain %", "sure", "plain", "to try", "collecting")
    table(heads, rows)


def print_speedups(out: Path, measured: dict[str, Measured]) -> None:
    """The speedup that a run says with a recorded plain one beside it, and the two speeds' ratio."""
    off = measured["off"].speed() if "off" in measured else None
    rows: list[tuple[str, ...]] = []
    for n in sorted(N_MAX):
        told = measured[name_of(n)].speed() if name_of(n) in measured else None
        if n == OFF or off is None or told is None:
            continue
        e = seen(out, name_of(n), "off").economics
        ratio = ratio_of(told, off)
        rows.append(
            (name_of(n), said(e.speedup, 3), said(ratio, 3), meets(e.speedup, ratio), said(e.break_even_tau, 3))
        )
    table(("n_max", "speedup said", "measured", "meets", "break-even tau"), rows)


def ratio_of(one: Span, other: Span) -> Span:
    """Two independent means' ratio and its interval."""
    value = one.value / other.value
    off = exp(hypot(*(log(max(s.high, s.value) / s.value) for s in (one, other))))
    return Span(value, value / off, value * off)


def print_costs(out: Path, measured: dict[str, Measured]) -> None:
    """Milliseconds of a cycle by width: of the run whose widths vary, and by each server's own clock."""
    points = {p.width: p for p in seen(out, VARIED).economics.costs}
    rows: list[tuple[str, ...]] = []
    for width in range(1, max(N_MAX) + 1):
        p = points.get(width)
        told = measured[str(width)].span(1) if str(width) in measured else None
        cell = "-" if p is None else said(Span(p.ms, p.low, p.high))
        rows.append((str(width), cell, "-" if p is None else str(p.cycles), said(told)))
    table(("width", "ms per cycle, widths vary", "cycles", "a server of that n_max, by its own clock"), rows)
    if {7, 8} <= points.keys():
        rise = points[8].ms - points[7].ms
        others = [
            points[b].ms - points[a].ms for a, b in zip(points, list(points)[1:], strict=False) if (a, b) != (7, 8)
        ]
        usual = statistics.median(others) if others else 0.0
        print(f"\nFrom 7 to 8 a cycle takes {rise:+.3f} ms more; from width to width it is {usual:+.3f} (median).")


def print_all(out: Path, measured: dict[str, Measured]) -> None:
    """Every table that the recordings in the folder give."""
    print_measured(measured)
    views: dict[str, Economics] = {}
    for words, watched, runs in BASES:
        try:
            views[words] = seen(out, watched, *runs).economics
        except Exception as error:  # noqa: BLE001  a run that failed; the other bases are still to be judged
            print(f"\nfrom {words}: {type(error).__name__}: {error}")
    shows = (lambda: print_predictions(views, measured), lambda: print_best(views, measured))
    shows += (lambda: print_speedups(out, measured), lambda: print_costs(out, measured))
    for show in shows:
        try:
            show()
        except Exception as error:  # noqa: BLE001  as above
            print(f"\n{type(error).__name__}: {error}")
