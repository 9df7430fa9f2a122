"""The terminal application: one worker pumps facts, one timer paints."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from textual.app import App, SystemCommand
from textual.binding import Binding

from specscope.findings.diagnosis import Diagnosis
from specscope.session.state import Session
from specscope.views.cycle_filter import HINT
from specscope.views.feed import Replay
from specscope.views.frame import Frame, activity_of, counts_began
from specscope.views.ink import ink_from
from specscope.views.plain import AsciiOnly, Colourless
from specscope.views.screens.config import ConfigScreen
from specscope.views.screens.cycles import CyclesScreen
from specscope.views.screens.findings import FindingsScreen
from specscope.views.screens.live import LiveScreen
from specscope.views.screens.memory import MemoryScreen
from specscope.views.screens.timing import TimingScreen
from specscope.views.screens.watch import WatchScreen
from specscope.views.themes import CYCLE, DARK, OWN

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from textual.binding import BindingType
    from textual.filter import LineFilter
    from textual.screen import Screen
    from textual.timer import Timer

    from specscope.settings import Settings
    from specscope.views.feed import Feed
    from specscope.views.ink import Ink

PAINTS_PER_S: Final = (1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0)
REPLAY_SPEEDS: Final = (0.1, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
NOTICE_S: Final = 3.0


class SpecscopeApp(App[None]):
    """The screens over a feed.

    Args:
        feed: where sessions and findings come from.
        settings: colour, characters, theme and pace.
        title: the name of the terminal's window.
    """

    MODES: ClassVar[dict[str, Any]] = {
        "live": LiveScreen,
        "cycles": CyclesScreen,
        "timing": TimingScreen,
        "memory": MemoryScreen,
        "config": ConfigScreen,
        "findings": FindingsScreen,
    }
    DEFAULT_MODE: ClassVar[str] = "live"
    ALLOW_SELECT: ClassVar[bool] = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("q,Q", "quit", "Quit", show=False),
        Binding("ctrl+c", "quit", "Quit", show=False, priority=True),
        Binding("space,p,P", "pause", "Pause", show=False),
        Binding("plus,equals_sign", "pace(1)", "Faster", show=False),
        Binding("minus,underscore", "pace(-1)", "Slower", show=False),
        Binding("r,R", "reset", "Reset counts", show=False),
        Binding("t,T", "next_theme", "Next theme", show=False),
        Binding("m,M", "mark", "Mark", show=False),
        Binding("w,W", "widths", "Widths", show=False),
        Binding("question_mark,h,H", "help", "Help", show=False),
        Binding("1", "go('live')", "Live", show=False),
        Binding("2", "go('cycles')", "Cycles", show=False),
        Binding("3", "go('timing')", "Time", show=False),
        Binding("4", "go('memory')", "Memory", show=False),
        Binding("5", "go('config')", "Config", show=False),
        Binding("6", "go('findings')", "Findings", show=False),
        Binding("left_square_bracket", "next_target(-1)", "Previous server", show=False),
        Binding("right_square_bracket", "next_target(1)", "Next server", show=False),
    ]

    def __init__(self, feed: Feed, settings: Settings, *, title: str = "specscope") -> None:
        self._settings = settings
        self._plain_filters = [
            *([Colourless()] if settings.no_color else []),
            *([AsciiOnly()] if settings.ascii else []),
        ]
        super().__init__()
        self.title = title
        self.feed = feed
        self._hz = max(PAINTS_PER_S[0], min(PAINTS_PER_S[-1], settings.refresh_hz))
        self._timer: Timer | None = None
        self._index = 0
        self._paused: Frame | None = None
        self._reset_at = 0.0
        self._failure = ""
        self._notice = ""
        self._forget: Timer | None = None
        self._ink: Ink | None = None
        for theme in OWN:
            self.register_theme(theme)
        self.theme = settings.theme if settings.theme in self.available_themes else DARK.name

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Without colour nothing else may turn dim writing into a colour, so that filter stands alone."""
        return [*(() if self._settings.no_color else super().get_line_filters()), *self._plain_filters]

    def on_mount(self) -> None:
        """Start pumping and painting."""
        self.theme_changed_signal.subscribe(self, self._theme_changed)  # type: ignore[arg-type]
        if self._settings.theme not in (None, self.theme):
            self._say(f"no theme {self._settings.theme!r}: {', '.join(sorted(self.available_themes))}")
        self.run_worker(self._pump(), name="pump", exit_on_error=False)
        self._set_pace()
        self.call_after_refresh(self.paint)

    # --- facts and frames -----------------------------------------------------------------------------------------

    async def _pump(self) -> None:
        try:
            await self.feed.run()
        except Exception as error:  # noqa: BLE001  whatever ends the watch, the screen says it and stays
            self._failure = f"{type(error).__name__}: {error}"

    def frame(self) -> Frame:
        """The moment to be shown: the present, or where it was paused."""
        if self._paused is not None:
            shown = self._paused
            session, diagnosis = shown.session, shown.diagnosis
        else:
            session, diagnosis = self._ask()
        targets = session.targets
        self._index = min(self._index, max(0, len(targets) - 1))
        target = targets[self._index] if targets else None
        return Frame(
            session=session,
            target=target,
            index=self._index,
            diagnosis=diagnosis,
            activity=activity_of(target, session.at),
            counted_since=counts_began(target, session.started_at, self._reset_at),
            paused=self._paused is not None,
            failure=self._failure,
            pace=self._pace(),
            notice=self._notice,
        )

    def _ask(self) -> tuple[Session, Diagnosis]:
        try:
            return self.feed.session(), self.feed.diagnosis()
        except Exception as error:  # noqa: BLE001  a broken rule or fold must not end the screen
            self._failure = f"{type(error).__name__}: {error}"
            return Session(at=0.0, started_at=0.0), Diagnosis()

    def paint(self) -> None:
        """Show the present moment on the screen that is in use, also behind an overlay."""
        base: Screen[Any] | None = next(iter(self.screen_stack), None)
        if isinstance(base, WatchScreen) and base.is_mounted:
            if self._ink is None:
                self._ink = ink_from(
                    self.current_theme, colour=not self._settings.no_color, ascii_only=self._settings.ascii
                )
            base.show(self.frame(), self._ink)

    def _theme_changed(self, _: object) -> None:
        self._ink = None
        self.call_after_refresh(self.paint)

    def _say(self, notice: str) -> None:
        """Tell in the bottom row what a key did, for a few seconds."""
        self._notice = notice
        if self._forget is not None:
            self._forget.stop()
        self._forget = self.set_timer(NOTICE_S, self._forget_notice)
        self.paint()

    def _forget_notice(self) -> None:
        self._notice = ""
        self.paint()

    # --- pace -------------------------------------------------------------------------------------------------------

    def _pace(self) -> str:
        feed = self.feed
        if isinstance(feed, Replay):
            return "replay at its end" if feed.at_end else f"replay x{feed.speed:g}"
        return f"{self._hz:g} Hz"

    def _set_pace(self) -> None:
        if self._timer is not None:
            self._timer.stop()
        self._timer = self.set_interval(1 / self._hz, self.paint)

    def action_pace(self, step: int) -> None:
        """Faster or slower."""
        feed = self.feed
        if isinstance(feed, Replay):
            feed.set_speed(_next(REPLAY_SPEEDS, feed.speed, step))
        else:
            self._hz = _next(PAINTS_PER_S, self._hz, step)
            self._set_pace()
        self._say(self._pace())

    # --- what keys do -------------------------------------------------------------------------------------------------

    def action_pause(self) -> None:
        """Let the picture stand still, or go on."""
        self._paused = self.frame() if self._paused is None else None
        self.paint()

    def action_unpause(self) -> None:
        """Go on."""
        self._paused = None
        self.paint()

    def action_reset(self) -> None:
        """Start all counts anew."""
        self.feed.reset()
        self._paused = None
        self._reset_at = self.frame().now
        self._say("counts start anew; the server's own counters stay as they are")

    def action_next_theme(self) -> None:
        """The next of the themes that suit the screens."""
        place = CYCLE.index(self.theme) + 1 if self.theme in CYCLE else 0
        self.theme = CYCLE[place % len(CYCLE)]
        self._say(f"theme {self.theme}")

    def action_mark(self) -> None:
        """Ask for a mark's name."""
        from specscope.views.screens.prompt import mark_prompt  # noqa: PLC0415  loaded when first needed

        if isinstance(self.screen, WatchScreen):
            given = [label for _, label in reversed(self.feed.session().marks) if label]
            self.push_screen(mark_prompt(given), self._marked)

    def _marked(self, label: str | None) -> None:
        if label is None:
            return
        marks = self.feed.session().marks
        if label or (marks and marks[-1][1]):
            self.feed.mark(label)
            self._say(f"marked: {label}" if label else f"mark {marks[-1][1]} ended")

    def action_filter(self) -> None:
        """Ask for a filter of the Cycles screen."""
        from specscope.views.screens.prompt import Prompt  # noqa: PLC0415  loaded when first needed

        if isinstance(self.screen, CyclesScreen):
            self.push_screen(Prompt("filter", HINT, self.screen.condition), self.screen.filter_by)

    def action_help(self) -> None:
        """Show keys, marks and terms."""
        from specscope.views.screens.help import Help  # noqa: PLC0415  loaded when first needed

        if self._ink is not None and isinstance(self.screen, WatchScreen):
            self.push_screen(Help(self._ink))

    async def action_go(self, mode: str) -> None:
        """Change the screen; the one of the cycles shows these, whatever it showed when it was left."""
        if isinstance(self.screen, WatchScreen):
            await self._switch(mode, page=False)

    async def action_widths(self) -> None:
        """Show what other widths would give, or the cycles again."""
        if isinstance(self.screen, WatchScreen):
            on = not (isinstance(self.screen, CyclesScreen) and self.screen.on_page)
            await self._switch("cycles", page=on)

    async def _switch(self, mode: str, *, page: bool) -> None:
        await self.switch_mode(mode)
        if isinstance(self.screen, CyclesScreen):
            self.screen.show_page(shown=page)
        self.call_after_refresh(self.paint)

    def action_next_target(self, step: int) -> None:
        """Show the next server, or the one before."""
        count = len(self.frame().session.targets)
        if count > 1:
            self._index = (self._index + step) % count
            self.paint()

    def get_system_commands(self, screen: Screen[Any]) -> Iterable[SystemCommand]:
        """What the command palette offers."""
        del screen
        yield SystemCommand("Live", "All panels at once", lambda: self.action_go("live"))
        yield SystemCommand("Cycles", "Every cycle a row", lambda: self.action_go("cycles"))
        yield SystemCommand("Widths", "What other draft widths would give", self.action_widths)
        yield SystemCommand("Time", "Where milliseconds go, stalls and copies", lambda: self.action_go("timing"))
        yield SystemCommand("Memory", "What is where, how it grew, and the GPUs", lambda: self.action_go("memory"))
        yield SystemCommand("Config", "Every setting and where it comes from", lambda: self.action_go("config"))
        yield SystemCommand("Findings", "What is wrong, what shows it, what to do", lambda: self.action_go("findings"))
        yield SystemCommand("Pause", "Let the picture stand still, or go on", self.action_pause)
        yield SystemCommand("Mark", "Name what the server does from here on", self.action_mark)
        yield SystemCommand("Reset counts", "Start all counts anew", self.action_reset)
        yield SystemCommand("Theme", "Choose from all themes", self.action_change_theme)
        yield SystemCommand("Faster", "Paint, or replay, faster", lambda: self.action_pace(1))
        yield SystemCommand("Slower", "Paint, or replay, slower", lambda: self.action_pace(-1))
        yield SystemCommand("Help", "Keys, marks and terms", self.action_help)
        yield SystemCommand("Quit", "End the watch", self.exit)


def _next(steps: Sequence[float], now: float, step: int) -> float:
    """The neighbour of ``now`` among the steps, which it may lie between."""
    if step > 0:
        return next((s for s in steps if s > now), steps[-1])
    return next((s for s in reversed(steps) if s < now), steps[0])
