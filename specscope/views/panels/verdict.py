"""The figures that speed depends on: rolling and since the start, each with how it is known, and what follows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

from specscope.views.figures import MARKS, UNKNOWN, clock, decimal, percent, whole
from specscope.views.gain_words import gain_rows, gains
from specscope.views.referee_words import referee_sentence
from specscope.views.server_words import doing_words, rolling_words, state_sentence, state_style
from specscope.views.widgets.line import shorten, wrapped
from specscope.views.widgets.panel import Panel

if TYPE_CHECKING:
    from rich.style import Style
    from textual.strip import Strip

    from specscope.session.state import Config, Evidence, Rates, Target
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line


@dataclass(frozen=True, slots=True)
class _Figure:
    """One column: heading, cells, the rolling and the whole figure (None: not asked for there)."""

    head: str
    width: int
    now: str | None
    total: str | None
    loud: bool = False


class Verdict(Panel):
    """Headings, the last seconds, all since the start, what speculation gains, and the referee's sentence.

    The sentence may take two rows.
    """

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """The rows; the middle two only where there is room for all."""
        target = frame.target
        if target is None:
            return [ink.line().add("  no server seen yet", ink.muted)]
        speculating = frame.speculating
        figures = _fitting(_figures(target, speculating=speculating), width)
        rows = [
            _heads(frame, figures, ink),
            _numbers("now", frame, figures, ink),
            _numbers("total", frame, figures, ink),
            *gains(target, ink, width),
        ]
        room = min(SENTENCE_MOST, max(1, height - len(rows)))
        return [*rows[: height - room], *_sentence(target, ink, width, room, speculating=speculating)]


SENTENCE_MOST: Final = 2
"""Rows that the sentence may take."""

_LABEL: Final = 14
_DOING: Final = 17
"""What is done now may reach over the first figure, whose heading is short."""
_ENOUGH: Final = 8
"""Steps that a median of the time between them needs before it is shown."""


def rows_wanted(frame: Frame, width: int) -> int:
    """How many rows show everything: the sentence takes a second one where it is too long for one."""
    if frame.target is None:
        return 4
    said, _ = _said(frame.target, width, speculating=frame.speculating)
    gained = len(gain_rows(frame.target, width))
    return 3 + gained + len(wrapped(said, _sentence_cells(width), SENTENCE_MOST))


def _figures(target: Target, *, speculating: bool | None) -> list[_Figure]:
    rates, totals, config = target.rates, target.totals, target.config
    speed = _Figure("tok/s", 9, decimal(rates.tok_s), None, loud=True)
    tau = _Figure("tau", 8, decimal(rates.tau, 2), decimal(totals.tau, 2), loud=True)
    if speculating is False:
        return [speed, tau, _Figure("tokens", 11, None, whole(totals.generated))]
    return [
        speed,
        tau,
        _Figure("tau_draft", 10, decimal(rates.tau_draft, 2), decimal(totals.tau_draft, 2)),
        _Figure("cycle ms (p95)", 16, _cycle_ms(rates), None),
        _Figure("acceptance", 11, percent(rates.acceptance), percent(totals.acceptance)),
        _Figure("width", 8, decimal(rates.width_mean), decimal(totals.width_mean)),
        _Figure("n_max", 9, _n_max(config), None),
        _Figure("cycles", 11, None, whole(totals.cycles)),
        _Figure("drafted", 11, None, whole(totals.drafted)),
        _Figure("accepted", 11, None, whole(totals.accepted)),
        _Figure("plain steps", 12, None, whole(totals.plain_steps)),
        _Figure("tokens", 11, None, whole(totals.generated)),
    ]


def _fitting(figures: list[_Figure], width: int) -> list[_Figure]:
    kept: list[_Figure] = []
    room = width - _LABEL
    for figure in figures:
        if figure.width + 1 > room:
            break
        kept.append(figure)
        room -= figure.width + 1
    return kept


def _cycle_ms(rates: Rates) -> str:
    if rates.cycle_ms is None or rates.steps < _ENOUGH:
        return UNKNOWN
    return f"{decimal(rates.cycle_ms)} ({decimal(rates.cycle_ms_p95)})"


def _n_max(config: Config) -> str:
    """The limit in force, and what was asked for where that differs."""
    asked, force = config.n_max_requested, config.n_max_effective
    if asked is not None and force is not None and asked != force:
        return f"{force} of {asked}"
    return whole(force if force is not None else asked)


def _heads(frame: Frame, figures: list[_Figure], ink: Ink) -> Line:
    """The headings; before them stands what is done now, while the figures below stay those of the last steps."""
    idle = frame.activity.doing == "idle"
    line = ink.line().add(shorten(f" {doing_words(frame)}", _DOING), ink.muted if idle else ink.warn)
    end = _LABEL
    for figure in figures:
        end += figure.width
        line.right(figure.head, end - line.cells, ink.muted).add(" ", ink.muted)
        end += 1
    return line


def _numbers(which: str, frame: Frame, figures: list[_Figure], ink: Ink) -> Line:
    target = frame.target
    if target is None:
        return ink.line()
    now = which == "now"
    stale = now and frame.activity.stale
    label = rolling_words(frame) if now else f"since {clock(frame.counted_since)}"
    line = ink.line().add(f" {label}".ljust(_LABEL), ink.muted)
    evidence = _rolling(target) if now else target.totals.evidence
    for figure in figures:
        _number(line, figure, figure.now if now else figure.total, evidence, ink, stale=stale)
    return line


def _number(line: Line, figure: _Figure, text: str | None, evidence: Evidence, ink: Ink, *, stale: bool) -> None:
    known = text is not None and text != UNKNOWN
    style: Style = ink.muted if stale or not known else ink.strong if figure.loud else ink.text
    line.right(text or "", figure.width, style)
    mark = MARKS[evidence] if known and figure.head != "n_max" else " "
    line.add(mark, ink.muted if stale and evidence != "parted" else ink.evidence(evidence))


def _rolling(target: Target) -> Evidence:
    """How the rolling figures are known: as the cycles; steps without cycles come from polling."""
    return target.cycle_evidence if target.cycle_evidence != "unknown" else "polled"


_EXACT: Final = "exact: "


def _said(target: Target, width: int, *, speculating: bool | None) -> tuple[str, bool]:
    """The sentence in full, and whether it is loud; where all is exact, only as much of it as one row takes."""
    trouble = state_sentence(target)
    if trouble:
        return trouble, True
    sentence, loud = referee_sentence(target, speculating=speculating)
    exact = target.cycle_evidence == "exact" and speculating is not False
    if not exact:
        return sentence, loud
    said = _EXACT + sentence
    while cell_len(said) > _sentence_cells(width) and ", " in said:
        said = said.rsplit(", ", 1)[0]
    return said, loud


def _sentence_cells(width: int) -> int:
    """Cells of the sentence: it stands in one blank, and a loud one in two on either side."""
    return max(1, width - 4)


def _sentence(target: Target, ink: Ink, width: int, room: int, *, speculating: bool | None) -> list[Line]:
    said, loud = _said(target, width, speculating=speculating)
    style = ink.text
    if loud:
        style = ink.alarm if target.server == "ready" else state_style(target.server, ink)
    lines: list[Line] = []
    for number, text in enumerate(wrapped(said, _sentence_cells(width), room)):
        line = ink.line().add(" ", ink.text)
        if loud:
            line.add(f" {text} ", style)
        elif not number and text.startswith(_EXACT):
            line.add(_EXACT, ink.good).add(text.removeprefix(_EXACT), style)
        else:
            line.add(text, style)
        lines.append(line)
    return lines
