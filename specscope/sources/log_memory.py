"""The lines of a log that are about memory: buffers, caches, devices, and the table of what takes it. Pure.

A server loads the target and makes its context, then the drafter and its context; most lines name neither. They are
the target's from ``loading model`` on, the drafter's from ``loading draft model`` or ``creating MTP draft context``
on, and nobody's once the slots are set up: what is reserved after that is told apart by `Reserves`.

Before it loads anything the server measures what it would need (``common_params_fit_impl`` of common/fit.cpp). At -lv 5
that dry run prints the same lines as the real one; they are passed over, up to the line that tells how long it took.
The projector's buffer (``alloc_compute_meta`` of tools/mtmd/clip.cpp) belongs to neither model and is not reported.

Sizes are printed with two decimals of a MiB, so bytes are right to 5 KiB.

A line with a meaning of its own becomes a `LogSaid` whose fields hold everything its kind has said so far, by device,
because of several lines with one code the last one stays.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

from specscope.events import BufferLogged, LogSaid
from specscope.sources.log_reserves import Reserves, graph_nodes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from specscope.events import Event
    from specscope.sources.log_reserves import Role

_MIB: Final = 1 << 20
_MOST_FIELDS: Final = 400  # of one code: a log that repeats itself must not grow a fact without end
Kind: TypeAlias = Literal["model", "KV", "RS", "compute", "output"]

_BUFFER = re.compile(
    r"(?P<device>[\w.:\[\]-]{1,64}) +(?P<kind>model|KV|RS|compute|output) buffer size = *(?P<mib>\d{1,9}\.\d{1,4}) MiB"
)
_CACHE = re.compile(
    r"size = *(?P<mib>\d{1,9}\.\d+) MiB \( *(?P<cells>\d{1,12}) cells, *(?P<layers>\d{1,6}) layers"
    r"(?:, *(?P<seqs>\d{1,6})(?:/(?P<streams>\d{1,6}))? seqs)?(?: *(?P<snapshots>\d{1,6}) rs_seq)?"
    r"[^)]*\)(?:, [KR] \((?P<type_k>\w{1,12})\).*?, [VS] \((?P<type_v>\w{1,12})\))?"
)
_OFFLOADED = re.compile(r"offloaded (?P<offloaded>\d{1,6})/(?P<layers>\d{1,6}) layers to GPU")
_TOTAL = re.compile(
    r"- (?P<device>[\w.:-]{1,32}) +: (?P<name>.{1,100}) \((?P<total_mib>\d{1,12}) MiB,"
    r" (?P<free_mib>\d{1,12}) MiB free\)"
)
_USED = re.compile(
    r"using device (?P<device>[\w.:-]{1,32}) \((?P<name>.{1,100}?)\)(?: \((?P<bus_id>[\da-fA-F:.]{7,20}|unknown id)\))?"
    r" - (?P<free_mib>\d{1,12}) MiB free"
)
_ROW = re.compile(
    r"\| +- (?P<device>[\w.:-]{1,32})(?: \((?P<name>[^|]{1,100})\))? +\|"
    r"(?: +(?P<total_mib>\d{1,12}) = *(?P<free_mib>\d{1,12}) \+ \()? *(?P<self_mib>\d{1,12}) ="
    r" *(?P<model_mib>\d{1,12}) \+ *(?P<context_mib>\d{1,12}) \+ *(?P<compute_mib>\d{1,12})"
    r"(?:\) \+ *(?P<unaccounted_mib>-?\d{1,12}))?"
)

STARTS_A_MODEL: Final[dict[str, Role]] = {
    "model_loading": "target",
    "draft_model_loading": "drafter",
    "mtp_context_creating": "drafter",
}
_MODELS_ARE_MADE: Final = frozenset({"n_slots", "model_loaded"})
_OF_A_MODEL: Final = ("kv_cache", "recurrent_cache", "layers_offloaded", "device_used")
OF_THE_PROCESS: Final = frozenset({"device_total", "memory_breakdown", "draft_memory_breakdown"})
CODES: Final = OF_THE_PROCESS | {f"{draft}{code}" for code in _OF_A_MODEL for draft in ("", "draft_")}
"""The codes of the `LogSaid` made here. All hold until the server restarts, or loads its models again.

