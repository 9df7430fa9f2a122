"""This address is a router: it decodes nothing itself, and nothing of its models is asked through it.

Looks at: what /props and /slots answer, and the models that /v1/models lists as loaded.

Why it matters: a router answers 400 "model name is missing from the request" to most questions, which is not a server
that is down. Asked with a model's name it loads that model and may evict the one at work (8 s on b10434), or wakes one
that sleeps. So specscope asks it for nothing but its list.

What to do: watch the llama-server of the model itself, at the port that the router gave it.

Evidence: ``"role": "router"`` in /props, or that answer, and the loaded models with their ports (llama.cpp issues
19346, 22373).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.findings.rule import Collecting, Inapplicable, Rule

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen

LINK = "https://github.com/ggml-org/llama.cpp/issues/22373"


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    if target.server == "unknown":
        return Collecting("the server's first answer")
    if target.server != "router":
        return Inapplicable("this is no router")
    models = _models(target.server_detail)
    address = next((words for model in models for words in model.split() if words.startswith("http")), None)
    return (
        RULE.found(
            case,
            "this address is a router: it decodes nothing itself",
            (("/props", '"role": "router"'), *(("loaded", model) for model in models)),
            f"watch the model's own server: specscope {address or 'http://127.0.0.1:PORT'}"
            + ("" if address else " (the router starts one when a request for a model comes)"),
            link=LINK,
        ),
    )


def _models(detail: str) -> list[str]:
    """The loaded models, which stand in brackets at the end of what is said of the router."""
    _, opened, rest = detail.partition("(")
    return rest.removesuffix(")").split("; ") if opened else []


RULE = Rule("SPC603", "router_needs_model", "warning", look)
