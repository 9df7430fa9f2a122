"""A server against a recorded one: what was configured otherwise, and what that, or anything else, did to its speed.

A figure differs when it moved by more than its own scatter and by more than runs of the same thing do. Scatter is that
between requests (they are what repeats), not between cycles, which come in clusters. Where both runs have labelled
requests of the same kind, each kind is compared by itself: another mix of work is no drift.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot, sqrt
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

import msgspec

from specscope.flags import ServerFlags
from specscope.session.provenance.known import KNOWN
from specscope.session.provenance.values import same

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from specscope.events import ModelRead
    from specscope.flags import Value
    from specscope.session.request_state import RequestRow
    from specscope.session.state import Target

Figure: TypeAlias = Literal["tau", "acceptance", "tok_s", "step_ms"]

SIGMAS: Final = 3.0
"""Standard errors by which a figure must have moved: one false alarm in 370 if nothing changed."""

LEAST_SHARE: Final = 0.05
"""Of the recorded figure: repeats of one published run lay 4.1 % apart (DFlash 2, 100 coding problems)."""

LATEST: Final = 128
"""Requests that are looked at where it is done every second."""

LEAST_REQUESTS: Final = 3
LEAST_DRAFTED: Final = 200
"""Draft tokens on each side before acceptance is compared, as for any verdict on it."""

NOT_DRIFT: Final = frozenset({"seed", "n_predict", "model", "spec_draft_model", "mmproj", "slot_ctx"})
"""Each request's own affair, or told of otherwise."""

_PLACES: Final = frozenset(
    {"host", "port", "api_prefix", "ssl_cert_file", "alias", "log_file", "log_disabled", "log_jsonl", "verbosity"}
    | {"api_key_file", "has_api_key", "models_dir", "models_preset", "sampling", "origins", "told"}
    | {"equals_form", "malformed", "removed", "spec_types_environment", "model_repo", "draft_repo"}
)


@dataclass(frozen=True, slots=True)
class Difference:
    """Something that is not as it was. ``before``, ``now``: None where it was not set."""

    what: str
    before: Value | None
    now: Value | None


@dataclass(frozen=True, slots=True)
class Moved:
    """A figure of both runs.

    Attributes:
        label: the kind of work that it is of; empty: of all requests.
        error: standard error of the difference.
        beyond: it moved beyond noise.
    """

    figure: Figure
    label: str
    before: float
    now: float
    error: float
    beyond: bool

    @property
    def change(self) -> float:
        """As a share of what it was."""
        return self.now / self.before - 1 if self.before else 0.0


@dataclass(frozen=True, slots=True)
class Against:
    """What is not as in the recorded run.

    Attributes:
        identity: build, model files.
        settings: values in force that differ, by setting.
        flags: what else was told otherwise on command line or in the environment.
        figures: of which both runs have enough; ``too_few``: those that lack requests.
    """

    identity: tuple[Difference, ...] = ()
    settings: tuple[Difference, ...] = ()
    flags: tuple[Difference, ...] = ()
    figures: tuple[Moved, ...] = ()
    too_few: tuple[Figure, ...] = ()


def compare(now: Target, before: Target) -> Against:
    """What differs between a server now and a recorded one."""
    figures, too_few = _figures(now, before, _READ)
    return Against(_identity(now, before), settings_moved(now, before), _flags(now, before), figures, too_few)


def moved(now: Target, before: Target, figure: Figure) -> tuple[Moved, ...]:
    """A figure of the latest requests in both runs, of each kind of work; nothing where there are too few."""
    return _figures(now, before, (figure,), latest=LATEST)[0]


def configured_otherwise(now: Target, before: Target) -> tuple[Difference, ...]:
    """Whatever is not as in the recorded run but its figures."""
    return (*_identity(now, before), *settings_moved(now, before), *_flags(now, before))


def _identity(now: Target, before: Target) -> tuple[Difference, ...]:
    found: list[Difference] = []
    builds = [t.props.build if t.props is not None else None for t in (before, now)]
    if builds[0] and builds[1] and builds[0] != builds[1]:
        found.append(Difference("build", builds[0], builds[1]))
    for role in ("target", "drafter", "projector"):
        old, new = before.models.get(role), now.models.get(role)
        if (old is None) != (new is None) or (old is not None and new is not None and _is_other(old, new)):
            found.append(Difference(f"{role} model", old and _described(old), new and _described(new)))
    return tuple(found)


def _is_other(old: ModelRead, new: ModelRead) -> bool:
    """Whether two files are different models: where they lie says nothing."""
    return any(getattr(old, key) != getattr(new, key) for key in ("name", "arch", "file_bytes", "tensor_types"))


