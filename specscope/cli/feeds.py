"""What the screen is fed with: a live watch, or a recording."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.cli.pump import Pump
from specscope.cli.watching import gpus_wanted, make_watches, run_sources
from specscope.events import Marked
from specscope.sources.replay import ReplaySource
from specscope.sources.source import Clock

if TYPE_CHECKING:
    from specscope.cli.runs import Runs
    from specscope.cli.targets import LiveTarget
    from specscope.findings.diagnosis import Diagnosis
    from specscope.recording import Recording
    from specscope.session.state import Session
    from specscope.settings import Settings


class _PumpedFeed:
    """What both feeds show: the state of their pump, and what the rules say of the state last asked for."""

    def __init__(self, pump: Pump) -> None:
        self.pump = pump
        self._shown: Session | None = None

    def session(self) -> Session:
        """The state now; of a replay, at the last fact played."""
        self._shown = self.pump.session(calm=True)
        return self._shown

    def diagnosis(self) -> Diagnosis:
        """What the rules say of the state last asked for."""
        return self.pump.diagnosis(self._shown)

    def reset(self) -> None:
        """Start all counts anew."""
        self.pump.fold.reset()


class LiveFeed(_PumpedFeed):
    """A live watch of one or more servers."""

    def __init__(self, targets: list[LiveTarget], settings: Settings, runs: Runs | None = None) -> None:
        self._clock = Clock()
        super().__init__(Pump(settings, self._clock, runs=runs))
        self._watches = make_watches(targets, self._clock, settings)
        self._gpus = gpus_wanted(targets, settings)

    def mark(self, label: str) -> None:
        """Name what the server does from here on."""
        self.pump.emit(Marked(at=self._clock.now(), label=label))

    async def run(self) -> None:
        """Pump facts until cancelled."""
        await run_sources(self._watches, self._clock, self.pump, gpus=self._gpus)


class ReplayFeed(_PumpedFeed):
    """A recording, played."""

    def __init__(self, recording: Recording, settings: Settings, speed: float, runs: Runs | None = None) -> None:
        super().__init__(Pump(settings, None, runs=runs))
        self.pump.look_along()
        self._source = ReplaySource(recording, speed)
        self._began = recording.header.started

    def mark(self, label: str) -> None:
        """Name what follows; the recording itself is not changed."""
        self.pump.emit(Marked(at=self._source.at or self._began, label=label))

    async def run(self) -> None:
        """Play the recording to its end."""
        await self._source.run(self.pump.emit)

    @property
    def speed(self) -> float:
        """How many recorded seconds pass in one."""
        return self._source.speed

    def diagnosis(self) -> Diagnosis:
        """What the rules said while the facts were played; at the end, of all. When it is asked changes nothing."""
        return self.pump.diagnosis(self._shown, final=True) if self._source.done else self.pump.last_diagnosis()

    @property
    def at_end(self) -> bool:
        """Whether the last fact has been told."""
        return self._source.done

    def set_speed(self, factor: float) -> None:
        """Play at this speed from here on."""
        self._source.speed = factor
