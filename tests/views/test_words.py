"""Figures, rows of text, filters and themes, each on its own."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from rich.segment import Segment
from rich.style import Style
from textual.color import Color
from textual.theme import BUILTIN_THEMES

from specscope.session.request_state import RequestRow, Slot
from specscope.session.state import Cycle, Target
from specscope.views import figures
from specscope.views.cycle_filter import FilterError, parse_filter
from specscope.views.frame import Activity, activity_of
from specscope.views.ink import distance, ink_from
from specscope.views.plain import AsciiOnly, Colourless
from specscope.views.themes import CYCLE, OWN
from specscope.views.widgets.line import Line, ascii_cells, shorten, wrapped
from specscope.views.widgets.part_bar import filled
from specscope.views.widgets.runs import runs

PLAIN = Style()


def test_unknown_figures_are_dashes() -> None:
    assert figures.whole(None) == figures.decimal(None) == figures.percent(None) == figures.milliseconds(None) == "—"
    assert figures.whole(0) == "0"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(-1, "0 s"), (12.9, "12 s"), (119, "119 s"), (180, "3 min"), (7500, "2 h 05 min"), (266_000, "3 d")],
)
def test_spans(seconds: float, words: str) -> None:
    assert figures.span(seconds) == words


def test_milliseconds_and_clock() -> None:
    assert figures.milliseconds(840.4) == "840 ms"
    assert figures.milliseconds(2410.0) == "2.41 s"
    assert figures.clock(1_780_000_000.25, tenths=True) == "20:26:40.2"


def test_every_evidence_has_a_mark_of_its_own() -> None:
    assert len(set(figures.MARKS.values())) == len(figures.MARKS) == len(figures.MEANINGS)


def test_a_row_is_as_wide_as_asked() -> None:
    line = Line(PLAIN).add("模型", PLAIN).add(" abc", PLAIN)
    assert line.strip(12).text == "模型 abc    "
    assert line.strip(5).text == "模型…"
    assert line.strip(5).cell_length == 5


def test_ascii_keeps_the_width() -> None:
    assert Line(PLAIN, ascii_only=True).add("≠ 模 — █", PLAIN).strip(12).text == "!= ?? - #   "
    assert ascii_cells("模≥█") == "??>#"


def test_cut_texts_show_it() -> None:
    assert shorten("abcdef", 4) == "abc…"
    assert shorten("abc", 4) == "abc"
    assert shorten("abc", 0) == ""


def test_long_texts_break_between_words() -> None:
    assert wrapped("one two three", 20, 2) == ["one two three"]
    assert wrapped("one two three", 7, 2) == ["one two", "three"]
    assert wrapped("one two three four", 7, 2) == ["one two", "three four"]
    assert wrapped("unbroken", 4, 3) == ["unbr", "oken"]
    assert wrapped("unbroken word", 4, 2) == ["unbr", "oken word"]


def test_the_first_row_of_a_long_text_may_be_shorter() -> None:
    assert wrapped("one two three", 9, 3, first=4) == ["one", "two three"]
    assert wrapped("longer than that", 9, 3, first=4) == ["", "longer", "than that"]
    assert wrapped("one", 9, 3, first=-2) == ["", "one"]


def test_runs_join_neighbours() -> None:
    one, two = Style(bold=True), Style(dim=True)
    assert runs("abcd", "xxyx", {"x": one, "y": two}) == [Segment("ab", one), Segment("c", two), Segment("d", one)]


def test_filters() -> None:
    cycle = Cycle(9, 1.0, 1, 7, 15, 2, 80.5, "log")
    unseen = Cycle(9, 1.0, 1, 7, None, 2, None, "polled")
    for words in ("slot=1", "task=7 w>=15", "a<3 ms>80", "by=log", "by=cycles", "W=15"):
        holds = parse_filter(words)
        assert holds is not None
        assert holds(cycle), words
    for words in ("w>=0", "ms>0", "by=log", "by=cycles", "replay", "slot!=1"):
        holds = parse_filter(words)
        assert holds is not None
        assert not holds(unseen), words
    assert parse_filter("  ") is None
    with pytest.raises(FilterError, match="width=3"):
        parse_filter("width=3")


def test_activity() -> None:
    assert activity_of(None, 5.0) == Activity("nothing yet")
    prefill = Target("t0", server="ready", slots=(Slot(0, busy=True, prefill_tokens=512),))
    assert activity_of(prefill, 5.0) == Activity("prefill")
    slow = Cycle(1, 10.0, 0, 1, 15, 2, 900.0, "log")
    busy = Target("t0", server="ready", slots=(Slot(0, busy=True, decoded=3),), cycles=(slow,))
    assert activity_of(busy, 11.0) == Activity("decoding")
    assert activity_of(busy, 13.0) == Activity("no step", 3.0)
    running = RequestRow(slot=0, task=1, label=None, started_at=9.0, ended_at=None, whole=False)
    early = replace(busy, server="unknown", slots=(), requests=(running,))
    assert activity_of(early, 11.0) == Activity("decoding")
    assert activity_of(replace(busy, server="down"), 11.0) == Activity("no step", 1.0)
    idle = Target("t0", server="ready", slots=(Slot(0, busy=False),), cycles=(slow,))
    assert activity_of(idle, 13.0) == Activity("idle", 3.0)


def test_filters_of_poor_terminals() -> None:
    segments = [Segment("a▄≠", Style(color="red", bgcolor="blue", bold=True, reverse=True))]
    plain = Colourless().apply(segments, Color.parse("black"))
    assert plain == [Segment("a▄≠", Style(bold=True, reverse=True))]
    assert AsciiOnly().apply(plain, Color.parse("black"))[0].text == "a#!"


@pytest.mark.parametrize("theme", OWN, ids=lambda t: t.name)
def test_own_themes_can_be_read(theme: object) -> None:
    ink = ink_from(theme, colour=True, ascii_only=False)  # type: ignore[arg-type]
    for name in ("strong", "text", "muted", "title", "good", "warn", "bad", "alarm", "badge"):
        style = getattr(ink, name)
        assert contrast(style) >= 4.5, name
    assert contrast(ink.edge) >= 3.0
    assert all(contrast(style) >= 4.5 for style in ink.slots)


@pytest.mark.parametrize("name", CYCLE)
def test_parts_of_a_turn_differ_in_colour_and_their_letters_can_be_read(name: str) -> None:
    theme = next(t for t in (*OWN, *BUILTIN_THEMES.values()) if t.name == name)
    ink = ink_from(theme, colour=True, ascii_only=False)
    colours = [Color.from_rich_color(style.color) for style in ink.parts if style.color is not None]
    assert len(colours) == 6
    assert min(distance(a, b) for a, b in combinations(colours, 2)) > 60
    least = 4.0 if theme in OWN else 2.8  # as far as other themes' own colours stand out from their ground
    assert all(contrast(filled(ink, place)) >= least for place in range(6))


def contrast(style: Style) -> float:
    """Contrast ratio of WCAG 2."""
    assert style.color is not None
    assert style.bgcolor is not None
    light, dark = sorted((luminance(style.color), luminance(style.bgcolor)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: object) -> float:
    parts = [v / 255 for v in colour.get_truecolor()]  # type: ignore[attr-defined]
    red, green, blue = (v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_the_cycle_of_themes_exists() -> None:
    assert set(CYCLE) <= {t.name for t in OWN} | set(BUILTIN_THEMES)
