"""A flag as a server's own build calls it, for advice that can be followed as it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.flags import RENAMED_FROM, name_before

if TYPE_CHECKING:
    from specscope.session.state import Target


def flag_of(target: Target, flag: str) -> str:
    """A flag by the name that this server takes.

    Args:
        target: the server.
        flag: its name in today's builds, with its dashes.
    """
    return name_before(flag) if takes_old_names(target) else flag


def takes_old_names(target: Target) -> bool:
    """Whether it is a build from before the drafting flags were renamed, or ik_llama.cpp, which has kept the old names.

    A server that runs with an old name takes it; else its number tells.
    """
    if target.props is not None and target.props.kind == "ik_llama.cpp":
        return True
    if target.flags is not None and any(name.startswith("-") for name in target.flags.removed):
        return target.server != "down"  # today's builds end at once when they meet one
    build = target.provenance.build
    return build is not None and build < RENAMED_FROM
