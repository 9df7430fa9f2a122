"""Sampling parameters that nobody set have the server's default, and the model's recommendation is another value.

Looks at: the effective sampling parameters of /slots (the last request's) or /props, where each comes from, and what
your profile, the GGUF's ``general.sampling.*`` or the model's card in the catalogue recommends. min_p has a rule of
its own.

Why it matters: llama-server's defaults (temperature 0.8, top_k 40, top_p 0.95) are no model's own. Quality, and with
it which drafts are accepted, are then not those that the model's makers describe. ik_llama.cpp does not read
``general.sampling.*`` at all.

What to do: send the recommended values with each request, or give them to the server once as flags.

Evidence: for each parameter the value in force, which comes from the server's own defaults, and who recommends what.
A value that a flag, a variable, the model file or the request set is taken as meant. Parameters without effect are left
out: those whose sampler is not among ``--samplers``, all but the temperature with mirostat, and at temperature 0 those
that only cut off unlikely tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.findings.rule import Rule
from specscope.findings.sampler_chain import has_effect
from specscope.findings.unjudged import no_advice, wait
from specscope.session.provenance.values import written

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen
    from specscope.session.provenance.state import Recommendation, Setting

OWN_RULE = "min_p"
"""Told by SPC201."""


def look(case: Case) -> Seen:
    """Judge one server."""
    settings = [s for s in case.target.provenance.settings if s.group == "sampling" and s.name != OWN_RULE]
    advised = [(s, s.recommended) for s in settings if s.recommended is not None]
    if not advised:
        return no_advice(case.target)
    if all(setting.value is None for setting, _ in advised):
        return wait(case.target, "/props or a request on /slots")
    at_default = [(s, told) for s, told in advised if s.deviates and s.origin == "server default"]
    hidden = [(setting, told) for setting, told in at_default if has_effect(case.target, setting.name)]
    if not hidden:
        return ()
    return (
        RULE.found(
            case,
            _summary(hidden),
            tuple((setting.name, _seen(setting, told)) for setting, told in hidden),
            _advice(hidden),
        ),
    )


def _summary(hidden: list[tuple[Setting, Recommendation]]) -> str:
    first, told = hidden[0]
    if len(hidden) == 1:
        return f"{first.name} {written(first.value)} is in force by default; {_words(told)} is recommended"
    names = [setting.name for setting, _ in hidden]
    return f"{', '.join(names[:-1])} and {names[-1]} are at the server's defaults, not as recommended"


def _seen(setting: Setting, told: Recommendation) -> str:
    origin = "server default" if setting.certain else "server default, or a command line out of sight"
    return f"{written(setting.value)} ({origin}); recommended: {_words(told)} ({told.who}, {told.source})"


def _words(told: Recommendation) -> str:
    if not told.modes:
        return written(told.values[0])
    pairs = zip(told.values, told.modes, strict=True)
    return " or ".join(f"{written(value)} ({mode})" for value, mode in pairs)


def _advice(hidden: list[tuple[Setting, Recommendation]]) -> str:
    fields = ", ".join(f'"{setting.name}": {_words(told)}' for setting, told in hidden)
    flags = " ".join(f"{setting.flag} {_words(told)}" for setting, told in hidden if setting.flag)
    return f"send {fields} with the requests" + (f", or start the server with {flags}" if flags else "")


RULE = Rule("SPC202", "hidden_sampler_default", "warning", look)
