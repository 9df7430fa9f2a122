"""Which llama-servers stand behind a router or a proxy: asked where asking loads, wakes and evicts nothing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from specscope.sources.answers import ROUTER, SWAP, read_json, shorten

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from specscope.sources.answers import Answer

MAX_NAMED: Final = 8
"""Models named in one sentence."""

_PORT: Final = re.compile(r"--port[ =](\d+)")
_OK: Final = 200


def router_children(answer: Answer) -> list[str]:
    """GET /v1/models of a router: the loaded models, each with the address of its own llama-server."""
    models = _list(answer, "data")
    found: list[str] = []
    for model in models:
        status: Any = model.get("status")
        if not isinstance(status, dict) or status.get("value") != "loaded":  # pyright: ignore[reportUnknownMemberType]  free JSON
            continue
        args: Any = status.get("args")  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  free JSON
        words = [str(word) for word in args] if isinstance(args, list) else []  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]  free JSON
        found.append(_named(model.get("id"), " ".join(words), None))
    return found[:MAX_NAMED]


def swap_children(answer: Answer) -> list[str]:
    """GET /running of llama-swap: the models that run, each with the address of its server."""
    ready = [model for model in _list(answer, "running") if model.get("state") == "ready"]
    return [_named(m.get("model"), str(m.get("cmd", "")), m.get("proxy")) for m in ready[:MAX_NAMED]]


def with_children(detail: str, children: list[str]) -> str:
    """A sentence that ends in what was found."""
    return f"{detail} ({'; '.join(children)})" if children else detail


async def named_children(detail: str, get: Callable[[str], Awaitable[Answer]]) -> str:
    """What is there, with the servers behind it named where it is a router or a proxy."""
    if detail == ROUTER:
        return with_children(detail, router_children(await get("/v1/models")))
    if detail == SWAP:
        return with_children(detail, swap_children(await get("/running")))
    return detail


def _list(answer: Answer, key: str) -> list[dict[str, Any]]:
    body: Any = read_json(answer.body) if answer.status == _OK else None
    rows: Any = body.get(key) if isinstance(body, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]  free JSON
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []  # pyright: ignore[reportUnknownVariableType]  free JSON


def _named(model: object, command: str, proxy: object) -> str:
    """``NAME at ADDRESS``. Nothing else of a command line is shown: a key may stand in it."""
    name = shorten(str(model).encode("utf-8", "replace"))
    if isinstance(proxy, str) and proxy.startswith("http") and "@" not in proxy:
        return f"{name} at {shorten(proxy.encode('utf-8', 'replace'))}"
    port = _PORT.search(command)
    return f"{name} at http://127.0.0.1:{port[1]}" if port and port[1] != "0" else name
