"""Whether speculation pays and what would pay more, as the frozen state has it.

Milliseconds are of one slot's step unless said otherwise. ``low`` and ``high`` are the ends of a 95 % interval. A
``basis`` says in words what a figure rests on; ``assumes`` what had to be taken for granted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

PlainHow: TypeAlias = Literal["this run", "recorded", "with drafter", "fit", "floor"]
"""How plain decode time is known, best first: plain steps of this run; a recorded run with speculation off; steps of
this run that drafted nothing while a drafter was fed, so that plain decoding takes that or less; cycle time carried on
to width 0; the time in which the device's memory can be read, which nothing can undercut."""

CostHow: TypeAlias = Literal["seen", "cut", "recorded", "between", "suggested"]
"""How the cycle time at a draft limit is known: cycles of this run; cycles whose drafts were cut to it, less what the
drafter then saves; cycles of a recorded run; between two known ones, since cost does not fall with width; the same,
across a step of the kernels that is known elsewhere and was not seen here."""

DraftedBy: TypeAlias = Literal["block", "token", "table", "unknown"]

RegimeHow: TypeAlias = Literal["all", "label", "split"]


@dataclass(frozen=True, slots=True)
class CostPoint:
    """Cycle time at one draft limit, for ``slots`` slots that decode at once, at the depth of its curve.

    Attributes:
        cycles: on which it rests; 0 for a width between two seen ones.
    """

    width: int
    ms: float
    low: float
    high: float
    cycles: int
    how: CostHow


@dataclass(frozen=True, slots=True)
class PlainPoint:
    """Plain decode time at one depth (resident tokens; None: not seen). ``steps``: on which it rests."""

    depth: float | None
    ms: float
    low: float
    high: float
    steps: int


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """What another run of the same server and model tells: plain times, cycle times, prefill speed.

    Attributes:
        name: as the user knows it (a file), for the basis.
        plain: plain steps by depth, of a run without a drafter.
        costs: cycle time by width; ``depth``: at which; ``slots``: that decoded at once.
        joint: cycles by (width, accepted), for positions that this run's drafts do not reach.
        prefill_tok_s: prompt tokens per second, of prompts of ``prompt_tokens`` each on average.
        drafts: whether a drafter was at work.
    """

    name: str
    plain: tuple[PlainPoint, ...] = ()
    costs: tuple[CostPoint, ...] = ()
    depth: float | None = None
    slots: int = 1
    joint: tuple[tuple[int, int, int], ...] = ()
    prefill_tok_s: float | None = None
    prompt_tokens: float | None = None
    drafts: bool = False


@dataclass(frozen=True, slots=True)
class PlainTime:
    """One-token decode time at ``depth``. Of a floor only ``ms`` is meant: the time is that or longer."""

    ms: float
    low: float
    high: float
    how: PlainHow
    basis: str
    steps: int = 0
    depth: float | None = None


