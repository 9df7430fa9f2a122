"""One server's facts, folded. Everything that a restart must forget lives in :class:`Epoch`."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import takewhile
from typing import TYPE_CHECKING, Final

from specscope.flags import parse_flags
from specscope.session.config import models_in_use, read_config
from specscope.session.cycle_book import CycleBook
from specscope.session.derive_memory import MemoryDeriver
from specscope.session.economics.derive import EconomicsDeriver
from specscope.session.economics.method_book import TABLE
from specscope.session.estimate import StatisticsBook
from specscope.session.log_book import LogBook
from specscope.session.memory.buffers import BufferBook
from specscope.session.provenance.derive import ProvenanceDeriver
from specscope.session.provenance.request_sets import RequestSets
from specscope.session.referee import RefereeBook
from specscope.session.request_state import Heard
from specscope.session.slot_book import SlotBook
from specscope.session.state import SourceView
from specscope.session.stream_book import StreamBook
from specscope.session.trace_book import TraceBook

if TYPE_CHECKING:
    from specscope import events as ev
    from specscope.flags import ServerFlags
    from specscope.session.gpu_state import Phase
    from specscope.session.state import Config


LOG_STARTS: Final = frozenset({"build", "verbosity"})
"""What a server's log says once, when its process starts (sources/log_dialects.py)."""

LOG_PRELUDE: Final = LOG_STARTS | {"env_overridden"}
"""What belongs to a start although it may come before it."""


@dataclass(eq=False)
class Epoch:
    """The life of one server process: its cycles, slots, counters and what its log said."""

    book: CycleBook = field(default_factory=CycleBook)
    said: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    heard: dict[str, Heard] = field(default_factory=dict[str, Heard])
    statistics: StatisticsBook = field(default_factory=StatisticsBook)
    buffers: BufferBook = field(default_factory=BufferBook)
    asked: RequestSets = field(default_factory=RequestSets)
    polls: int = 0
    poll_steps: int = 0
    referee: RefereeBook = field(init=False)
    logs: LogBook = field(init=False)
    slots: SlotBook = field(init=False)
    streams: StreamBook = field(init=False)
    traced: TraceBook = field(init=False)

    def __post_init__(self) -> None:
        self.referee = RefereeBook(self.book)
        self.logs = LogBook(self.book)
        self.slots = SlotBook(self.book)
        self.streams = StreamBook(self.book)
        self.traced = TraceBook(self.book)


