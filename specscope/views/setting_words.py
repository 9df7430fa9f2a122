"""Settings in words: where a value was seen, where it comes from, what is recommended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.session.provenance.values import any_of, written
from specscope.views.figures import MARKS, UNKNOWN

if TYPE_CHECKING:
    from specscope.session.provenance.state import Group, KnownBy, Recommendation, Setting

GROUP_NAMES: Final[dict[Group, str]] = {
    "sampling": "sampling",
    "speculation": "speculation",
    "context": "context and cache",
    "compute": "batches and devices",
    "server": "server",
}

FILES: Final = frozenset({"model", "spec_draft_model", "mmproj"})
"""Settings that are paths: in a list, the file's name is enough."""

SHOWN_BY: Final[dict[KnownBy, str]] = {
    "request": "shown by /slots",
    "props": "shown by /props",
    "slots": "shown by /slots",
    "log": "said in the log",
    "headers": "from the headers of the model files",
    "worked out": "worked out from flags and defaults",
    "unknown": "not known",
}


def value_words(setting: Setting) -> str:
    """The value in force with how it is known: ``0.05+``, ``512~``; a dash where it is not."""
    if setting.value is None:
        return UNKNOWN
    text = written(setting.value)
    if setting.name in FILES:
        text = text.rpartition("/")[2]
    return text + MARKS["estimated" if setting.known_by == "worked out" else "counted"]


def origin_words(setting: Setting) -> str:
    """Where it comes from, with a question mark where something that sets it is hidden from here."""
    if setting.value is None or setting.origin == "unknown":
        return UNKNOWN
    return setting.origin if setting.certain else f"{setting.origin} ?"


def origin_sentence(setting: Setting, asked_by: tuple[int, int] | None) -> str:
    """``from the command line``, ``from the request (slot 0, task 7)``."""
    match setting.origin:
        case "request":
            return "from the latest request" + (f" (slot {asked_by[0]}, task {asked_by[1]})" if asked_by else "")
        case "unknown":
            return "from where is not known" if setting.value is not None else ""
        case "server default":
            return "by the server's default"
        case "GGUF":
            return "from the model file"
        case "preset":
            return "from the router's preset"
        case _:
            return f"from the {setting.origin}"


def wanted_words(found: Recommendation | None) -> str:
    """The recommended value, or values of which any is right."""
    return "" if found is None else any_of(found.values)


def with_modes(found: Recommendation) -> str:
    """The same with the mode that each is for."""
    if not found.modes:
        return wanted_words(found)
    return ", ".join(f"{written(v)} ({mode})" for v, mode in zip(found.values, found.modes, strict=True))