@dataclass(frozen=True, slots=True)
class Span:
    """A figure with its 95 % interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class DepthGain:
    """The speedup over plain decoding where ``tokens`` to ``to_tokens`` are resident; ``steps``: on which it rests."""

    tokens: int
    to_tokens: int
    speedup: Span
    steps: int


@dataclass(frozen=True, slots=True)
class WidthPoint:
    """What drafting at most ``n_max`` tokens would give; 0: speculation off.

    Attributes:
        tok_s: tokens per second of one slot; None: the cycle time at this width is not known, or the acceptance.
        tau: tokens per step; None: positions beyond the drafts seen.
        cycles: cycles in which a draft was this wide (0: plain steps); how: how its cycle time is known.
    """

    n_max: int
    tok_s: Span | None
    tau: Span | None
    cycles: int
    how: CostHow | PlainHow | None = None


@dataclass(frozen=True, slots=True)
class TryNext:
    """The one run that would settle most. ``n_max`` 0: speculation off."""

    n_max: int
    why: str


@dataclass(frozen=True, slots=True)
class Drafting:
    """What the drafter takes of a cycle. ``ms`` at ``width``; None: not traced, and the log does not tell.

    ``by``: how it grows with width: one pass for a ``block``, one for each ``token``, nearly nothing for a ``table``.
    """

    by: DraftedBy
    ms: float | None = None
    width: int | None = None
    share: float | None = None
    basis: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class Economics:
    """Is speculation paying, and what would pay more.

    Where tables go before a drafter, a draft width is asked of the drafter: ``n_max``, ``cycles``, ``costs``, the curve
    and the best width are of its cycles alone; times and tau of a cycle, and the speedup, of all methods together.

    Attributes:
        n_max: today's draft width: the widest that drafts regularly have.
        slots, depth: slots that decoded at once, and mean resident tokens, to which all times refer.
        cycle_ms: mean time of a cycle (trimmed), all widths together, each as often as it came.
        timed: cycles whose own time that rests on: not those behind a prompt or beside one, and of many alike a part;
            None: they are of several methods.
        kernel_step: verifying may run on CUDA's kernels, which have a step above 8 rows; False: the target's layers are
            on the CPU for certain.
        costs: cycle time by width, as far as it is known.
        plain: the best known plain decode time; None: unknown.
        floor_ms: the bandwidth bound; bound_share: of plain decode time.
        break_even_tau: tokens per step from which speculation pays: cycle_ms / plain ms.
        speedup: tau x plain ms / cycle ms, with ``speedup_at_least`` where only the floor is known.
        tau: tokens per step of a cycle as its interval takes it (clustering of acceptance allowed for).
        curve: by n_max, 0 first.
        best_n_max: None below the minimum evidence, or where nothing can be compared.
        gain_pct: of the best over today's, percent; sure: its interval leaves 0 out; where today's is best, none that
            is known and none below it can be as good.
        full: share of full drafts that are accepted to their end; hidden: so often that a wider one may pay.
        by_depth: what speculation gains at each depth, where plain time is known by depth too; shallowest first.
        tau_at_most: the most tokens a cycle that any width may yield, where that is too little for one to pay; then off
            is best, though ``gain_pct`` may not be known. speedup_at_most: the same, where it is of all cycles.
        collecting: what is still missing for a verdict, in words; empty when there is one.
    """

    n_max: int | None = None
    slots: int = 1
    depth: float | None = None
    cycles: int = 0
    outliers: int = 0
    cycle_ms: Span | None = None
    timed: int | None = None
    kernel_step: bool = True
    tau: Span | None = None
    costs: tuple[CostPoint, ...] = ()
    plain: PlainTime | None = None
    plain_points: tuple[PlainPoint, ...] = ()
    floor_ms: float | None = None
    bound_share: float | None = None
    break_even_tau: Span | None = None
    speedup: Span | None = None
    speedup_at_least: float | None = None
    drafting: Drafting | None = None
    curve: tuple[WidthPoint, ...] = ()
    best_n_max: int | None = None
    gain_pct: Span | None = None
    sure: bool = False
    full: Span | None = None
    hidden: bool = False
    by_depth: tuple[DepthGain, ...] = ()
    basis: str = ""
    assumes: tuple[str, ...] = ()
    try_next: TryNext | None = None
    tau_at_most: float | None = None
    speedup_at_most: float | None = None
    collecting: str = ""


@dataclass(frozen=True, eq=False, slots=True)
class Regime:
    """Requests that belong together: all, those of one label, or one side of a split by tau.

    Attributes:
        tokens, time_s: generated in ended requests, and their decoding time where known; shares are of the whole.
        tau_se: standard error over requests; None with fewer than two.
        drafted_share: share of steps that had a draft (n-gram hits; 1 for a drafter that drafts each time).
        tok_s: tokens over time.
    """

    name: str
    how: RegimeHow
    requests: int
    tokens: int
    share_tokens: float
    time_s: float | None = None
    share_time: float | None = None
    tau: float | None = None
    tau_se: float | None = None
    tau_draft: float | None = None
    acceptance: float | None = None
    drafted_share: float | None = None
    tok_s: float | None = None
    speedup: float | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Prefill:
    """Prompts, apart from decoding, over the requests kept.

    Attributes:
        tokens: computed; cached_tokens: taken from the cache; cache_share: of both together.
        tok_s: computed tokens over the server's own prompt time.
        ttft_ms, ttft_p95_ms: time to first token, median and 95th percentile.
        drafter_ms: the drafter's part per request; drafter_share of prompt time; ``basis`` says by what, or why they
            are unknown in spite of a run to compare with.
        pays_back_tokens: output tokens after which decoding has gained that time again; None: unknown, or never.
    """

    requests: int
    tokens: int | None = None
    cached_tokens: int | None = None
    cache_share: float | None = None
    tok_s: float | None = None
    ttft_ms: float | None = None
    ttft_p95_ms: float | None = None
    drafter_ms: float | None = None
    drafter_share: float | None = None
    pays_back_tokens: float | None = None
    basis: str = ""
