"""Settings and their drift as plain text: part of the summary, and the comparison with a recorded run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.session.provenance.against import LEAST_DRAFTED, LEAST_REQUESTS
from specscope.session.provenance.values import any_of, written

if TYPE_CHECKING:
    from specscope.session.provenance.against import Against, Difference, Figure, Moved
    from specscope.session.provenance.state import Origin, RequestDrift, Setting
    from specscope.session.state import Target

FIGURES: Final[dict[Figure, str]] = {
    "tau": "tau",
    "acceptance": "acceptance",
    "tok_s": "tok/s",
    "step_ms": "ms per step",
}

QUIET: Final = frozenset({"seed", "n_predict", "slot_ctx"})
"""Each request's own affair, or told by another setting: not in a summary."""

HIDDEN: Final[dict[Origin, str]] = {
    "request": "the latest request",
    "environment": "the environment",
    "preset": "the router's preset",
    "GGUF": "the model file",
}
"""Where values come from that nobody sees on the command line."""


def config_lines(target: Target) -> list[str]:
    """What was set out of sight, what deviates from a recommendation, how requests differ; nothing where nothing is."""
    provenance = target.provenance
    by_origin: dict[Origin, list[str]] = {}
    for setting in provenance.settings:
        if setting.origin in HIDDEN and setting.name not in QUIET:
            by_origin.setdefault(setting.origin, []).append(f"{setting.name} {written(setting.value)}")
    lines = [f"  set by {HIDDEN[origin]}: {', '.join(told)}" for origin, told in by_origin.items()]
    lines += _deviating(provenance.deviating)
    return lines + _varying(provenance.requests)


def _deviating(settings: tuple[Setting, ...]) -> list[str]:
    by_adviser: dict[str, list[str]] = {}
    for setting in settings:
        if setting.recommended is not None:
            wanted = any_of(setting.recommended.values)
            told = f"{setting.name} {written(setting.value)} instead of {wanted} ({setting.origin})"
            by_adviser.setdefault(setting.recommended.who, []).append(told)
    return [f"  not as recommended by {who}: {', '.join(told)}" for who, told in by_adviser.items()]


def _varying(drift: RequestDrift) -> list[str]:
    if not drift.varying:
        return []
    names = ", ".join(
        f"{name} {' / '.join(dict.fromkeys(written(dict(s.values).get(name)) for s in drift.sets))}"
        for name in drift.varying
    )
    changes = f"{drift.changed} change{'s' if drift.changed != 1 else ''}"
    return [f"  {drift.requests} requests sampled in {len(drift.sets)} ways ({changes}): {names}"]


def against_lines(found: Against) -> list[str]:
    """What could be compared with the recorded run and what could not, then what is not as in it, a line each."""
    differences = [_difference(d) for d in (*found.identity, *found.settings, *found.flags)]
    alike = [] if differences else ["configuration: nothing differs of what both runs show"]
    return [*_compared(found), *alike, *differences, *(_moved(m) for m in found.figures if m.beyond)]


def _compared(found: Against) -> list[str]:
    """How much of the speed was compared: without requests in both runs, nothing of it is known to be the same."""
    lacking = ", ".join(FIGURES[figure] for figure in found.too_few)
    why = (
        f"too few whole requests ({LEAST_REQUESTS} in both runs, for acceptance {LEAST_DRAFTED} drafted tokens as well)"
    )
    if not found.figures:
        return [f"NO FIGURE WAS COMPARED, {why}: {lacking}"]
    known = ", ".join(dict.fromkeys(FIGURES[m.figure] for m in found.figures))
    same = "" if any(m.beyond for m in found.figures) else ": no change beyond noise"
    return [f"compared: {known}{same}", *([f"not compared, {why}: {lacking}"] if lacking else [])]


def _difference(found: Difference) -> str:
    return f"{found.what}: {written(found.before)} then, {written(found.now)} now"


def _moved(found: Moved) -> str:
    what = f"{FIGURES[found.figure]} of {found.label}" if found.label else FIGURES[found.figure]
    change = f"{found.change:+.1%}, ±{_figure(found.error, 2)}"
    return f"{what}: {_figure(found.before)} then, {_figure(found.now)} now ({change})"


def _figure(value: float, digits: int = 3) -> str:
    """So many digits, and no power of ten where there are more before the point."""
    return f"{value:,.0f}" if abs(value) >= 10**digits - 0.5 else f"{value:.{digits}g}"
