"""The preset file of a router, as far as it names drafting methods for one of its servers.

The router writes what comes of it on its child's command line, where it no longer shows that a line of the file was
replaced by another. The file's grammar is that of common/preset.cpp (b11434): a key that is written again replaces its
value, a section that begins again replaces the whole, ``[*]`` counts for every model whose section does not name the
option, and the router's own command line goes before the file. All of it seen on b10434.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from specscope.events.host import EVERY_MODEL, ROUTER
from specscope.flags import parse_flags
from specscope.sources.procfs import argv_of, environ_of, inside, parent_of, seen_from_here

if TYPE_CHECKING:
    from collections.abc import Mapping

    from specscope.flags import ServerFlags

OF_ROUTER: Final = "LLAMA_SERVER_ROUTER_PORT"
"""A router sets it for the servers that it starts (tools/server/server-models.cpp)."""

_KEYS: Final = ("LLAMA_ARG_SPEC_TYPE", "spec-type")
"""One option under two names; the second is taken where both are given."""

_MOST_PARENTS: Final = 4
"""Wrapper scripts may stand between a router and its child."""

_MOST_BYTES: Final = 1 << 20
_HEADER = re.compile(r"\s*\[\s*([^\]]+?)\s*\]\s*(?:[;#].*)?$")
_LINE = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*=\s*(.*?)\s*(?:[;#].*)?$")


def preset_types(pid: int, flags: ServerFlags, env: Mapping[str, str] | None) -> list[tuple[str, str]]:
    """Each time that methods are named for a router's child, as (where, value), the later before the earlier ones.

    Args:
        pid: the child.
        flags: what it was told.
        env: its environment.
    """
    if env is None or OF_ROUTER not in env or not flags.alias:
        return []
    parent = parent_of(pid)
    for _ in range(_MOST_PARENTS):
        if parent is None:
            break
        router = parse_flags(argv_of(parent), environ_of(parent) or {})
        if router.models_preset:
            own = [(ROUTER, ",".join(router.spec_types))] if router.spec_types else []
            return [*types_in(_text(parent, router.models_preset), flags.alias), *own]
        parent = parent_of(parent)
    return []


def types_in(text: str, model: str) -> list[tuple[str, str]]:
    """The same of a preset file's text: (section in brackets, value)."""
    sections: dict[str, list[tuple[str, str]]] = {}
    section: list[tuple[str, str]] = []
    for line in text.splitlines():
        if header := _HEADER.match(line):
            section = sections[header[1]] = []
        elif (found := _LINE.match(line)) and found[1] in _KEYS:
            section.append((found[1], found[2]))
    told = [(EVERY_MODEL, sections.get("*", [])), (f"[{model}]", sections.get(model, []))]
    return [(where, value) for where, lines in told for _, value in sorted(lines, key=_place)]


def _place(line: tuple[str, str]) -> int:
    return _KEYS.index(line[0])


def _text(pid: int, path: str) -> str:
    root, absolute = seen_from_here(pid, path)
    try:
        with inside(root, absolute).open("rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