@dataclass(eq=False)
class TargetFold:
    """The mutable state of one target. ``marks`` are the user's, the same for all targets."""

    id: str
    url: str | None = None
    pid: int | None = None
    kind: str = "llama-server"
    server: ev.ServerState = "unknown"
    server_detail: str = ""
    server_since: float | None = None
    last_fact_at: float | None = None
    number: int = 1
    restarts: list[float] = field(default_factory=list[float])
    resets: int = 0
    epoch: Epoch = field(default_factory=Epoch)
    tokens: dict[str, str] = field(default_factory=dict[str, str])
    sources: dict[str, SourceView] = field(default_factory=dict[str, SourceView])
    props: ev.PropsRead | None = None
    process: ev.ProcessSeen | None = None
    usage: ev.ProcessSampled | None = None
    stacks: ev.StacksSampled | None = None
    flags: ServerFlags | None = None
    models: dict[str, ev.ModelRead] = field(default_factory=dict["str", "ev.ModelRead"])
    marks: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    answered_at: float | None = None
    log_began_at: float | None = None
    memory: MemoryDeriver = field(default_factory=MemoryDeriver)
    economics: EconomicsDeriver = field(default_factory=EconomicsDeriver)
    provenance: ProvenanceDeriver = field(default_factory=ProvenanceDeriver)
    _log_begins: bool = False

    def __post_init__(self) -> None:
        self.epoch.book.marks = self.marks

    # --- the server's life --------------------------------------------------------------------------------------

    def found(self, e: ev.TargetFound) -> None:
        """A target was named."""
        self.url = e.url if e.url is not None else self.url
        self.pid = e.pid if e.pid is not None else self.pid
        self.kind = e.kind

    def server_changed(self, e: ev.ServerChanged) -> None:
        """What the server answers changed. A server that is gone loses its running requests."""
        if e.state == "down" and self.server != "down":
            self.epoch.book.lose_all(e.at)
        self.server, self.server_detail, self.server_since = e.state, e.detail, e.at

    def server_started(self, e: ev.ServerStarted) -> None:
        """A process identity. A changed one is a restart, unless another identity told the same one just before."""
        before = self.tokens.get(e.by)
        self.tokens[e.by] = e.token
        if before is not None and before != e.token:
            self._restart(e.at)
            self.tokens = {e.by: e.token}

    def _restart(self, at: float) -> None:
        """Begin a new epoch: nothing counted before leaks into what follows.

        The log of the new process is read before its first answer, so what it said is kept when it began after
        the old one's last answer.
        """
        old = self.epoch
        of_new = self.log_began_at is not None and (self.answered_at is None or self.log_began_at >= self.answered_at)
        self.number += 1
        self.restarts.append(at)
        self._begin(Epoch(said=old.said, heard=old.heard, buffers=old.buffers) if of_new else Epoch())
        self.epoch.streams.follow(old.streams, lost=True)
        self.props = self.usage = self.stacks = None
        self._refresh()

    def reset(self) -> None:
        """Forget all counts on the user's wish; slots and what the log said stay known."""
        old = self.epoch
        self.resets += 1
        self._begin(Epoch(said=old.said, buffers=old.buffers))
        self.epoch.slots.slots = old.slots.slots
        self.epoch.slots.last_params, self.epoch.slots.last_task = old.slots.last_params, old.slots.last_task
        self.epoch.streams.follow(old.streams, lost=False)
        self.epoch.traced.tracing = old.traced.tracing
        self.epoch.asked = old.asked.begun_anew()
        self.epoch.statistics = old.statistics.begun_anew()
        self._refresh()

    def _begin(self, epoch: Epoch) -> None:
        self.epoch = epoch
        epoch.book.marks = self.marks
        self._who_tells_cycles()

    def props_read(self, e: ev.PropsRead) -> None:
        """GET /props."""
        self.props, self.answered_at = e, e.at

    def process_seen(self, e: ev.ProcessSeen) -> None:
        """The server's process, its command line and environment."""
        before, self.process, self.pid = self.process, e, e.pid
        self.flags = parse_flags(e.argv, e.env or {})
        if before is not None and (before.pid, before.started) != (e.pid, e.started):
            self.models = models_in_use(self.models, self.flags)
        self._refresh()

    def model_read(self, e: ev.ModelRead) -> None:
        """A GGUF header."""
        self.models[e.role] = e
        self._refresh()

    def buffer_logged(self, e: ev.BufferLogged) -> None:
        """The server allocated a buffer."""
        self.epoch.buffers.logged(e)

    def log_said(self, e: ev.LogSaid) -> None:
        """A meaningful log line. What an earlier process said is void when another begins."""
        said = self.epoch.said
        begins = e.code in LOG_STARTS
        if begins and not self._log_begins:
            kept = dict(takewhile(lambda line: line[0] in LOG_PRELUDE - LOG_STARTS, reversed(said.items())))
            said = self.epoch.said = kept
            self.epoch.heard.clear()
            self.epoch.buffers.reset()
            self.log_began_at = e.at
        self._log_begins = begins
        before = said.pop(e.code, None)
        said[e.code] = e.fields or before or {}  # several lines may tell of one thing, not all of them in detail
        heard = self.epoch.heard.get(e.code)
        self.epoch.heard[e.code] = Heard(1 if heard is None else heard.times + 1, e.at)
        self.epoch.logs.said(e)
        if e.code == "implementation_added" and before is not None:
            said[e.code] = {"type": _listed(before.get("type", ""), e.fields.get("type", ""))}
        if e.code == "model_loading":
            said.pop("implementation_added", None)  # a server that wakes up adds its methods again
        if e.code == "sleeping":
            self.epoch.buffers.reset()
        if e.code == "request_cancelled":
            self._cancelled(e.fields.get("task", ""))
        self._refresh()

    def _cancelled(self, task: str) -> None:
        for request in self.epoch.book.requests.values():
            if str(request.task) == task:
                request.stop = "cancelled"

    def _refresh(self) -> None:
        """A polled step wider than any draft can be holds two cycles: keep the book's limit current."""
        config = self.config()
        types = config.types or ()
        tables = [t for t in types if t.startswith(TABLE)]
        only_drafts = bool(types) and all(t.startswith("draft-") for t in types)
        self.epoch.book.width_limit = config.n_max_effective if only_drafts else None
        self.epoch.book.costs.sparse = bool(tables) or len(types) > 1
        self.epoch.traced.times.drafter_alone = 0 < len(tables) < len(types)

    def config(self) -> Config:
        """The effective configuration."""
        return read_config(self.epoch.slots, self.props, self.flags, self.models, self.epoch.said)

    # --- sources ------------------------------------------------------------------------------------------------

    def attached(self, e: ev.SourceAttached) -> None:
        """A source delivers."""
        missed = self.sources[e.source].missed if e.source in self.sources else 0
        self.sources[e.source] = SourceView(e.source, "attached", e.tier, e.at, e.detail, e.hint, missed)
        self._who_tells_cycles()

    def lost(self, e: ev.SourceLost) -> None:
        """A source stopped. Cycles it would have told are missed from here on."""
        before = self.sources.get(e.source)
        if before is not None and before.state == "attached" and before.tier in ("cycles", "trace"):
            self.epoch.referee.missed += 1
        missed = before.missed if before is not None else 0
        self.sources[e.source] = SourceView(e.source, "lost", "none", e.at, e.reason, e.hint, missed)
        self._who_tells_cycles()

    def missed(self, e: ev.EventsMissed) -> None:
        """A source knows that it missed facts."""
        before = self.sources.get(e.source)
        if before is not None:
            self.sources[e.source] = SourceView(
                before.name,
                before.state,
                before.tier,
                before.since,
                before.detail,
                before.hint,
                before.missed + e.count,
            )
            if before.tier in ("cycles", "trace"):
                self.epoch.referee.missed += e.count

    def _who_tells_cycles(self) -> None:
        telling = {s.name: s.tier for s in self.sources.values() if s.state == "attached"}
        self.epoch.slots.cycles_elsewhere = any(tier in ("cycles", "trace") for tier in telling.values())
        self.epoch.traced.log_tells = telling.get("log") == "cycles"

    # --- slots and counters -------------------------------------------------------------------------------------

    def slot_changed(self, e: ev.SlotChanged) -> None:
        """GET /slots showed a change."""
        self.answered_at = e.at
        slots = self.epoch.slots
        first_look, params = e.slot not in slots.slots, slots.last_params
        slots.changed(e)
        self.epoch.asked.changed(e, slots.slots[e.slot].params, first_look=first_look)
        if slots.last_params is not params:
            self._refresh()

    def request_logged(self, e: ev.RequestLogged) -> None:
        """The log's totals of a request."""
        self.epoch.slots.ended_by_log(e)
        self.epoch.logs.totals(e)
        self.epoch.referee.request_checked(e)

    def counters_read(self, e: ev.CountersRead) -> None:
        """GET /metrics. Counters that went backwards mean a restart that no token told (older builds)."""
        before = self.epoch.referee.latest
        if before is not None and _went_back(before, e):
            self._restart(e.at)
            self.tokens = {}
        self.answered_at = e.at
        self.epoch.referee.counters(e)

    def polled(self, e: ev.PollSampled) -> None:
        """How polling went."""
        self.epoch.polls += e.polls
        self.epoch.poll_steps += e.steps

    def work_done(self) -> tuple[int, int | None]:
        """Tokens generated and draft tokens accepted so far, as running counts; None accepted: no cycle was seen."""
        book = self.epoch.book
        return book.generated(), book.tally.accepted if book.tally.joint else None

    def phase(self) -> Phase | None:
        """What the server does: by its slots, else by the requests that the log or a stream tells of.

        A request whose first token nobody saw may be in its prompt or behind it: then it is not known.
        """
        if self.server == "down":
            return None
        told, book = self.epoch.slots.phase(), self.epoch.book
        if told is not None or not book.requests:
            return told
        if not book.current:
            return "idle"
        return "decode" if any(r.tally.steps or r.decoded for r in book.current.values()) else None


def _listed(before: str, more: str) -> str:
    """Methods as /slots lists them, with one more; each is added by a line of its own, in the order of asking."""
    return ",".join(dict.fromkeys([*before.split(","), more]))


def _went_back(before: ev.CountersRead, now: ev.CountersRead) -> bool:
    pairs = ((before.drafts, now.drafts), (before.generated, now.generated), (before.prompt, now.prompt))
    return any(a is not None and b is not None and b < a for a, b in pairs)
