"""What the hits of a burst tell: waits, idle time, copies and sampling."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Final, NamedTuple

SPAN_NS: Final = 20_000
"""Shorter waits are added up and not told one by one: a synchronize of an idle device takes 5-10 us when probed."""

COPIES: Final = ("copy_async", "copy_2d_async", "copy")
OWNERS: Final = ("draft", "features")
WITHIN_TURN: Final = (*COPIES, *OWNERS, "forward", "sample")

TURNS_JUDGED: Final = 3
"""Turns from which on it is judged whether copies outside of forwards come with more than half of them."""


class Hit(NamedTuple):
    """A probe fired: when, which role, and whether the function was left (else entered).

    ``arguments`` are those of a copy, in order; empty for other roles.
    """

    at_ns: int
    role: str
    left: bool
    arguments: tuple[int, ...] = ()


class Span(NamedTuple):
    """``wait`` or ``submit``, from its start, for so long, in nanoseconds."""

    kind: str
    start_ns: int
    length_ns: int


@dataclass(frozen=True)
class Seen:
    """What one burst saw.

    ``spans`` are those of at least SPAN_NS, in order; ``lost``: hits that found no room.

    ``copies``: by (whose tensor, bytes), how many copies to host memory. ``forwards`` and ``samples`` are the target's,
    in whole turns, as are the copies. ``apart``: by bytes, copies in some turns only that no forward makes: a slot's
    state is saved so; None where it cannot be told, and they are among the others.
    """

    begin_ns: int
    end_ns: int
    waits: int = 0
    wait_ns: int = 0
    submits: int = 0
    idle_ns: int = 0
    lost: int = 0
    forwards: int = 0
    samples: int = 0
    sampling_ns: int = 0
    draft_sampling_ns: int = 0
    spans: list[Span] = field(default_factory=list[Span])
    copies: Counter[tuple[str, int]] = field(default_factory=Counter[tuple[str, int]])
    apart: Counter[int] | None = None


def judge(hits: list[Hit], begin_ns: int, end_ns: int, lost: int = 0) -> Seen:
    """Add up waits, copies, and the time the device had nothing to do: from the end of a wait to the next submit."""
    stalls, copies = _Stalls(), _Owned()
    first = next((hit for hit in hits if hit.role in OWNERS), None)
    if first is not None and first.left:
        copies.within.add(first.role)
    for hit in hits:
        if hit.role in WITHIN_TURN or hit.role == "submit":
            copies.take(hit)
        if hit.role not in WITHIN_TURN:
            stalls.take(hit)
    apart = copies.apart()
    return Seen(
        begin_ns=begin_ns,
        end_ns=end_ns,
        waits=stalls.waits,
        wait_ns=stalls.wait_ns,
        submits=stalls.submits,
        idle_ns=stalls.idle_ns,
        lost=lost,
        forwards=copies.forwards,
        samples=copies.samples,
        sampling_ns=copies.sampling_ns["target"],
        draft_sampling_ns=copies.sampling_ns["drafter"],
        spans=stalls.spans,
        copies=copies.count,
        apart=apart,
    )


@dataclass
class _Stalls:
    """Adds up waits and idle time.

    A wait ends when all that was submitted has been done. The device gets work again when a graph is launched or,
    where none was captured, soon after the submit began.
    """

    waits: int = 0
    wait_ns: int = 0
    submits: int = 0
    idle_ns: int = 0
    spans: list[Span] = field(default_factory=list[Span])
    _entered: dict[str, int] = field(default_factory=dict[str, int])
    _launched: bool = False
    _idle_since: int | None = None

    def take(self, hit: Hit) -> None:
        """One hit, in the order of time."""
        if not hit.left:
            self._entered[hit.role] = hit.at_ns
            if hit.role == "launch":
                self._launched = True
                self._work(hit.at_ns)
            return
        start = self._entered.pop(hit.role, None)
        if start is None or hit.role == "launch":
            return
        length = hit.at_ns - start
        if hit.role == "submit":
            self.submits += 1
            if not self._launched:
                self._work(start)
            self._launched = False
            self.spans.append(Span("submit", start, length))
            return
        self.waits += 1
        self.wait_ns += length
        if self._idle_since is None and "submit" not in self._entered:
            self._idle_since = hit.at_ns
        if length >= SPAN_NS:
            self.spans.append(Span("wait", start, length))

    def _work(self, at: int) -> None:
        """The device has work from now on."""
        if self._idle_since is not None:
            self.idle_ns += max(0, at - self._idle_since)
        self._idle_since = None


@dataclass
class _Owned:
    """Counts copies and sampling by the model they are for, over whole turns: from forward to forward of the target.

    What happens while the drafter is at work, or is handed features, is its; all else is the target's.

    An asynchronous copy that the backend cannot do falls into the plain one, with the same tensor: counted once.

    A plain copy alone is none of a forward's results, all of which are asked for asynchronously (``decode`` of
    src/llama-context.cpp), but what carries layers from a device to the host within a submit (ggml-backend.cpp), or
    what saves a slot's state (``llama_io_write_host`` and ``_file``; b11434): outside of submits it is kept apart.
    A target that cannot roll back has its state saved in every turn, which is then part of the turn.
    """

    forwards: int = 0
    samples: int = 0
    sampling_ns: Counter[str] = field(default_factory=Counter[str])
    count: Counter[tuple[str, int]] = field(default_factory=Counter[tuple[str, int]])
    within: set[str] = field(default_factory=set[str])
    _apart: Counter[int] = field(default_factory=Counter[int])
    _turns_with: Counter[int] = field(default_factory=Counter[int])
    _submits: int = 0
    _submitting: bool = False
    _turn: Counter[tuple[str, int]] = field(default_factory=Counter[tuple[str, int]])
    _turn_apart: Counter[int] = field(default_factory=Counter[int])
    _turn_samples: int = 0
    _turn_ns: Counter[str] = field(default_factory=Counter[str])
    _begun: bool = False
    _same: int | None = None
    _sampling_since: int | None = None

    def take(self, hit: Hit) -> None:
        """One hit, in the order of time."""
        owner = "drafter" if self.within else "target"
        match hit.role, hit.arguments:
            case "copy_async", (_, tensor, _, _, size, _):
                self._turn[owner, size] += 1
                self._same = tensor
            case "copy_2d_async", (_, tensor, _, _, size, times):
                self._turn[owner, size * times] += 1
                self._same = tensor
            case "copy", (tensor, _, _, size, _, _):
                if tensor != self._same:
                    self._plain(owner, size)
                self._same = None
            case "submit", _:
                self._submitting = not hit.left
                self._submits += 1
            case "forward", _:
                if not self.within and not hit.left:
                    self._next_turn()
            case "sample", _:
                self._sample(hit, owner)
            case (("draft" | "features"), _):
                (self.within.discard if hit.left else self.within.add)(hit.role)
            case _:  # a copy whose registers the kernel did not give
                pass

    def apart(self) -> Counter[int] | None:
        """Copies by bytes that no forward makes, in at most half of the turns; the rest of them joins the others."""
        kept = Counter[int]()
        for size, times in self._apart.items():
            each_turn = self.forwards >= TURNS_JUDGED and 2 * self._turns_with[size] > self.forwards
            if each_turn or not self._submits:
                self.count["target", size] += times
            else:
                kept[size] = times
        return kept if self._submits else None

    def _plain(self, owner: str, size: int) -> None:
        if owner == "target" and not self._submitting:
            self._turn_apart[size] += 1
        else:
            self._turn[owner, size] += 1

    def _sample(self, hit: Hit, owner: str) -> None:
        if hit.left and self._sampling_since is not None:
            self._turn_ns[owner] += hit.at_ns - self._sampling_since
            self._turn_samples += owner == "target"
        self._sampling_since = None if hit.left else hit.at_ns

    def _next_turn(self) -> None:
        """A turn has ended: count what was in it, if its begin was seen."""
        if self._begun:
            self.forwards += 1
            self.samples += self._turn_samples
            self.count += self._turn
            self._apart += self._turn_apart
            self._turns_with.update(self._turn_apart.keys())
            self.sampling_ns += self._turn_ns
        self._begun = True
        self._turn, self._turn_apart, self._turn_ns, self._turn_samples = Counter(), Counter(), Counter(), 0
