"""Whether an endpoint of a server is switched off, and what switches it on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from specscope.session.state import Target


def endpoint_off(target: Target, name: Literal["metrics", "slots"]) -> tuple[tuple[str, str], ...]:
    """What shows that it is off; empty where it is on, or not known to be off.

    /props says so since August 2025; older builds refuse the endpoint in words of their own (status 501). An endpoint
    that fails for any other reason (a key, a proxy, a router) is not switched off.
    """
    props = target.props
    told = (props.endpoint_metrics if name == "metrics" else props.endpoint_slots) if props is not None else None
    if told is not None:
        return () if told else (("/props", f'"endpoint_{name}": false'),)
    lost = next((s for s in target.sources if s.name == name and s.state == "lost"), None)
    refused = lost is not None and f"does not support {name} endpoint" in lost.detail
    return ((f"/{name}", lost.detail),) if lost is not None and refused else ()


def switch_on(target: Target, name: Literal["metrics", "slots"]) -> str:
    """What switches it on: in a server that another program starts, a variable that is handed on to it."""
    if target.process is not None and target.process.host == "python":
        return f"set endpoint_{name} in the program's parameters (xllamacpp: CommonParams.endpoint_{name} = True)"
    if name == "slots" and target.flags is not None and target.flags.slots is False:
        return "drop --no-slots (LLAMA_ARG_ENDPOINT_SLOTS=0 in its environment does the same)"
    return f"start the server with --{name}, or with LLAMA_ARG_ENDPOINT_{name.upper()}=1 in its environment"
