"""The snapshot's ``config`` and ``sampling``: settings with all claims to them, and how they drift."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from specscope.session.provenance.known import SAMPLING_NAMES

if TYPE_CHECKING:
    from specscope.flags import Value
    from specscope.session.provenance.against import Against, Difference
    from specscope.session.provenance.state import Recommendation, RequestDrift, RequestSet, Setting
    from specscope.session.state import Target

Json = dict[str, Any]


def config_json(target: Target) -> Json:
    """All settings worth telling of, strongest claim first, and how requests differ."""
    provenance = target.provenance
    asked = provenance.asked_by
    return {
        "build": provenance.build,
        "recommended_by": provenance.adviser or None,
        "latest_request": {"slot": asked[0], "task": asked[1]} if asked is not None else None,
        "settings": [_setting(s) for s in provenance.settings if not s.plain],
        "requests": _requests(provenance.requests),
    }


def sampling_json(target: Target) -> Json:
    """Parameters as the server shows them, where each comes from, and what deviates or varies."""
    settings = [s for s in target.provenance.settings if s.name in SAMPLING_NAMES and s.value is not None]
    return {
        "slots": [{"id": s.id, "params": s.params} for s in target.slots if s.params is not None],
        "defaults": target.props.defaults if target.props else None,
        "provenance": {s.name: s.origin for s in settings} or None,
        "drift": _drift(target) if settings else None,
    }


def against_json(found: Against) -> Json:
    """What is not as in the recorded run."""
    return {
        "identity": [_difference(d) for d in found.identity],
        "settings": [_difference(d) for d in found.settings],
        "flags": [_difference(d) for d in found.flags],
        "figures": [
            {
                "figure": m.figure,
                "label": m.label or None,
                "before": m.before,
                "now": m.now,
                "standard_error": m.error,
                "beyond_noise": m.beyond,
            }
            for m in found.figures
        ],
        "too_few_requests": list(found.too_few),
    }


def _difference(found: Difference) -> Json:
    return {"what": found.what, "before": _plain(found.before), "now": _plain(found.now)}


def _setting(setting: Setting) -> Json:
    return {
        "name": setting.name,
        "group": setting.group,
        "flag": setting.flag or None,
        "value": _plain(setting.value),
        "known_by": setting.known_by,
        "origin": setting.origin,
        "certain": setting.certain,
        "note": setting.note or None,
        "claims": [
            {"origin": c.origin, "name": c.name, "value": _plain(c.value), "won": c.won, "why": c.why or None}
            for c in setting.claims
        ],
        "recommended": _recommended(setting.recommended),
        "other_recommendations": [_recommended(other) for other in setting.others],
        "deviates": setting.deviates if setting.recommended is not None else None,
    }


def _plain(value: Value | None) -> bool | float | str | list[str] | list[float] | None:
    """A value as JSON has it."""
    return list(value) if isinstance(value, tuple) else value  # pyright: ignore[reportReturnType]  of one type


def _recommended(found: Recommendation | None) -> Json | None:
    if found is None:
        return None
    return {
        "by": found.by,
        "values": [_plain(v) for v in found.values],
        "modes": list(found.modes),
        "who": found.who,
        "source": found.source,
    }


def _requests(drift: RequestDrift) -> Json | None:
    """Null before a request with known parameters was seen."""
    if not drift.requests:
        return None
    return {
        "seen": drift.requests,
        "varying": list(drift.varying),
        "sets": [_set(s, drift) for s in drift.sets],
        "unlisted": drift.unlisted,
        "changes_count": drift.changed,
        "changes": [
            {
                "at": change.at,
                "slot": change.slot,
                "task": change.task,
                "settings": [{"name": n, "before": _plain(old), "now": _plain(new)} for n, old, new in change.settings],
            }
            for change in drift.changes
        ],
    }


def _set(found: RequestSet, drift: RequestDrift) -> Json:
    """One way of sampling; only what varies between the sets is named."""
    return {
        "requests": found.requests,
        "values": {name: _plain(value) for name, value in found.values if name in drift.varying},
        "first_at": found.first_at,
        "last_at": found.last_at,
        "kinds": dict(found.kinds),
        "tau": found.tau,
        "tok_s": found.tok_s,
        "acceptance": found.acceptance,
    }


def _drift(target: Target) -> list[Json]:
    """What is not as recommended, and what is not alike in all requests."""
    provenance = target.provenance
    found: list[Json] = [
        {
            "kind": "recommended",
            "name": s.name,
            "value": _plain(s.value),
            "recommended": [_plain(v) for v in s.recommended.values],
            "by": s.recommended.who,
            "source": s.recommended.source,
        }
        for s in provenance.deviating
        if s.recommended is not None
    ]
    for name in provenance.requests.varying:
        values = dict.fromkeys(dict(s.values).get(name) for s in provenance.requests.sets)
        found.append({"kind": "requests", "name": name, "values": [_plain(v) for v in values]})
    return found
