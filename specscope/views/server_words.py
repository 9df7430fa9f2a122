"""A server's state in words that cannot be misread."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.views.figures import clock, span

if TYPE_CHECKING:
    from rich.style import Style

    from specscope.events import ServerState
    from specscope.session.state import Target
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink

WORDS: Final[dict[ServerState, str]] = {
    "unknown": "NOT SEEN YET",
    "loading": "LOADING",
    "ready": "READY",
    "sleeping": "SLEEPING",
    "hung": "HUNG",
    "down": "DOWN",
    "needs_key": "NEEDS KEY",
    "router": "ROUTER",
    "not_llama": "NOT LLAMA-SERVER",
    "error": "ERROR",
}

_MEANS: Final[dict[ServerState, str]] = {
    "unknown": "no answer yet",
    "loading": "the server is loading its model",
    "ready": "",
    "sleeping": "the model is unloaded until a request comes; watching never wakes it",
    "hung": "the server takes connections but does not answer",
    "down": "nothing answers",
    "needs_key": "the server wants an API key: --api-key-file or LLAMA_API_KEY",
    "router": "this is a router: watch one of its models",
    "not_llama": "something else answers here",
    "error": "the server answers with an error",
}

_ALARMING: Final = frozenset({"hung", "down", "needs_key", "error", "not_llama"})


def state_style(state: ServerState, ink: Ink) -> Style:
    """How a state is written: ready is plain, what stops the watch is an alarm."""
    if state == "ready":
        return ink.good
    return ink.alarm if state in _ALARMING else ink.badge


def state_word(target: Target, now: float) -> str:
    """``READY``, or the state and for how long."""
    word = WORDS[target.server]
    if target.server in ("ready", "unknown") or target.server_since is None:
        return word
    return f"{word} {span(now - target.server_since)}"


def state_sentence(target: Target) -> str:
    """What a state other than ready means, with what the server said; empty when it is ready."""
    if target.server == "ready":
        return ""
    since = f" since {clock(target.server_since)}" if target.server_since is not None else ""
    detail = f" ({target.server_detail})" if target.server_detail else ""
    return f"{WORDS[target.server]}{since}: {_MEANS[target.server]}{detail}"


def doing_words(frame: Frame) -> str:
    """What the server does now instead of decoding, and for how long; empty while it decodes, or before it ever did."""
    activity = frame.activity
    if activity.doing == "prefill":
        return "now prefill"
    return "" if activity.for_s is None else f"{activity.doing} {span(activity.for_s)}"


def rolling_words(frame: Frame) -> str:
    """What the rolling figures are of: the latest seconds of decoding, which are past when it does something else."""
    activity = frame.activity
    if activity.doing in ("decoding", "prefill"):
        return "last 10 s"
    return activity.doing if activity.for_s is None else "before that"
