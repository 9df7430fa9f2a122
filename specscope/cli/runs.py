"""Recorded runs that a server is compared with (``--runs FILE...``): what each tells, and which servers it fits."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from specscope.cli.exits import CommandError
from specscope.events import SourceAttached, SourceLost
from specscope.recording import Recording, RecordingError
from specscope.session.economics.recorded import recorded_run
from specscope.session.fold import folded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from specscope.session.economics.state import RecordedRun
    from specscope.session.fold import Fold
    from specscope.session.target_fold import TargetFold

SOURCE: Final = "runs"
"""What the list of sources calls them."""


@dataclass(frozen=True)
class Model:
    """A model's file: its name without the folder, and its size where the header was read."""

    name: str
    size_bytes: int | None = None

    def is_other(self, than: Model) -> bool:
        """Whether it is another one: the folder may differ, on another machine say."""
        sizes = {size for size in (self.size_bytes, than.size_bytes) if size is not None}
        return self.name != than.name or len(sizes) > 1

    def beside(self, other: Model) -> str:
        """Its name, with its size where the other's name is the same."""
        size = f" of {self.size_bytes:,} bytes" if self.name == other.name and self.size_bytes is not None else ""
        return f"{self.name}{size}"


@dataclass(frozen=True)
class Served:
    """What a server runs; None: it does not say, or has none."""

    model: Model | None
    drafter: Model | None
    types: tuple[str, ...] | None

    def drafting(self) -> str:
        """How it drafts, in words."""
        names = ",".join(self.types or ()) or "no method"
        return f"{names} and {self.drafter.name}" if self.drafter is not None else names

    def drafts_otherwise(self, than: Served) -> bool:
        """Whether cycle times and accepted lengths of the two are of different things."""
        known = self.types is not None and than.types is not None
        if known and self.types != than.types:
            return True
        return self.drafter is not None and than.drafter is not None and self.drafter.is_other(than.drafter)


@dataclass(frozen=True)
class Run:
    """A recorded run, and what its server ran."""

    told: RecordedRun
    served: Served

    def of_use_to(self, server: Served) -> RecordedRun | str:
        """What it tells of a server; words where that is nothing."""
        own, there, name = self.served.model, server.model, self.told.name
        if there is None:
            return f"{name}: this server does not say which model it runs"
        if own is None:
            return f"{name} does not say which model it ran"
        if own.is_other(there):
            return f"{name} is a run of {own.beside(there)}, and this server runs {there.beside(own)}"
        if not self.told.drafts or not server.types or not self.served.drafts_otherwise(server):
            return self.told
        if self.told.plain:
            return replace(self.told, costs=(), joint=())
        return f"{name} drafted with {self.served.drafting()}, and this server drafts with {server.drafting()}"


@dataclass(eq=False)
class Runs:
    """The runs that a command was given, handed to every server that runs what they ran.

    Attributes:
        runs: as they were given; the first that tells plain decode time is taken for it.
    """

    runs: Sequence[Run] = ()
    _seen: dict[str, Served] = field(default_factory=dict[str, "Served"])
    _answers: dict[str, list[RecordedRun | str]] = field(default_factory=dict[str, "list[RecordedRun | str]"])

    def give(self, fold: Fold) -> None:
        """Hand them out, and say so among the sources; again when more is known of what a server runs."""
        for target in fold.targets.values() if self.runs else ():
            served = served_by(target)
            if served == self._seen.get(target.id) or (served.model is None and target.server == "unknown"):
                continue
            self._seen[target.id] = served
            answers = self._answers[target.id] = [run.of_use_to(served) for run in self.runs]
            fits = [a for a in answers if not isinstance(a, str)]
            target.economics.runs = tuple(fits)
            at, words = target.last_fact_at or 0.0, [a for a in answers if isinstance(a, str)]
            if words:
                fold.apply(SourceLost(at=at, target=target.id, source=SOURCE, reason="; ".join(words)))
            else:
                names = ", ".join(run.name for run in fits)
                fold.apply(SourceAttached(at=at, target=target.id, source=SOURCE, tier="none", detail=names))

    def need_all(self) -> None:
        """Each run must fit a server.

        Raises:
            CommandError: one fits none (exit 2).
        """
        if self.runs and not self._answers:
            raise CommandError(f"{self.runs[0].told.name}: nothing says which model is run here")
        for answers in zip(*self._answers.values(), strict=True):
            words = [a for a in answers if isinstance(a, str)]
            if len(words) == len(answers):
                raise CommandError("\n".join(dict.fromkeys(words)))


def served_by(target: TargetFold) -> Served:
    """What a server runs: by the headers of its files, else by /props and its flags."""
    props, flags, models = target.props, target.flags, target.models
    told = {
        "target": (props.model_path if props is not None else None) or (flags.model if flags is not None else None),
        "drafter": flags.draft_model if flags is not None else None,
    }
    found: dict[str, Model | None] = {}
    for role, path in told.items():
        read = models.get(role)
        if read is not None:
            found[role] = Model(Path(read.path).name, read.file_bytes)
        else:
            found[role] = Model(Path(path).name) if path else None
    return Served(found["target"], found["drafter"], target.config().types)


def load_runs(files: Sequence[str] | None) -> Runs:
    """Read recordings as runs to compare with.

    Raises:
        CommandError: a file is no recording, or tells no time of a step (exit 2).
    """
    return Runs([run for name in files or () for run in _runs_in(Path(name).expanduser())])


def _runs_in(path: Path) -> list[Run]:
    try:
        fold = folded(Recording(path).events())
    except RecordingError as error:
        raise CommandError(str(error)) from error
    views = fold.view().targets
    runs = [Run(recorded_run(view, path.name), served_by(fold.targets[view.id])) for view in views]
    told = [run for run in runs if run.told.plain or run.told.costs]
    if not told:
        raise CommandError(f"{path} tells neither plain decode time nor cycle times: nothing can be compared with it")
    return told
