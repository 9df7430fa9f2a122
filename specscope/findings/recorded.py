"""The server of a recording that a case is compared with (``check --against``)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from specscope.findings.rule import Case
    from specscope.session.state import Session, Target


def recorded(case: Case) -> Target | None:
    """The recorded server that a case is compared with; None without one."""
    return None if case.against is None else recorded_of(case.target, case.against)


def recorded_of(target: Target, against: Session) -> Target | None:
    """The recorded server to compare with: the only one, else the one with this model; None without one.

    Of several with this model it is the one at this address; the first, where none is: they are then copies of one.
    """
    targets = against.targets
    if len(targets) == 1:
        return targets[0]
    name = _model(target)
    alike = [recorded for recorded in targets if name is not None and _model(recorded) == name]
    here = [recorded for recorded in alike if target.url is not None and recorded.url == target.url]
    return next(iter(here or alike), None)


def _model(target: Target) -> str | None:
    model, props = target.models.get("target"), target.props
    return model.name if model is not None and model.name else props.model_path if props is not None else None
