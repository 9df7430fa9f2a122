"""Who won: the claim whose value is in force, and why the others lost."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, NamedTuple

from specscope.session.provenance.builds import reads_variable
from specscope.session.provenance.values import same

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from specscope.flags import Value
    from specscope.session.provenance.seen import Seen
    from specscope.session.provenance.state import Claim, Origin

IN_PYTHON: Final = "a server inside Python reads no LLAMA_ARG_* variable"
IK_READS_NONE: Final = "ik_llama.cpp does not apply general.sampling.*"
NONE_REMOVES_NOTHING: Final = "none takes nothing away: environment and command line add up"
_LOST_TO: Final[dict[Origin, str]] = {
    "request": "the request set its own",
    "command line": "the command line goes before it",
    "preset": "the router's preset, on the command line, goes before it",
    "environment": "the environment goes before it",
    "GGUF": "the model file goes before it",
    "server default": "",
    "unknown": "",
}


class Verdict(NamedTuple):
    """The claims with who won, and the strongest winner (None: no claim has the value in force)."""

    claims: tuple[Claim, ...]
    winner: Claim | None


def judge(claims: Sequence[Claim], value: Value | None, seen: Seen, *, exact: bool) -> Verdict:
    """Find the claim that won.

    Args:
        claims: strongest first.
        value: what the server shows; None: nothing, then the strongest claim that the server reads wins.
        seen: what the claims are from.
        exact: the server takes values as they are. Else it may make another of the winning one (a width is clamped,
            a context padded, -1 stands for a choice of its own).
    """
    unread = [_unread(claim, seen) for claim in claims]
    read = [i for i, why in enumerate(unread) if not why]
    equal = [i for i, claim in enumerate(claims) if same(claim.value, value)]
    # A claim that this build is not known to read wins only where no other says the same.
    found = [i for i in equal if i in read] or equal
    if not found and (value is None or not exact):
        found = read
    if not found:
        return Verdict(_lost(claims, unread, value), None)
    return _verdict(claims, unread, {found[0]}, value)


def add_up(claims: Sequence[Claim], value: Value | None, seen: Seen) -> Verdict:
    """Drafting methods: environment and every flag add up, and ``none`` takes none away (common/arg.cpp).

    Each claim that names a method in force wins; of a server without one, the strongest that names none.
    """
    unread = [_unread(claim, seen) for claim in claims]
    named = [methods(claim.value) for claim in claims]
    expected = {method for i, names in enumerate(named) if not unread[i] for method in names}
    in_force = expected if value is None else methods(value)
    winners = {i for i, names in enumerate(named) if names & in_force}
    if not winners and not in_force:
        winners = set([i for i, names in enumerate(named) if not names][:1])
    if not winners:
        return Verdict(_lost(claims, unread, value), None)
    verdict = _verdict(claims, unread, winners, value)
    told = [
        replace(c, why=NONE_REMOVES_NOTHING)
        if in_force and not named[i] and c.origin != "server default" and not c.won
        else c
        for i, c in enumerate(verdict.claims)
    ]
    return Verdict(tuple(told), verdict.winner)


def methods(value: Value | None) -> set[str]:
    """The drafting methods of a list, ``none`` left out."""
    return {str(word) for word in value if word != "none"} if isinstance(value, tuple) else set()


def _lost(claims: Sequence[Claim], unread: Sequence[str], value: Value | None) -> tuple[Claim, ...]:
    """The claims where none of them has the value in force."""
    return tuple(
        replace(claim, why=why or _not_taken(value), unread=bool(why))
        for claim, why in zip(claims, unread, strict=True)
    )


def _verdict(claims: Sequence[Claim], unread: Sequence[str], winners: Collection[int], value: Value | None) -> Verdict:
    first = min(winners)
    told: list[Claim] = []
    for i, claim in enumerate(claims):
        if i in winners:
            told.append(replace(claim, won=True))
        elif unread[i]:
            told.append(replace(claim, why=unread[i], unread=True))
        elif i < first:
            told.append(replace(claim, why=_not_taken(value)))
        elif claim.origin == claims[first].origin:
            told.append(replace(claim, why=f"{claims[first].name} comes later"))
        else:
            told.append(replace(claim, why=_LOST_TO[claims[first].origin]))
    return Verdict(tuple(told), told[first])


def _not_taken(value: Value | None) -> str:
    return "" if value is None else "not taken: the server shows another value"


def _unread(claim: Claim, seen: Seen) -> str:
    """Why this server does not look at a claim; empty where it does, or may."""
    if claim.origin == "environment":
        if seen.inside_python:
            return IN_PYTHON
        if reads_variable(seen.build, claim.name) is False:
            return f"build b{seen.build} does not read {claim.name}"
    if claim.origin == "GGUF" and seen.is_ik:
        return IK_READS_NONE
    return ""
