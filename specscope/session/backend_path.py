"""Where tokens are chosen: on the device, or on the host after the logits have crossed the bus.

Traced, the copies tell (:mod:`specscope.session.copies`); else flags, log lines and request parameters do, and the
path is estimated. On a CPU backend host and device are the same memory: the path is then that of the code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, NamedTuple, TypeAlias

from specscope.session.copies import FLOAT, TOP_MOST, readings
from specscope.session.turn_state import BackendPath

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from specscope.events.trace import CopyOwner
    from specscope.flags import ServerFlags
    from specscope.session.copies import Reading, Shapes
    from specscope.session.state import Config, Evidence
    from specscope.session.turn_state import CopyRow

Side: TypeAlias = Literal["device", "host", "unknown"]

MIN_TURNS: Final = 3
"""Turns before copies are judged. They are counted over whole turns, but a request's first and last ones have other
rows than the rest."""

EACH_TURN: Final = 0.5
"""Copies a turn from which on a path is taken for the one in use. The usual one has at least one copy each turn; what
belongs to the begin of a request comes once in dozens of turns."""

DRAFT_ON_HOST: Final[dict[str, str]] = {
    "backend_offload_failed": "backend offload failed; using CPU sampler",
    "backend_sampling_unsupported": "backend sampling not supported with SPLIT_MODE_TENSOR; using CPU",
}
"""The log's lines that say so, by their code (llama.cpp common/speculative.cpp, src/llama-context.cpp)."""

NO_DRAFTER: Final = "no draft model"
OFF: Final = "speculation is off"
SAME_MEMORY: Final = " (CPU backend: host and device share their memory)"


class _Seen(NamedTuple):
    """The copies of one size, and what they can be."""

    row: CopyRow
    found: tuple[Reading, ...]

    def is_only(self, *kinds: str) -> bool:
        return bool(self.found) and all(r.kind in kinds for r in self.found)

    def may_be(self, kind: str) -> bool:
        return any(r.kind == kind for r in self.found)


def traced_path(
    rows: Sequence[CopyRow], shapes: Shapes, config: Config, *, asynchronous: bool | None = None
) -> BackendPath:
    """The path that the copies show; at least :data:`MIN_TURNS` turns should be behind them."""
    draft, draft_why = _drafter_absent(config) or _draft(_of("drafter", rows, shapes))
    target, target_why = _target(_of("target", rows, shapes))
    note = SAME_MEMORY if asynchronous is False else ""
    return BackendPath(
        draft=draft,
        target=target,
        draft_why=draft_why + (note if draft != "unknown" else ""),
        target_why=target_why + (note if target != "unknown" else ""),
        evidence=_evidence("exact", draft, target),
    )


def _of(owner: CopyOwner, rows: Sequence[CopyRow], shapes: Shapes) -> list[_Seen]:
    return [
        _Seen(r, readings(owner, r.bytes_each, r.per_turn, shapes)) for r in rows if r.owner == owner and r.per_turn > 0
    ]


def _drafter_absent(config: Config) -> tuple[Side, str] | None:
    """Why there is nothing to choose for a drafter; None when there may be one."""
    if config.types is None or any(t.startswith("draft-") for t in config.types):
        return None
    return "unknown", NO_DRAFTER if config.types else OFF


def _draft(seen: list[_Seen]) -> tuple[Side, str]:
    logits = [s for s in seen if s.is_only("logits")]
    if _per_turn(logits) >= EACH_TURN:
        return "host", _most(logits)
    return _without_logits(seen, "drafter")


def _target(seen: list[_Seen]) -> tuple[Side, str]:
    """A token id for each row is chosen on the device, even where probabilities of one row go along with it."""
    logits = [s for s in seen if s.is_only("logits")]
    tokens = [s for s in seen if s.is_only("token")]
    of_many_rows = any(r.number > 1 for s in logits for r in s.found)
    if _per_turn(tokens) >= EACH_TURN and not of_many_rows:
        return "device", _most(tokens)
    if _per_turn(logits) >= EACH_TURN:
        return "host", _most(logits)
    choosing = [s for s in seen if not s.is_only("features", "state")]
    return _without_logits(choosing, "target")


