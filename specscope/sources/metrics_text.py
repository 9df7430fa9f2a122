"""GET /metrics: the counters, whatever prefix and labels they carry. Gauges are never read: a scrape resets them."""

from __future__ import annotations

import re
from typing import Final

from specscope.events import CountersRead

_LINE: Final = re.compile(
    r"^(?:\w+:)?(?P<name>\w+)(?:\{(?P<labels>[^}]*)\})?\s+(?P<value>[-+.\deE]+|NaN)", re.MULTILINE
)
_POSITION: Final = re.compile(r'position="(\d+)"')

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
}
_SECONDS: Final[dict[str, str]] = {"tokens_predicted_seconds_total": "generated_s", "prompt_seconds_total": "prompt_s"}
_PER_POSITION: Final = "spec_decode_num_accepted_tokens_per_pos_total"


def read_counters(text: str, *, at: float, target: str, idle: bool) -> CountersRead:
    """Parse an exposition text; what it lacks stays None. Lines of one counter with several labels are summed.

    Raises:
        ValueError: nothing in it is a counter of llama-server.
    """
    totals: dict[str, float] = {}
    positions: dict[int, int] = {}
    for match in _LINE.finditer(text):
        name = match["name"]
        field = _FIELDS.get(name) or _SECONDS.get(name)
        if field is not None and match["value"] != "NaN":
            totals[field] = totals.get(field, 0.0) + float(match["value"])
        elif name == _PER_POSITION and (position := _POSITION.search(match["labels"] or "")):
            i = int(position[1])
            positions[i] = positions.get(i, 0) + int(float(match["value"]))
    if not totals:
        raise ValueError("no llama-server counter in it")
    return CountersRead(
        at=at,
        target=target,
        idle=idle,
        accepted_per_position=[positions.get(i, 0) for i in range(max(positions) + 1)] if positions else None,
        **{f: int(v) for f, v in totals.items() if f not in _SECONDS.values()},  # pyright: ignore[reportArgumentType]
        **{f: v for f, v in totals.items() if f in _SECONDS.values()},  # pyright: ignore[reportArgumentType]
    )