``kv_cache``, ``recurrent_cache``: cells, layers, MiB, types of a context's caches; a second cache's fields begin with
``2.``. ``layers_offloaded``: of how many layers. ``device_total``, ``device_used``, ``memory_breakdown``: fields
``DEVICE.name``, ``DEVICE.total_mib`` and so on; a breakdown's ``when`` is ``fit`` or ``exit``. With ``draft_`` in
front they are the drafter's.
"""


def is_about_memory(text: str) -> bool:
    """Whether a line may be one of those read here."""
    return (
        "buffer size" in text
        or " cells" in text
        or "MiB free" in text
        or "memory data" in text
        or "breakdown" in text
        or " to GPU" in text
        or "params to free" in text
        or ("graph" in text and "nodes" in text)
    )


class MemoryLines:
    """Reads one server's lines about memory.

    Args:
        target: The server the facts are about.
    """

    def __init__(self, target: str) -> None:
        self._target = target
        self._measuring: str | None = None  # while a dry run prints: the prefix of whom it measures
        self._role: Role | None = None
        self._made = False
        self._reserves = Reserves()
        self._waiting: list[tuple[float, str, int]] = []  # compute buffers of which the graph is not told yet
        self._table: dict[str, dict[str, str]] = {}

    def heard(self, code: str) -> list[Event]:
        """Take note of a line that another part of the parser has read, by its code; what waited for it comes out."""
        role = STARTS_A_MODEL.get(code)
        if role is None and code not in _MODELS_ARE_MADE:
            return []
        events = self.settle()
        self._measuring, self._role, self._made = None, role, role is None
        if role == "target":
            self._reserves = Reserves()
        self._reserves.setting_up = code == "n_slots"
        if role is not None:
            self._forget("draft_" if role == "drafter" else "")
        return events

    def read(self, text: str, at: float) -> list[Event]:
        """The facts of one line; those of a compute buffer may come with the line that tells its graph."""
        if "memory data" in text:
            self._measuring = "draft_" if "extra model" in text else ""
        elif "params to free memory took" in text:
            self._measuring = None
        if "breakdown" in text:
            return self._breakdown(text, at)
        if self._measuring is not None or "alloc_compute_meta" in text:
            return []
        buffer = _BUFFER.search(text)
        if buffer is not None:
            return self._buffer(buffer, at)
        nodes = graph_nodes(text)
        if nodes is not None:
            return self._graph(nodes)
        return [*self.settle(), *self._said(text, at)]

    def settle(self) -> list[Event]:
        """The compute buffers whose graph was never told."""
        return self._graph(None)

    def _forget(self, draft: str) -> None:
        """A model is loaded (again): what was said of it is void, and of the drafter that follows a target."""
        for code in _OF_A_MODEL:
            self._table.pop(f"draft_{code}", None)
            if not draft:
                self._table.pop(code, None)

    def _buffer(self, found: re.Match[str], at: float) -> list[Event]:
        device, n_bytes = found["device"], round(float(found["mib"]) * _MIB)
        kind = cast("Kind", found["kind"])
        if kind == "compute":
            events = self.settle() if any(device == waiting for _, waiting, _ in self._waiting) else []
            self._waiting.append((at, device, n_bytes))
            return events
        if kind == "model" and self._role is None:
            self._role = "target"  # a build that does not say what it loads
        events = self.settle()
        return [
            *events,
            BufferLogged(at=at, target=self._target, device=device, kind=kind, bytes=n_bytes, model=self._role),
        ]

    def _graph(self, nodes: tuple[int, ...] | None) -> list[Event]:
        """The graph that the last compute buffers are for; None: it was not told."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return []
        host = sum(n_bytes for _, device, n_bytes in waiting if device.startswith("CPU") or device.endswith("_Host"))
        role = self._role or self._reserves.whose(nodes, host or None)
        if role is not None:
            self._reserves.learn(role, nodes, host or None)
        return [
            BufferLogged(at=at, target=self._target, device=device, kind="compute", bytes=n_bytes, model=role)
            for at, device, n_bytes in waiting
        ]

    def _said(self, text: str, at: float) -> list[Event]:
        draft = "draft_" if self._role == "drafter" else ""
        cache = _CACHE.search(text)
        if cache is not None:
            kind = "recurrent_cache" if "), R (" in text else "kv_cache"
            return self._cache(f"{draft}{kind}", cache, at)
        offloaded = _OFFLOADED.search(text)
        if offloaded is not None:
            return [self._fact(f"{draft}layers_offloaded", offloaded.groupdict(), at)]
        used = _USED.search(text)
        if used is not None:
            return self._by_device(f"{draft}device_used", used, at)
        if "device_info" in text:
            self._table.pop("device_total", None)
        total = _TOTAL.search(text)
        return self._by_device("device_total", total, at) if total is not None else []

    def _cache(self, code: str, found: re.Match[str], at: float) -> list[Event]:
        """A cache of a context: its fields stand beside those of the context's earlier ones."""
        table = self._table.setdefault(code, {})
        number = 1 + sum(name == "cells" or name.endswith(".cells") for name in table)
        prefix = "" if number == 1 else f"{number}."
        return self._added(code, {f"{prefix}{name}": value for name, value in found.groupdict().items()}, at)

    def _breakdown(self, text: str, at: float) -> list[Event]:
        code = f"{self._measuring or ''}memory_breakdown"
        if "breakdown [MiB]" in text:
            self._table[code] = {"when": "exit" if self._made else "fit"}
            return []
        row = _ROW.search(text)
        return self._by_device(code, row, at) if row is not None else []

    def _by_device(self, code: str, found: re.Match[str], at: float) -> list[Event]:
        fields = {f"{found['device']}.{n}": value for n, value in found.groupdict().items() if n != "device"}
        return self._added(code, fields, at)

    def _added(self, code: str, fields: dict[str, str | None], at: float) -> list[Event]:
        table = self._table.setdefault(code, {})
        if len(table) > _MOST_FIELDS:
            return []
        table |= {name: value.strip() for name, value in fields.items() if value}
        return [self._fact(code, table, at)]

    def _fact(self, code: str, fields: Mapping[str, str], at: float) -> LogSaid:
        return LogSaid(at=at, target=self._target, code=code, fields=dict(fields))
