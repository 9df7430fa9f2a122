"""What an HTTP answer of a server means at first contact (llama.cpp, its router, proxies, and what is neither)."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from specscope.events import PropsRead
from specscope.sources.slots_json import keep_params

if TYPE_CHECKING:
    from collections.abc import Mapping

    from specscope.events import ServerState

TEXT_KEPT = 200
"""Characters of an unexpected answer that are shown."""


class Answer(NamedTuple):
    """An HTTP answer. ``status`` 0 means that none came; ``text`` then says why."""

    status: int
    body: bytes = b""
    text: str = ""
    headers: Mapping[str, str] = MappingProxyType({})


class Verdict(NamedTuple):
    """What an answer says of the server."""

    state: ServerState
    detail: str = ""


def shorten(body: bytes) -> str:
    """The start of a body on one line, safe to show."""
    text = body[: 4 * TEXT_KEPT].decode("utf-8", "replace")
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:TEXT_KEPT]


def error_message(body: bytes) -> str:
    """The message of a JSON error body, else the start of the text."""
    try:
        parsed: Any = msgspec.json.decode(body)
        message = parsed["error"]["message"]
        return str(message)[:TEXT_KEPT]
    except (msgspec.DecodeError, KeyError, TypeError, IndexError):
        return shorten(body)


def judge_health(answer: Answer) -> Verdict:
    """GET /health: 200 JSON is ready, 503 is loading (older builds: no slot available), 200 text OK is llama-swap."""
    match answer.status:
        case 0:
            return Verdict("down", answer.text)
        case 200 if answer.body.strip() == b"OK":
            return Verdict(
                "not_llama", "this answers like llama-swap: watch the llama-server behind it (see its /running)"
            )
        case 200 if answer.body.lstrip()[:1] == b"{":
            return Verdict("ready")
        case 503 if b"no slot available" in answer.body:
            return Verdict("ready")
        case 503:
            return Verdict("loading", error_message(answer.body))
        case 401 | 403:
            return Verdict("needs_key", error_message(answer.body))
        case 404:
            return Verdict(
                "not_llama", "no /health: not llama-server (llama-cpp-python, ollama and LM Studio have none)"
            )
        case _:
            return Verdict("error", f"/health answered {answer.status}: {shorten(answer.body)}")


def judge_props(answer: Answer, *, at: float, target: str) -> tuple[Verdict, PropsRead | None]:
    """GET /props: the server's build, model and sampling defaults, or why there are none."""
    if answer.status in (401, 403):
        return Verdict("needs_key", error_message(answer.body)), None
    if answer.status == 503:  # noqa: PLR2004  HTTP's own number
        return Verdict("loading", error_message(answer.body)), None
    if answer.status != 200:  # noqa: PLR2004  HTTP's own number
        reason = answer.text or f"/props answered {answer.status}: {error_message(answer.body)}"
        return Verdict("ready", reason), None
    try:
        props: Any = msgspec.json.decode(answer.body)
    except msgspec.DecodeError:
        return Verdict("ready", f"/props is not JSON: {shorten(answer.body)}"), None
    if not isinstance(props, dict):
        return Verdict("ready", "/props is not an object"), None
    if props.get("role") == "router":  # pyright: ignore[reportUnknownMemberType]  free JSON
        detail = (
            "a router: it decodes nothing itself; watch the llama-server of a model (specscope finds it by its process)"
        )
        return Verdict("router", detail), None
    return Verdict("sleeping" if props.get("is_sleeping") else "ready"), _props(props, at, target)  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]


def _props(props: dict[str, Any], at: float, target: str) -> PropsRead:
    found: Any = props.get("default_generation_settings")
    settings: dict[str, Any] = found if isinstance(found, dict) else {}
    modalities = props.get("modalities")
    vision: Any = modalities.get("vision") if isinstance(modalities, dict) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    build = _typed(props.get("build_info"), str)
    is_ik = build is None and "system_prompt" in props
    return PropsRead(
        at=at,
        target=target,
        build=build,
        kind="ik_llama.cpp" if is_ik else "llama.cpp",
        model_path=_typed(props.get("model_path"), str),
        model_alias=_typed(props.get("model_alias", props.get("model_name")), str),
        n_ctx=_typed(settings.get("n_ctx", props.get("n_ctx")), int),  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
        total_slots=_typed(props.get("total_slots"), int),
        defaults=keep_params(settings) or {},  # pyright: ignore[reportUnknownArgumentType]
        endpoint_slots=_typed(props.get("endpoint_slots"), bool),
        endpoint_metrics=_typed(props.get("endpoint_metrics"), bool),
        sleeping=_typed(props.get("is_sleeping"), bool),
        vision=_typed(vision, bool),
    )


def _typed(value: Any, kind: type[Any]) -> Any:  # noqa: ANN401  free JSON in, checked value out
    """The value if it is of this kind, else None."""
    return value if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)) else None
