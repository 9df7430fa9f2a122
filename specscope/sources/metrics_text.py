"""GET /metrics: the counters, whatever prefix and labels they carry. Gauges are never read: a scrape resets them."""

from __future__ import annotations

import math
import re
from typing import Final

from specscope.events import CountersRead

_LINE: Final = re.compile(
    r'^(?:\w+:)?(?P<name>\w+)(?:\{(?P<labels>(?:[^"}\n]|"(?:\\.|[^"\\\n])*")*)\})?[ \t]+(?P<value>\S+)', re.MULTILINE
)
_LABEL: Final = re.compile(r'(\w+)="((?:\\.|[^"\\])*)"')

_FIELDS: Final[dict[str, str]] = {
    "spec_decode_num_drafts_total": "drafts",
    "spec_decode_num_draft_tokens_total": "drafted",
    "draft_tokens_total": "drafted",
    "spec_decode_num_accepted_tokens_total": "accepted",
    "draft_tokens_accepted_total": "accepted",
    "tokens_predicted_total": "generated",
    "prompt_tokens_total": "prompt",
    "prompt_tokens_cached_total": "cached",
    "n_decode_total": "decodes",
    "n_tokens_max": "tokens_max",
    "n_past_max": "tokens_max",
    "tokens_predicted_seconds_total": "generated_s",
    "prompt_seconds_total": "prompt_s",
}
_PER_POSITION: Final = "spec_decode_num_accepted_tokens_per_pos_total"
_SUMMED: Final = frozenset({"position", "model", "spec_type"})
"""Labels that split one server's total into parts. Lines that differ in any other label count different things."""

MAX_POSITIONS: Final = 1024
"""No draft is that wide: a larger position is no position."""

Labels = frozenset[tuple[str, str]]


def read_counters(text: str, *, at: float, target: str, idle: bool) -> CountersRead:
    """Parse an exposition text; what it lacks stays None.

    Lines of one counter are added up when they differ only in what splits a total. A counter that comes in
    several kinds (``mode="completion"`` beside ``mode="embedding"``) is unknown, unless one line has no such label.

    Raises:
        ValueError: nothing in it is a counter of llama-server.
    """
    totals: dict[str, dict[Labels, float]] = {}
    positions: dict[int, float] = {}
    for match in _LINE.finditer(text):
        field = _FIELDS.get(match["name"])
        if field is None and match["name"] != _PER_POSITION:
            continue
        value, labels = _number(match["value"]), _labels(match["labels"] or "")
        if value is None:
            continue
        if field is not None:
            kinds = totals.setdefault(field, {})
            kind = frozenset((k, v) for k, v in labels.items() if k not in _SUMMED)
            kinds[kind] = kinds.get(kind, 0.0) + value
        elif (position := _position(labels)) is not None:
            positions[position] = positions.get(position, 0.0) + value
    if not totals:
        raise ValueError("no llama-server counter in it")
    settled = {field: _settle(kinds) for field, kinds in totals.items()}
    return CountersRead(
        at=at,
        target=target,
        idle=idle,
        accepted_per_position=[int(positions.get(i, 0)) for i in range(max(positions) + 1)] if positions else None,
        **{f: v if v is None or f.endswith("_s") else int(v) for f, v in settled.items()},  # pyright: ignore[reportArgumentType]
    )


def _number(text: str) -> float | None:
    """A counter's value; None for what no counter can be (NaN, infinite, negative, no number)."""
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _labels(text: str) -> dict[str, str]:
    return dict(_LABEL.findall(text))


def _position(labels: dict[str, str]) -> int | None:
    text = labels.get("position", "")
    return int(text) if text.isdecimal() and len(text) < len(str(MAX_POSITIONS)) else None


def _settle(kinds: dict[Labels, float]) -> float | None:
    """The one total of a counter, if it has one."""
    if len(kinds) == 1:
        return next(iter(kinds.values()))
    return kinds.get(frozenset())
