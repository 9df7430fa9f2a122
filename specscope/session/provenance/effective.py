"""What is in force, where the server shows it: /slots, /props, its log, the headers of its model files."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Final, NamedTuple

from specscope.session.provenance.values import as_value
from specscope.session.unknowns import number_said

if TYPE_CHECKING:
    from collections.abc import Callable

    from specscope.flags import Value
    from specscope.session.provenance.seen import Seen
    from specscope.session.provenance.state import KnownBy


LOG_CODES: Final = (
    "spec_params",
    "draft_width_clamped",
    "draft_model_loading",
    "n_slots",
    "context_reduced",
    "layers_offloaded",
    "draft_layers_offloaded",
    "build",
)
"""The lines of the log that tell of settings (sources/log_dialects.py, log_memory.py)."""


class Shown(NamedTuple):
    """A value that was shown. ``note``: what the server made of what it was told."""

    value: Value
    by: KnownBy
    note: str = ""


def shown(name: str, seen: Seen) -> Shown | None:
    """What shows a setting that is no sampling setting; None: nothing does."""
    look = _LOOKS.get(name)
    return look(seen) if look is not None else None


def server_wide(name: str, seen: Seen) -> Shown | None:
    """A sampling setting as a request gets it that says nothing, by /props.

    ``n_predict`` is left out: /props shows -1 whatever ``-n`` said (b10434, b11434 tools/server/server-context.cpp).
    """
    if seen.props is None or name == "n_predict" or name not in seen.props.defaults:
        return None
    value = as_value(name, seen.props.defaults[name])
    return None if value is None else Shown(value, "props")


def asked(name: str, seen: Seen) -> Shown | None:
    """A sampling setting of the latest request, by /slots."""
    if seen.asked is None or name not in seen.asked:
        return None
    value = as_value(name, seen.asked[name])
    return None if value is None else Shown(value, "request")


def _spec_type(seen: Seen) -> Shown | None:
    config = seen.config
    if config.types is None or config.types_from not in ("slots", "log"):
        return None
    value = config.types or ("none",)
    if config.types_from == "log":
        return Shown(value, "log", "the server recognised the drafter by itself")
    return Shown(value, "slots")


def _n_max(seen: Seen) -> Shown | None:
    """The width after clamping; what the log says of it goes before the arithmetic."""
    config = seen.config
    clamped = number_said(seen.said, "draft_width_clamped", "clamped_to")
    if clamped is not None:
        return Shown(clamped, "log", f"clamped to what the drafter's trained block allows ({clamped})")
    logged = number_said(seen.said, "spec_params", "n_max")
    limit, asked_for = config.drafter_limit, logged if logged is not None else config.n_max_requested
    if limit is not None and asked_for is not None and asked_for > limit:
        return Shown(limit, "headers", f"clamped: the drafter was trained for drafts of {limit}")
    return None if logged is None else Shown(logged, "log")


def _logged(field: str) -> Callable[[Seen], Shown | None]:
    def look(seen: Seen) -> Shown | None:
        text = seen.said.get("spec_params", {}).get(field)
        if text is None:
            return None
        if field == "backend_sampling":
            return Shown(text == "1", "log")
        value = _number(text)
        return None if value is None else Shown(value, "log")

    return look


def _number(text: str) -> float | None:
    """A number as the log has it; None for what is none."""
    try:
        value = float(text)
    except ValueError:
        return None
    if not isfinite(value):
        return None
    return int(value) if "." not in text and value.is_integer() else value


def _parallel(seen: Seen) -> Shown | None:
    if seen.props is not None and seen.props.total_slots:
        return Shown(seen.props.total_slots, "props")
    logged = number_said(seen.said, "n_slots", "n_slots")
    if logged:
        return Shown(logged, "log")
    return Shown(seen.slots, "slots") if seen.slots else None


def _slot_ctx(seen: Seen) -> Shown | None:
    if seen.slot_ctx:
        return Shown(seen.slot_ctx, "slots")
    return Shown(seen.props.n_ctx, "props") if seen.props is not None and seen.props.n_ctx else None


def _unified(seen: Seen) -> Shown | None:
    logged = seen.said.get("n_slots", {}).get("kv_unified")
    return None if logged is None else Shown(logged == "true", "log")


def _ctx_size(seen: Seen) -> Shown | None:
    """All cells together: slots that share one cache each show the whole of it, others their part."""
    each, many = _slot_ctx(seen), _parallel(seen)
    if each is None or many is None or not isinstance(each.value, int) or not isinstance(many.value, int):
        return None
    reduced = seen.said.get("context_reduced", {}).get("requested")
    note = f"reduced from {reduced} to fit into memory" if reduced else ""
    if many.value == 1:
        return Shown(each.value, each.by, note)
    unified = _unified(seen)
    if unified is None:
        return None
    return Shown(each.value * (1 if unified.value else many.value), each.by, note)


def _layers(seen: Seen) -> Shown | None:
    return _offloaded(seen, "layers_offloaded")


def _draft_layers(seen: Seen) -> Shown | None:
    return _offloaded(seen, "draft_layers_offloaded")


def _offloaded(seen: Seen, code: str) -> Shown | None:
    count, layers = number_said(seen.said, code, "offloaded"), number_said(seen.said, code, "layers")
    return None if count is None else Shown(count, "log", f"{count} of {layers} layers are on devices")


def _metrics(seen: Seen) -> Shown | None:
    told = seen.props.endpoint_metrics if seen.props is not None else None
    return None if told is None else Shown(told, "props")


def _slots(seen: Seen) -> Shown | None:
    told = seen.props.endpoint_slots if seen.props is not None else None
    return None if told is None else Shown(told, "props")


def _model(seen: Seen) -> Shown | None:
    path = seen.props.model_path if seen.props is not None else None
    return Shown(path, "props") if path else None


def _drafter(seen: Seen) -> Shown | None:
    logged = seen.said.get("draft_model_loading", {}).get("path")
    return Shown(logged, "log") if logged else None


_LOOKS: dict[str, Callable[[Seen], Shown | None]] = {
    "spec_type": _spec_type,
    "spec_draft_model": _drafter,
    "spec_draft_n_max": _n_max,
    "spec_draft_n_min": _logged("n_min"),
    "spec_draft_p_min": _logged("p_min"),
    "spec_draft_backend_sampling": _logged("backend_sampling"),
    "spec_draft_ngl": _draft_layers,
    "parallel": _parallel,
    "slot_ctx": _slot_ctx,
    "ctx_size": _ctx_size,
    "kv_unified": _unified,
    "gpu_layers": _layers,
    "metrics": _metrics,
    "slots": _slots,
    "model": _model,
}
