"""min_p is in force although nobody set it and the model's recommendation is another value.

Looks at: the effective ``min_p`` of /slots (the last request's) or /props (the server's default), the command
line and environment, your profile, the GGUF's ``general.sampling.min_p``, and the model's card in the catalogue.

Why it matters: llama-server's own default is min_p 0.05. Model cards recommend temperature, top_p and top_k and
take min_p as 0; the hidden 0.05 changes the target's distribution and with it which drafts are accepted. One
published case went from 78.3 to 84.6 tok/s (+8.1 %), acceptance 36.2 -> 38.7 %, by setting it to 0.

What to do: send ``"min_p": 0`` with each request, or start the server with ``--min-p 0`` (the recommended value).

Evidence: the effective value, where it comes from, and who recommends what. Nothing is said where it has no effect:
where min_p is not among the ``--samplers``, with mirostat, and at temperature 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.rule import Rule
from specscope.findings.sampler_chain import has_effect
from specscope.findings.unjudged import no_advice, wait

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen
    from specscope.session.state import Target

TOLERANCE: Final = 1e-6
"""The server widens float32 to double: 0.05 is printed as 0.05000000074505806."""

SERVER_DEFAULT: Final = 0.05
"""llama-server's own min_p (common/common.h), taken where /props was not read: any other value was set by somebody."""


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    recommended = _recommended(case)
    if recommended is None:
        return no_advice(target)
    wanted, by = recommended
    effective = target.config.sampling.get("min_p")
    if not isinstance(effective, (int, float)):
        return wait(target, "/props or a request on /slots")
    if abs(effective - wanted) <= TOLERANCE or not has_effect(target, "min_p"):
        return ()
    origin = _origin(target, effective)
    if origin is None:
        return ()
    return (
        RULE.found(
            case,
            f"min_p {effective:.3g} is in force by default; {by} says {wanted:g}",
            (
                ("effective min_p", f"{effective:.4g} ({_seen_in(target)})"),
                ("comes from", origin),
                ("recommended", f"{wanted:g} ({by})"),
            ),
            f'send "min_p": {wanted:g} with the requests, or start the server with --min-p {wanted:g}',
        ),
    )


def _recommended(case: Case) -> tuple[float, str] | None:
    """The recommended value and who recommends it: the user's profile, else the model file, else the model's card."""
    setting = case.target.provenance.setting("min_p")
    told = setting.recommended if setting is not None else None
    if told is None or not isinstance(told.values[0], (int, float)):
        return None
    says = {"profile": told.source, "GGUF": f"the GGUF's {told.source}", "model card": f"{told.who}, {told.source}"}
    return float(told.values[0]), says[told.by]


def _origin(target: Target, effective: float) -> str | None:
    """Where an unset min_p comes from; None when somebody set it on purpose."""
    setting = target.provenance.setting("min_p")
    if target.flags is not None and "min_p" in target.flags.sampling:
        return None
    if setting is not None and setting.origin not in ("server default", "request"):
        return None  # the model file's, or that of a command line out of sight
    told = target.props.defaults.get("min_p") if target.props is not None else None
    default = told if isinstance(told, (int, float)) else SERVER_DEFAULT
    if abs(default - effective) > TOLERANCE:
        return None
    if target.flags is None:
        return "server default (or its command line, which is not visible from here)"
    return "server default"


def _seen_in(target: Target) -> str:
    return "the last request, /slots" if target.config.sampling_from == "request" else "/props"


RULE = Rule("SPC201", "hidden_min_p", "warning", look)
