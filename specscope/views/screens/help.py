"""The help: keys, what the evidence marks mean, and the terms."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from textual.binding import Binding
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.scroll_view import ScrollView
from textual.strip import Strip

from specscope.views.figures import MARKS, MEANINGS, UNKNOWN

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

KEYS: Final = (
    ("1 2 3", "Live, Cycles, Time (of a turn)"),
    ("4 5 6", "Memory (and the GPUs), Config, Findings"),
    ("q, ctrl+c", "quit"),
    ("space, p", "hold the picture; facts go on being taken in"),
    ("+ -", "paint faster or slower; in a replay, its speed"),
    ("r", "count anew (the server's own counters stay)"),
    ("m", "name what the server does from here on: a regime of its own"),
    ("w", "what other widths would give, regimes, prompts; and back"),
    ("/", "on Cycles: filter, as slot=0 a<3 ms>80"),
    ("j k arrows", "on Cycles: scroll; home oldest, end newest and follow"),
    ("j k arrows", "on Findings: choose; pgup, pgdn scroll what is said of it"),
    ("n a", "on Config: next setting that differs; all settings"),
    ("[ ] tab", "previous or next server"),
    ("t", "next colour theme"),
    ("ctrl+p", "all commands"),
)

TERMS: Final = (
    ("cycle", "one draft and its verification by the target"),
    ("plain step", "a step without a draft: one token"),
    ("width", "tokens drafted in a cycle, as verified"),
    ("rows", "tokens the target computes at once: a draft and one more"),
    ("n_max", "limit of the width; 7 of 15: clamped from 15"),
    ("accepted", "draft tokens that survived; one of the target's own is added"),
    ("tau", "tokens per step of one slot: what speed depends on"),
    ("tau_draft", "the same over cycles alone: 1 + accepted / cycles"),
    ("acceptance", "accepted / drafted; by itself neither good nor bad"),
    ("cycle ms", "time between steps of one slot: median, (95 % are below)"),
    ("plain", "decoding a token at a time: what a speedup compares with"),
    ("break-even", "tau from which speculation pays: cycle ms / plain ms"),
    ("best", "the n_max that gives most tok/s; off: no speculation"),
    ("regime", "requests of one label, or of one kind by their tau"),
    ("±, a to b", "95 % interval: it holds the figure in 95 of 100 runs"),
    ("turn", "one round of the server's loop, a cycle of each busy slot"),
    ("submit", "the host hands the device the target's forward"),
    ("verify", "the device computes it, and the host waits for the result"),
    ("features", "the target's inner values are handed to the drafter"),
    ("sampling", "the host chooses the target's token at each position"),
    ("other", "what is left of a turn"),
    ("CPU waits", "share of the time that the server's thread waits for the GPU"),
    ("GPU idle", "share that the GPU has nothing to do: the CPU is not ready"),
    ("dear probes", "they cost the server some percent, so they run in bursts"),
    ("limits", "share of busy time that the driver held the clocks down"),
    ("J/token", "energy of the GPUs while decoding, over tokens generated"),
    ("KV filled", "of the cells reserved at load, those that hold tokens"),
    ("unexplained", "memory of the process that no known part accounts for"),
    ("tok/s", "tokens per second of decoding, all slots together"),
    ("tok/s a slot", "the same of one slot, as plain decoding and widths are told"),
    ("t0, t1", "servers, in the order in which they were found"),
    ("cost", "what watching takes: specscope's own share of one CPU core"),
    ("survival", "share of cycles that accept at least n draft tokens"),
    ("ttft", "time to the first token"),
    ("started *", "the request was not seen from its beginning"),
    ("replayed", "the accepted part was verified twice (recurrent models)"),
    ("from", "where a setting comes from; ? where that is only likely"),
    ("differs", "the value in force is none of those recommended"),
    ("totals", "cycles of a request beside the server's totals for it"),
)


class Help(ModalScreen[None]):
    """Any of ``?``, Escape and ``q`` closes it."""

    DEFAULT_CSS: ClassVar[str] = """
    Help { align: center middle; background: $background 60%; }
    Help HelpText {
        width: 80; max-width: 100%; height: auto; max-height: 100%;
        background: $background; border: solid $primary;
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,question_mark,q,Q,h,H", "dismiss(None)", show=False)]

    def __init__(self, ink: Ink) -> None:
        super().__init__()
        self._text = HelpText(ink)

    def compose(self) -> ComposeResult:
        """The text."""
        yield self._text

    def on_mount(self) -> None:
        """Arrows scroll."""
        self._text.focus()


class HelpText(ScrollView, can_focus=True):
    """The text, which scrolls when the screen is small."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j,J", "scroll_down", show=False),
        Binding("k,K", "scroll_up", show=False),
    ]

    def __init__(self, ink: Ink) -> None:
        super().__init__()
        self._lines = help_lines(ink)
        self.virtual_size = Size(0, len(self._lines))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """As high as the text."""
        del container, viewport, width
        return len(self._lines)

    def render_line(self, y: int) -> Strip:
        """One visible row."""
        place, width = self.scroll_offset.y + y, self.scrollable_content_region.width
        return self._lines[place].strip(width) if place < len(self._lines) else Strip.blank(width)


def help_lines(ink: Ink) -> list[Line]:
    """All rows of the help."""
    rows = [_head("keys", ink)] + [_pair(key, does, ink) for key, does in KEYS]
    rows += [ink.line(), _head("how a number is known: the mark behind it", ink)]
    rows += [_pair(MARKS[e] if e != "unknown" else UNKNOWN, meaning, ink) for e, meaning in MEANINGS.items()]
    rows += [ink.line(), _head("terms", ink)] + [_pair(term, meaning, ink) for term, meaning in TERMS]
    return [*rows, ink.line(), ink.line().add(" q, ? or esc closes", ink.muted)]


def _head(text: str, ink: Ink) -> Line:
    return ink.line().add(f" {text}", ink.title)


def _pair(term: str, meaning: str, ink: Ink) -> Line:
    return ink.line().add("   ", ink.text).left(term, 12, ink.strong).add(meaning, ink.text)
