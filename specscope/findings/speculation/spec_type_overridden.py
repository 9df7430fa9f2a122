"""A preset names several drafting methods on lines of their own, and only the last one counts.

Looks at: the ``spec-type`` lines for this model in the preset file of the router that started the server, the router's
own command line, and the methods that the server was given.

Why it matters: on a command line each ``--spec-type`` adds to those before it. In a preset file a key that is written
again replaces its value, without a word, and ``--spec-type`` on the router's own command line replaces that of every
model. The other methods were meant to draft and are not even loaded.

What to do: write them on one line, ``spec-type = ngram-mod,draft-dflash``, and give the router itself none.

Evidence: the lines of the file and the methods on the server's command line (llama.cpp issue 24507; so seen on
b10434).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.events.host import EVERY_MODEL, ROUTER
from specscope.findings.rule import Inapplicable, Rule
from specscope.findings.unjudged import COMMAND_LINE, wait

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen

LINK = "https://github.com/ggml-org/llama.cpp/issues/24507"


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    if target.process is None or target.flags is None:
        return wait(target, COMMAND_LINE)
    if not target.process.preset_spec_types:
        return Inapplicable("no preset of a router names its drafting methods")
    told = [row for row in target.process.preset_spec_types if row[0] != EVERY_MODEL]
    if len(told) < 2:  # noqa: PLR2004  one is not replaced
        return ()
    named = dict.fromkeys(name for _, value in told for name in _methods(value))
    lost = [name for name in named if name not in target.flags.spec_types]
    if not lost:
        return ()
    by_router = told[-1][0] == ROUTER
    methods = ",".join(named)
    return (
        RULE.found(
            case,
            f"{', '.join(lost)} named in the preset and not in force: only the last spec-type counts",
            (
                *((f"{where} spec-type", value) for where, value in told),
                ("in force", ", ".join(target.flags.spec_types) or "none"),
            ),
            f"write spec-type = {methods} on one line of the preset"
            + (", and take --spec-type off the router's own command line" if by_router else ""),
            settled=True,
            link=LINK,
        ),
    )


def _methods(value: str) -> list[str]:
    names = [name.strip() for name in value.split(",")]
    return [name for name in names if name and name != "none"]


RULE = Rule("SPC106", "spec_type_overridden", "warning", look)
