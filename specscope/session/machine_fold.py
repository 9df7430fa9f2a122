"""The machine's GPUs, folded, and which server uses which of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from specscope.events import GpuFound, GpuLinkRead, GpuLost, GpuMemoryRead, GpuSampled, SourceAttached, SourceLost
from specscope.session.gpu_book import GpuBook
from specscope.session.gpu_state import Energy, GpuUse, Machine
from specscope.session.memory.growth import GrowthBook
from specscope.session.memory.map_state import MemorySample
from specscope.session.placement import on_device
from specscope.session.state import SourceView

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from specscope.events import Event
    from specscope.session.energy import Doing
    from specscope.session.gpu_state import Gpu, HowKnown, Phase
    from specscope.session.memory.map_state import Growth
    from specscope.session.state import Rates, Totals
    from specscope.session.target_fold import TargetFold


UNNAMED: Final = 0.05
"""Of the decode energy: with more of it spent in requests of which nobody saw whether they were in their prompt, what
was generated in that time cannot be set against it."""


@dataclass(eq=False)
class _Work:
    """What one server did while one device's energy was measured.

    ``seen`` is its running count at the last read. Accepted tokens are taken back and told again when a better source
    takes over, so that only what is beyond ``accepted_most`` is new.
    """

    tokens: int = 0
    accepted: int | None = None
    seen: tuple[int, int | None] | None = None
    accepted_most: int = 0


class _Share(NamedTuple):
    """What one device spent on one server, and what that one did in the same time."""

    decode_j: float
    prefill_j: float | None
    tokens: int
    accepted: int | None
    counted: bool
    apart: bool

    @property
    def j_per_token(self) -> float | None:
        return self._per(self.tokens)

    @property
    def j_per_accepted(self) -> float | None:
        return self._per(self.accepted)

    def _per(self, count: int | None) -> float | None:
        """Decode energy over a count; None where too much energy could not be told apart from a prompt's."""
        return self.decode_j / count if count and self.decode_j > 0 and self.apart else None