def _described(model: ModelRead) -> str:
    name = model.path.rpartition("/")[2]
    return name if model.file_bytes is None else f"{name}, {model.file_bytes:,} bytes"


def settings_moved(now: Target, before: Target) -> tuple[Difference, ...]:
    """The settings whose value in force is another one."""
    old = {s.name: s.value for s in before.provenance.settings}
    return tuple(
        Difference(s.name, old[s.name], s.value)
        for s in now.provenance.settings
        if s.name not in NOT_DRIFT and s.value is not None and old.get(s.name) is not None
        if not same(old[s.name], s.value)
    )


def _flags(now: Target, before: Target) -> tuple[Difference, ...]:
    """What was told of that is no setting of its own."""
    if now.flags is None or before.flags is None:
        return ()
    covered = {known.told_as for known in KNOWN} | _PLACES
    names = [f.name for f in msgspec.structs.fields(ServerFlags) if f.name not in covered]
    pairs = [(name, getattr(before.flags, name), getattr(now.flags, name)) for name in names]
    return tuple(Difference(name, old, new) for name, old, new in pairs if old != new)


class _Sum(NamedTuple):
    """What a request adds to a ratio: ``upper`` over ``lower``."""

    upper: float
    lower: float


def _tau(row: RequestRow) -> _Sum | None:
    return _Sum(row.generated, row.generated / row.tau) if row.generated and row.tau else None


def _acceptance(row: RequestRow) -> _Sum | None:
    return _Sum(row.accepted, row.drafted) if row.accepted is not None and row.drafted else None


def _tok_s(row: RequestRow) -> _Sum | None:
    tokens = (row.generated or 0) - 1
    return _Sum(tokens, tokens / row.tok_s) if tokens > 0 and row.tok_s else None


def _step_ms(row: RequestRow) -> _Sum | None:
    speed, tau = _tok_s(row), row.tau
    return _Sum(1000 * speed.lower, speed.upper / tau) if speed is not None and tau else None


_READ: Final[dict[Figure, Callable[[RequestRow], _Sum | None]]] = {
    "tau": _tau,
    "acceptance": _acceptance,
    "tok_s": _tok_s,
    "step_ms": _step_ms,
}


def _figures(
    now: Target, before: Target, wanted: Collection[Figure], latest: int = 0
) -> tuple[tuple[Moved, ...], tuple[Figure, ...]]:
    """``latest``: so many requests of each run count; 0: all."""
    old, new = ([r for r in t.requests[-latest:] if r.ended_at is not None and r.whole] for t in (before, now))
    labels = {r.label for r in old if r.label} & {r.label for r in new if r.label}
    found: list[Moved] = []
    for figure in wanted:
        read = _READ[figure]
        for label in sorted(labels) or [None]:
            moved = _moved(figure, label or "", _of(old, label, read), _of(new, label, read))
            found += [moved] if moved is not None else []
    known = {moved.figure for moved in found}
    return tuple(found), tuple(figure for figure in wanted if figure not in known)


def _of(rows: Iterable[RequestRow], label: str | None, read: Callable[[RequestRow], _Sum | None]) -> list[_Sum]:
    sums = [read(row) for row in rows if label is None or row.label == label]
    return [s for s in sums if s is not None and s.lower > 0]


def _moved(figure: Figure, label: str, before: list[_Sum], now: list[_Sum]) -> Moved | None:
    if min(len(before), len(now)) < LEAST_REQUESTS:
        return None
    if figure == "acceptance" and min(sum(s.lower for s in sums) for sums in (before, now)) < LEAST_DRAFTED:
        return None
    (old, old_error), (new, new_error) = _ratio(before), _ratio(now)
    error = hypot(old_error, new_error)
    bound = _bound(len(before) + len(now) - 2) * error
    beyond = abs(new - old) > max(bound, LEAST_SHARE * abs(old))
    return Moved(figure, label, old, new, error, beyond)


def _bound(freedom: int) -> float:
    """:data:`SIGMAS`, widened for errors that are themselves estimated from few requests.

    Student's t by its expansion around the normal distribution (Abramowitz and Stegun 26.7.5, two terms): 6.0 instead
    of 6.6 with three requests on each side, 3.6 with eight.
    """
    z = SIGMAS
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def _ratio(sums: list[_Sum]) -> tuple[float, float]:
    """The ratio over all requests, and its standard error with requests as what repeats."""
    lower, many = sum(s.lower for s in sums), len(sums)
    ratio = sum(s.upper for s in sums) / lower
    away = [s.upper - ratio * s.lower for s in sums]
    off = sum(miss * miss for miss in away)
    return ratio, sqrt(off * many / (many - 1)) / lower
