"""What a request was asked for, as far as its parameters on /slots show it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from specscope.events import Json

RAW_FORMAT: Final = "Content-only"
"""``chat_format`` of a request to /completion; those to the chat endpoints have a chat's (tools/server, b10434 on)."""

AskedKind: TypeAlias = Literal["completion", "chat", "tools"]
"""Raw text to go on with; a chat; a chat with tools to call. A chat may have tools as well: only builds of 2025, and
newer ones under LLAMA_SERVER_SLOTS_DEBUG, show that (as a lazy grammar)."""


class Asked(NamedTuple):
    """What a request may do. None: not seen.

    Attributes:
        limit: tokens that it may generate at most; -1: no limit.
        forced: it may not end by itself before that (``ignore_eos``).
    """

    limit: int | None = None
    forced: bool | None = None
    kind: AskedKind | None = None


UNSEEN: Final = Asked()


def asked_of(params: Mapping[str, Json]) -> Asked:
    """What a request with these parameters was asked for."""
    limit, forced = params.get("n_predict", params.get("max_tokens")), params.get("ignore_eos")
    return Asked(limit if isinstance(limit, int) else None, forced if isinstance(forced, bool) else None, _kind(params))


def _kind(params: Mapping[str, Json]) -> AskedKind | None:
    if params.get("grammar_lazy") is True:
        return "tools"
    form = params.get("chat_format")
    return None if not isinstance(form, str) else "completion" if form == RAW_FORMAT else "chat"