@dataclass(eq=False)
class MachineFold:
    """The mutable state of the machine."""

    gpus: dict[int, GpuBook] = field(default_factory=dict[int, GpuBook])
    sources: dict[str, SourceView] = field(default_factory=dict[str, SourceView])
    _growth: dict[tuple[str, int], GrowthBook] = field(default_factory=dict["tuple[str, int]", GrowthBook])
    _views: dict[int, Gpu] = field(default_factory=dict["int", "Gpu"])
    _work: dict[tuple[str, int], _Work] = field(default_factory=dict["tuple[str, int]", _Work])

    def apply(self, event: Event, targets: Iterable[TargetFold]) -> None:
        """Fold in a fact about the machine."""
        self._views = {}
        match event:
            case GpuFound():
                self._found(event)
            case GpuLost():
                book = self.gpus.get(event.index)
                if book is not None:
                    book.gone(event.reason)
            case GpuSampled() | GpuMemoryRead() | GpuLinkRead():
                book = self.gpus.get(event.index)
                if book is None:  # a recording that was cut at its beginning
                    book = self.gpus[event.index] = GpuBook(GpuFound(at=event.at, index=event.index))
                self._read(book, event, targets)
            case SourceAttached():
                self.sources[event.source] = SourceView(
                    event.source, "attached", event.tier, event.at, event.detail, event.hint
                )
            case SourceLost():
                self.sources[event.source] = SourceView(
                    event.source, "lost", "none", event.at, event.reason, event.hint
                )
                for book in self.gpus.values():
                    book.gone(event.reason)
            case _:
                pass

    def _found(self, e: GpuFound) -> None:
        book = self.gpus.get(e.index)
        if book is None or (None not in (book.found.uuid, e.uuid) and book.found.uuid != e.uuid):
            self.gpus[e.index] = GpuBook(e)  # devices are numbered anew when one of them is gone
            self._work = {key: work for key, work in self._work.items() if key[1] != e.index}
        else:
            book.found, book.lost = e, None

    def _read(
        self, book: GpuBook, event: GpuSampled | GpuMemoryRead | GpuLinkRead, targets: Iterable[TargetFold]
    ) -> None:
        match event:
            case GpuSampled():
                users = self.users(book, targets)
                phases: list[Phase | None] = [target.phase() for target in users]
                book.sampled(event, _together(phases), [*_at_work(users, phases)])
            case GpuMemoryRead():
                book.memory = event
                for target in self.users(book, targets):
                    self._grow(target, event.at)
                    work = self._work.setdefault((target.id, event.index), _Work())
                    if work.seen is None:  # from here on, not from the next read of the energy counter on
                        work.seen = target.work_done()
            case GpuLinkRead():
                book.linked(event)
                self._settle(book, event, targets)

    def _settle(self, book: GpuBook, e: GpuLinkRead, targets: Iterable[TargetFold]) -> None:
        """Set what was generated since the last read of the energy counter against what was spent in it."""
        settled = book.energy.read(e.at, e.energy_j)
        for target in self.users(book, targets):
            work = self._work.setdefault((target.id, e.index), _Work())
            before, work.seen = work.seen, target.work_done()
            if settled and before is not None and work.seen[0] >= before[0]:
                work.tokens += work.seen[0] - before[0]
                if work.seen[1] is not None:
                    most = max(work.accepted_most, before[1] or 0)
                    work.accepted = (work.accepted or 0) + max(0, work.seen[1] - most)
            work.accepted_most = max(work.accepted_most, work.seen[1] or 0)

    def _grow(self, target: TargetFold, at: float) -> None:
        """Sample the memory of a server's devices, once it has loaded its model."""
        if target.server != "ready":
            return
        used = {i: book.memory for i, book in self.gpus.items() if self.how_used(target, book) is not None}
        own = [own_bytes(target, memory) for memory in used.values()]
        all_own = all(held is not None for held in own)
        held = own if all_own else [memory.used_bytes if memory is not None else None for memory in used.values()]
        if not held or any(h is None for h in held):
            return
        key = (target.id, target.number)
        growth = self._growth.get(key)
        devices = frozenset(used)
        if growth is None or (growth.own, growth.devices) != (all_own, devices):
            growth = self._growth[key] = GrowthBook(all_own, devices)
        growth.add(
            MemorySample(at, sum(h for h in held if h is not None), target.epoch.slots.fill_tokens()),
            target.epoch.book.ended,
        )

    def growth(self, target: TargetFold) -> Growth | None:
        """How a server's memory moved since it was first seen ready."""
        book = self._growth.get((target.id, target.number))
        return book.view() if book is not None else None

    def users(self, book: GpuBook, targets: Iterable[TargetFold]) -> list[TargetFold]:
        """The servers that use a device."""
        return [target for target in targets if self.how_used(target, book) is not None]

    def how_used(self, target: TargetFold, book: GpuBook) -> HowKnown | None:
        """How it is known that a server uses a device; None: it does not, or nothing says so."""
        pid = target.pid
        if pid is None or target.server == "down":
            return None
        processes = _listed(book)
        if processes is not None and pid in processes:
            return "processes"
        if processes == [] or any(pid in (_listed(other) or ()) for other in self.gpus.values()):
            return None
        minors = target.usage.gpu_minors if target.usage is not None else None
        if minors is not None:
            if book.found.minor is not None:
                return "files" if book.found.minor in minors else None
            if not minors:
                return None
        named = {key: at for key, at in target.epoch.said.get("device_used", {}).items() if key.endswith(".bus_id")}
        if named and book.found.bus_id is not None:
            return "named" if any(_same_place(at, book.found.bus_id) for at in named.values()) else None
        if len(self.gpus) == 1 and on_device(target.flags, target.epoch.said, target.usage):
            return "only"
        return None

    def uses(self, target: TargetFold) -> tuple[GpuUse, ...]:
        """The devices of a server, by number."""
        found: list[GpuUse] = []
        for _, book in sorted(self.gpus.items()):
            how = self.how_used(target, book)
            if how is not None:
                share = self._share(target.id, book.found.index)
                own = own_bytes(target, book.memory)
                found.append(GpuUse(self._view_of(book), how, own, share.j_per_token if share is not None else None))
        return tuple(found)

    def energy(self, target: TargetFold, uses: tuple[GpuUse, ...], rates: Rates, totals: Totals) -> Energy | None:
        """What a server's devices spent while it worked; None before there is a figure of every one of them.

        Of a server that ended, it is of the devices that it used last.
        """
        indexes = [use.gpu.index for use in uses] or sorted(i for who, i in self._work if who == target.id)
        shares = [self._share(target.id, index) for index in indexes]
        if not shares or any(share is None for share in shares):
            return None
        known = [share for share in shares if share is not None]
        per_token = _sum_of([share.j_per_token for share in known])
        rejected = _rejected_share(totals)
        live_w = _sum_of([use.gpu.live_power_w for use in uses]) if target.server == "ready" else None
        accepted = [share.accepted for share in known if share.accepted is not None]
        return Energy(
            decode_j=sum(share.decode_j for share in known),
            prefill_j=_sum_of([share.prefill_j for share in known]),
            tokens=max(share.tokens for share in known),
            accepted=max(accepted) if accepted else None,
            counted=all(share.counted for share in known),
            j_per_token=per_token,
            j_per_accepted=_sum_of([share.j_per_accepted for share in known]),
            live_j_per_token=live_w / rates.tok_s if live_w is not None and rates.tok_s else None,
            rejected_share=rejected,
            rejected_j_per_token=rejected * per_token if rejected is not None and per_token is not None else None,
        )

    def _share(self, target_id: str, index: int) -> _Share | None:
        """What one device spent on one server; None before it was seen to decode."""
        book, work = self.gpus[index], self._work.get((target_id, index))
        decode_j = book.energy.joules.get((target_id, "decode"))
        if work is None or decode_j is None:
            return None
        return _Share(
            decode_j=decode_j,
            prefill_j=book.energy.joules.get((target_id, "prefill")),
            tokens=work.tokens,
            accepted=work.accepted,
            counted=book.energy.counted,
            apart=book.energy.joules.get((target_id, "unknown"), 0.0) <= UNNAMED * decode_j,
        )

    def begin_anew(self) -> None:
        """Forget all sums, on the user's wish."""
        self._work, self._views = {}, {}
        for book in self.gpus.values():
            book.begin_anew()

    def view(self) -> Machine:
        """The frozen view."""
        gpus = tuple(self._view_of(book) for _, book in sorted(self.gpus.items()))
        return Machine(gpus=gpus, sources=tuple(self.sources.values()))

    def _view_of(self, book: GpuBook) -> Gpu:
        """A device's view, made once between two facts however many servers use it."""
        made = self._views.get(book.found.index)
        if made is None:
            made = self._views[book.found.index] = book.view()
        return made


