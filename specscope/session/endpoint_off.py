"""Whether an endpoint of a server is switched off, and what switches it on: one advice for whoever gives it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable

    from specscope.events import ProcessSeen, PropsRead
    from specscope.flags import ServerFlags
    from specscope.session.state import SourceView

Name: TypeAlias = Literal["metrics", "slots"]

NAMES: Final[tuple[Name, ...]] = ("metrics", "slots")

_SERVERS_ADVICE: Final = ". Start it with"
"""So the server's refusal goes on, with a flag that a server inside Python does not have
(``server-context.cpp``, get_metrics and get_slots)."""


def told_by_props(name: Name, props: PropsRead | None) -> bool | None:
    """Whether /props says that it is on; None: it does not say."""
    if props is None:
        return None
    return props.endpoint_metrics if name == "metrics" else props.endpoint_slots


def endpoint_off(name: Name, props: PropsRead | None, sources: Iterable[SourceView]) -> tuple[tuple[str, str], ...]:
    """What shows that it is off; empty where it is on, or not known to be off.

    /props says so since August 2025; older builds refuse the endpoint in words of their own (status 501). An endpoint
    that fails for any other reason (a key, a proxy, a router) is not switched off.
    """
    told = told_by_props(name, props)
    if told is not None:
        return () if told else (("/props", f'"endpoint_{name}": false'),)
    lost = next((s for s in sources if s.name == name and s.state == "lost"), None)
    refused = lost is not None and f"does not support {name} endpoint" in lost.detail
    return ((f"/{name}", lost.detail),) if lost is not None and refused else ()


def switch_on(name: Name, process: ProcessSeen | None, flags: ServerFlags | None) -> str:
    """What switches it on, by how this server was started: in one inside Python no flag, but a parameter."""
    if process is not None and process.host == "python":
        return f"set endpoint_{name} in the program's parameters (xllamacpp: CommonParams.endpoint_{name} = True)"
    if name == "slots" and flags is not None and flags.slots is False:
        return "drop --no-slots (LLAMA_ARG_ENDPOINT_SLOTS=0 in its environment does the same)"
    return f"start the server with --{name}, or with LLAMA_ARG_ENDPOINT_{name.upper()}=1 in its environment"


def with_advice(
    sources: Iterable[SourceView], props: PropsRead | None, process: ProcessSeen | None, flags: ServerFlags | None
) -> tuple[SourceView, ...]:
    """The sources; the hint of an endpoint that is off is what switches it on in this server.

    The source itself knows no process, and the server's refusal names the flag of llama-server whatever runs it.
    """
    known = tuple(sources)
    ways: dict[str, str] = {name: switch_on(name, process, flags) for name in NAMES if endpoint_off(name, props, known)}
    return tuple(_with_way(s, ways.get(s.name)) for s in known)


def _with_way(source: SourceView, way: str | None) -> SourceView:
    if way is None or source.state == "attached":
        return source
    return replace(source, detail=source.detail.split(_SERVERS_ADVICE)[0], hint=way)
