"""What an HTTP answer of a server means at first contact (llama.cpp, its router, proxies, and what is neither)."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlsplit

import msgspec

from specscope.events import PropsRead
from specscope.sources.slots_json import LARGEST, keep_params

if TYPE_CHECKING:
    from collections.abc import Mapping

    from specscope.events import ServerState

TEXT_KEPT: Final = 200
"""Characters of an unexpected answer that are shown."""

NO_HEALTH: Final = "no /health: not llama-server (llama-cpp-python, ollama and LM Studio have none)"
UNDER_PREFIX: Final = "a llama-server that knows no /health here: does the address lack its --api-prefix?"
ROUTER: Final = "a router: it decodes nothing itself; watch the llama-server of a model"
SWAP: Final = "this answers like llama-swap: watch the llama-server behind it"
ASLEEP: Final = "it sleeps until a request comes; looking at /slots would wake it"


class Answer(NamedTuple):
    """An HTTP answer. ``status`` 0 means that none came; ``text`` then says why, ``late`` that it took too long."""

    status: int
    body: bytes = b""
    text: str = ""
    headers: Mapping[str, str] = MappingProxyType({})
    late: bool = False


class Verdict(NamedTuple):
    """What an answer says of the server."""

    state: ServerState
    detail: str = ""


def shorten(body: bytes) -> str:
    """The start of a body on one line, safe to show."""
    text = body[: 4 * TEXT_KEPT].decode("utf-8", "replace")
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:TEXT_KEPT]


def read_json(body: bytes) -> Any:  # noqa: ANN401  free JSON
    """A JSON body, or None when it is none."""
    try:
        return msgspec.json.decode(body)
    except (ValueError, RecursionError):
        return None


def error_message(body: bytes) -> str:
    """The message of a JSON error body, else the start of the text."""
    parsed = read_json(body)
    try:
        return shorten(str(parsed["error"]["message"]).encode("utf-8", "replace"))
    except (KeyError, TypeError, IndexError):
        return shorten(body)


def judge_health(answer: Answer) -> Verdict:
    """GET /health: 200 JSON is ready, 503 is loading (older builds: no slot available), 200 text OK is llama-swap."""
    match answer.status:
        case 0:
            return Verdict("down", answer.text)
        case 200:
            return _judge_well(answer.body)
        case 503 if b"no slot available" in answer.body:
            return Verdict("ready")
        case 503 if answer.body.lstrip()[:1] == b"{":
            return Verdict("loading", error_message(answer.body))
        case 401 | 403:
            return Verdict("needs_key", error_message(answer.body) or f"/health answered {answer.status}")
        case 404:
            return Verdict("not_llama", UNDER_PREFIX if b"not_found_error" in answer.body else NO_HEALTH)
        case status if 300 <= status < 400:  # noqa: PLR2004  HTTP's own numbers
            return Verdict("error", f"/health answered {status}{_elsewhere(answer)}: give the address it leads to")
        case status:
            return Verdict("error", f"/health answered {status}: {shorten(answer.body)}")


def _judge_well(body: bytes) -> Verdict:
    """GET /health with status 200."""
    if body.lstrip()[:1] == b"{":
        return Verdict("ready")
    if body.strip() == b"OK":
        return Verdict("not_llama", SWAP)
    said = shorten(body) or "an empty body"
    return Verdict("not_llama", f"/health answers, but not as llama-server does: {said}")


def _elsewhere(answer: Answer) -> str:
    """Where a redirect leads: host and path only, because a query may hold a token."""
    try:
        parts = urlsplit(answer.headers.get("location", ""))
        place = f"{parts.hostname or ''}{parts.path}"
    except ValueError:
        place = ""
    return f" (to {shorten(place.encode())})" if place else ""


def judge_props(answer: Answer, *, at: float, target: str) -> tuple[Verdict, PropsRead | None]:
    """GET /props: the server's build, model and sampling defaults, or why there are none."""
    match answer.status:
        case 401 | 403:
            return Verdict("needs_key", error_message(answer.body) or f"/props answered {answer.status}"), None
        case 503:
            return Verdict("loading", error_message(answer.body)), None
        case 200:
            pass
        case 0:
            return Verdict("ready", answer.text), None
        case status:
            return Verdict("ready", f"/props answered {status}: {error_message(answer.body)}"), None
    props = read_json(answer.body)
    if not isinstance(props, dict):
        return Verdict("ready", f"/props is no JSON object: {shorten(answer.body)}"), None
    if props.get("role") == "router":  # pyright: ignore[reportUnknownMemberType]  free JSON
        return Verdict("router", ROUTER), None
    asleep = props.get("is_sleeping") is True  # pyright: ignore[reportUnknownMemberType]  free JSON
    verdict = Verdict("sleeping", ASLEEP) if asleep else Verdict("ready")
    return verdict, _props(props, at, target)  # pyright: ignore[reportUnknownArgumentType]  free JSON


def _props(props: dict[str, Any], at: float, target: str) -> PropsRead:
    found: Any = props.get("default_generation_settings")
    settings: dict[str, Any] = found if isinstance(found, dict) else {}  # pyright: ignore[reportUnknownVariableType]
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
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        return None
    return None if kind is int and abs(value) > LARGEST else value