def _without_logits(seen: list[_Seen], owner: str) -> tuple[Side, str]:
    """Where no copy can only be logits."""
    unclear = [s for s in seen if s.may_be("logits") or (not s.found and s.row.bytes_each > FLOAT * TOP_MOST)]
    if _per_turn(unclear) >= EACH_TURN:
        row = max(unclear, key=_bytes).row
        told = f"may be {row.meaning}" if row.meaning else "are not explained"
        return "unknown", f"copies of {row.bytes_each:,} bytes {told}"
    if _per_turn(seen) < EACH_TURN:
        return "unknown", f"no copies of the {owner} tell"
    return "device", f"{_most(seen)}; no logits"


def _per_turn(seen: Iterable[_Seen]) -> float:
    return sum(s.row.per_turn for s in seen)


def _bytes(seen: _Seen) -> float:
    return seen.row.bytes_each * seen.row.per_turn


def _most(seen: list[_Seen]) -> str:
    """The copies with the most bytes, in words."""
    row = max(seen, key=_bytes).row
    told = f": {row.meaning}" if row.meaning else ""
    return f"{f'{row.per_turn:.1f}'.removesuffix('.0')} x {row.bytes_each:,} bytes a turn{told}"


def estimated_path(
    config: Config,
    flags: ServerFlags | None,
    said: Mapping[str, Mapping[str, str]],
    by_bus: tuple[tuple[Side, str], tuple[Side, str]] = (("unknown", ""), ("unknown", "")),
) -> BackendPath:
    """The path that flags, log lines and request parameters tell of, else what the traffic on the bus does.

    A default that nothing confirms is unknown. ``by_bus``: the drafter's and the target's path as
    :func:`specscope.session.bus.by_bus` has them.
    """
    draft, draft_why = _drafter_absent(config) or _draft_told(flags, said)
    target, target_why = _target_told(config, flags, said)
    if draft == "unknown" and draft_why not in (NO_DRAFTER, OFF):
        draft, draft_why = by_bus[0]
    if target == "unknown":
        target, target_why = by_bus[1]
    return BackendPath(draft, target, draft_why, target_why, _evidence("estimated", draft, target))


def _evidence(of_known: Evidence, draft: Side, target: Side) -> Evidence:
    return "unknown" if draft == target == "unknown" else of_known


def _draft_told(flags: ServerFlags | None, said: Mapping[str, Mapping[str, str]]) -> tuple[Side, str]:
    told = flags.spec_draft_backend_sampling if flags is not None else None
    logged = said.get("spec_params", {}).get("backend_sampling")
    lines = [text for code, text in DRAFT_ON_HOST.items() if code in said]
    if told is False:
        return "host", "flag --no-spec-draft-backend-sampling"
    if lines:
        return "host", f"log: {lines[0]}"
    if logged is not None:
        return ("host" if logged == "0" else "device"), f"log: backend_sampling={logged}"
    if told:
        return "device", "flag --spec-draft-backend-sampling"
    return "unknown", ""


def _target_told(config: Config, flags: ServerFlags | None, said: Mapping[str, Mapping[str, str]]) -> tuple[Side, str]:
    """What the last request shows goes before what any request made the log say, and that before the defaults.

    One that wants the probabilities before sampling is sampled on the host, and /slots does not say so
    (``need_pre_sample_logits`` of llama.cpp tools/server/server-context.cpp, b11434).
    """
    asked = config.sampling.get("backend_sampling")
    of_request = config.sampling_from == "request"
    disabled = said.get("backend_sampling_disabled")
    if disabled is not None and not (of_request and isinstance(asked, bool)):
        return "host", f"log: backend sampling is not compatible with {disabled.get('reason', 'the request')}"
    if asked is True and config.sampling.get("n_probs") and not config.sampling.get("post_sampling_probs"):
        return "host", "the last request wants probabilities before sampling (n_probs), which takes the host's path"
    if isinstance(asked, bool):
        where = "the last request" if of_request else "/props"
        return ("device" if asked else "host"), f"backend_sampling is {str(asked).lower()} in {where}"
    if flags is not None and flags.backend_sampling:
        return "device", "flag --backend-sampling"
    return "unknown", ""
