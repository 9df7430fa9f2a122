"""The machine's GPUs, folded, and which server uses which of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from specscope.events import GpuFound, GpuLinkRead, GpuLost, GpuMemoryRead, GpuSampled, SourceAttached, SourceLost
from specscope.session.gpu_book import GpuBook
from specscope.session.gpu_state import GpuUse, Machine
from specscope.session.memory.growth import GrowthBook
from specscope.session.memory.map_state import MemorySample
from specscope.session.placement import on_device
from specscope.session.state import SourceView
from specscope.session.unknowns import sum_if_known
from specscope.session.work import WorkBook, energy_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from specscope.events import Event
    from specscope.session.energy import Doing
    from specscope.session.gpu_state import Energy, Gpu, HowKnown, Phase
    from specscope.session.memory.map_state import Growth
    from specscope.session.state import Rates, Totals
    from specscope.session.target_fold import TargetFold
    from specscope.session.work import Share


@dataclass(eq=False)
class MachineFold:
    """The mutable state of the machine."""

    gpus: dict[int, GpuBook] = field(default_factory=dict[int, GpuBook])
    sources: dict[str, SourceView] = field(default_factory=dict[str, SourceView])
    _growth: dict[tuple[str, int], GrowthBook] = field(default_factory=dict["tuple[str, int]", GrowthBook])
    _views: dict[int, Gpu] = field(default_factory=dict["int", "Gpu"])
    _work: WorkBook = field(default_factory=WorkBook)

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
            self._work.forget(e.index)
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
                    self._work.begin(target, event.index)
            case GpuLinkRead():
                book.linked(event)
                settled = book.energy.read(event.at, event.energy_j)
                for target in self.users(book, targets):
                    self._work.settle(target, event.index, settled=settled)

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
        indexes = [use.gpu.index for use in uses] or self._work.devices(target.id)
        shares = [self._share(target.id, index) for index in indexes]
        live_w = sum_if_known([use.gpu.live_power_w for use in uses]) if target.server == "ready" else None
        return energy_of(shares, live_w, rates, totals)

    def _share(self, target_id: str, index: int) -> Share | None:
        return self._work.share(target_id, index, self.gpus[index].energy)

    def begin_anew(self) -> None:
        """Forget all sums, on the user's wish."""
        self._work, self._views = WorkBook(), {}
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


def own_bytes(target: TargetFold, memory: GpuMemoryRead | None) -> int | None:
    """A server's own memory on a device; None where the driver does not tell it."""
    processes = (memory.processes if memory is not None else None) or []
    return next((held for pid, held in processes if pid == target.pid), None)


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