def _same_place(one: str, other: str) -> bool:
    """Whether two PCI addresses are the same: NVML writes the domain with eight digits, CUDA with four."""
    return one.lower().lstrip("0") == other.lower().lstrip("0")


def _listed(book: GpuBook) -> list[int] | None:
    """The processes that the driver lists on a device; None where it does not."""
    processes = book.memory.processes if book.memory is not None else None
    return None if processes is None else [pid for pid, _ in processes]


def _sum_of(values: Sequence[float | None]) -> float | None:
    """The sum; None when one of them is not known."""
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def own_bytes(target: TargetFold, memory: GpuMemoryRead | None) -> int | None:
    """A server's own memory on a device; None where the driver does not tell it."""
    processes = (memory.processes if memory is not None else None) or []
    return next((held for pid, held in processes if pid == target.pid), None)


def _rejected_share(totals: Totals) -> float | None:
    """Of the rows that the target verified in cycles, those of rejected draft tokens."""
    if totals.drafted is None or totals.accepted is None or not totals.cycles:
        return None
    return (totals.drafted - totals.accepted) / (totals.drafted + totals.cycles)


def _at_work(users: Sequence[TargetFold], phases: Sequence[Phase | None]) -> Iterator[Doing]:
    """Who is at work on a device, and at what."""
    for target, phase in zip(users, phases, strict=True):
        if phase is not None and phase != "idle":
            yield target.id, phase
        elif phase is None and target.epoch.book.current:
            yield target.id, "unknown"


def _together(phases: Sequence[Phase | None]) -> Phase | None:
    """What the servers on a device do together; None where none of them tells."""
    order: tuple[Phase, ...] = ("decode", "prefill", "idle")
    return next((phase for phase in order if phase in phases), None)
