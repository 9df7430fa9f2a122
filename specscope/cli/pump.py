"""Where sources, session and findings meet: facts flow from the sources into the fold, and into a file if wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.catalogue import load_cards
from specscope.cli.runs import Runs
from specscope.events import Marked, SourceLost
from specscope.findings.engine import EVERY_S, Engine
from specscope.session.fold import Fold, folded
from specscope.session.provenance.recommend import Advice

if TYPE_CHECKING:
    from collections.abc import Callable

    from specscope.events import Event
    from specscope.findings.diagnosis import Diagnosis
    from specscope.recording import Recorder, Recording
    from specscope.session.state import Session
    from specscope.settings import Settings
    from specscope.sources.source import Clock

LOOKS: Final = 10
"""Where nothing paints, the rules look at intervals of a tenth of the time seen so far, from a second up: 70 looks in
an hour, which take half a second where folding its facts takes three."""


class Pump:
    """Takes every fact once. All views of a watch share it, and so the findings.

    Args:
        settings: for the profiles, which recommend settings.
        clock: the watch's clock; None in a replay, whose present is the last fact's time.
        recorder: also writes each fact down.
        runs: recorded ones to compare the servers with.
        against: the last state of a recording that the rules compare with.
    """

    def __init__(
        self,
        settings: Settings,
        clock: Clock | None,
        recorder: Recorder | None = None,
        *,
        runs: Runs | None = None,
        against: Session | None = None,
    ) -> None:
        self.fold = Fold(Advice(settings.profile, load_cards()))
        self._engine = Engine(against)
        self._clock = clock
        self._recorder = recorder
        self.runs = runs if runs is not None else Runs()
        self.listeners: list[Callable[[Event], None]] = []

    def emit(self, event: Event) -> None:
        """Fold a fact in and pass it on. A full disk ends the recording, not the watch."""
        self.fold.apply(event)
        if self._recorder is not None:
            try:
                self._recorder.write(event)
            except OSError as error:
                self._recorder = None
                reason = f"it stopped: {error.strerror or error}"
                self.fold.apply(SourceLost(at=event.at, target=event.target, source="recording", reason=reason))
        for listener in self.listeners:
            listener(event)

    def session(self, *, calm: bool = False) -> Session:
        """The state now; ``calm`` as for :meth:`Fold.view`, on a clock that goes on."""
        self.runs.give(self.fold)
        if self._clock is None:
            return self.fold.view()
        return self.fold.view(self._clock.now(), calm=calm)

    def diagnosis(self, session: Session | None = None, *, final: bool = False) -> Diagnosis:
        """What the rules say of the state now, or of a view of it taken just before.

        Args:
            session: the view; None takes one.
            final: no fact will follow: what is seen now need not last to be told.
        """
        return self._engine.look(session if session is not None else self.session(), final=final)

    def last_diagnosis(self) -> Diagnosis:
        """What the rules said when they last looked."""
        return self._engine.diagnosis

    def look_along(self) -> None:
        """Let the rules look as facts come, and not only when somebody asks: a recording may be played in no time."""
        self.listeners.append(self._look)

    def _look(self, event: Event) -> None:
        looked_at, began = self._engine.looked_at, self.fold.started_at
        if looked_at is None or began is None or event.at - looked_at >= max(EVERY_S, (event.at - began) / LOOKS):
            self.diagnosis()


def last_state(recording: Recording) -> Session:
    """The state at a recording's end.

    Raises:
        RecordingError: the file cannot be read to its end.
    """
    return folded(recording.events()).view()


def played(
    recording: Recording,
    settings: Settings,
    label: str | None = None,
    runs: Runs | None = None,
    against: Session | None = None,
) -> Pump:
    """A pump that has taken in a whole recording, while the rules looked.

    ``label`` names what the server does from its start on.

    Raises:
        RecordingError: the file cannot be read to its end.
        CommandError: a run is of another model.
    """
    pump = Pump(settings, None, runs=runs, against=against)
    pump.look_along()
    if label:
        pump.emit(Marked(at=recording.header.started, label=label))
    for event in recording.events():
        pump.emit(event)
    pump.runs.give(pump.fold)
    pump.runs.need_all()
    return pump
