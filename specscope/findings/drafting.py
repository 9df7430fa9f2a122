"""What rules about drafting say alike: flags by the server's own names, figures in words, what a cycle loses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.dialect import flag_of
from specscope.findings.rule import Collecting
from specscope.findings.unjudged import PLAIN, TABLES_ALONE, no_method, wait
from specscope.flags.rewrite import DRAFT_WIDTH, WIDTH_FLAGS
from specscope.session.economics.acceptance import LEAST_CYCLES
from specscope.session.economics.method_book import TABLE
from specscope.session.economics.state import Economics
from specscope.session.economics.verdict import EVEN, pays
from specscope.session.economics.words import HOW

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Rule, Seen, Unjudged
    from specscope.session.economics.state import PlainTime, Span, WidthPoint
    from specscope.session.state import Target

SPECULATION: Final = "https://github.com/ggml-org/llama.cpp/blob/master/docs/speculative.md"
"""The server's methods and their flags."""

ONE_BY_ONE: Final = Collecting(
    f"{LEAST_CYCLES} draft cycles seen one by one, not only counted (--trace auto, as root, or LLAMA_TRACE=1)"
)

_MODELS: Final = frozenset({"block", "token"})
"""How a drafter with a model drafts; where tables and it are not told apart, how is not known."""

NOT_SAID: Final = ("--spec-type", "-md")
"""What switches speculation on, where the command line was not seen."""

GAINS_PCT: Final = 3.0
"""At least, at 95 %, for another width to be advised: repeated runs of one server differ by 4 %, so that less could not
be confirmed."""

NO_LOSS_PCT: Final = 0.0
"""While the interval is above it, the other width is still no worse."""


def judged(target: Target) -> Economics | Unjudged:
    """The server's economics once they hold a verdict; else what a rule that rests on them says."""
    economics = target.economics
    if not target.config.types and (target.config.types is not None or not economics.cycles):
        return no_method(target) or _some(0)
    if economics.cycles < LEAST_CYCLES:
        counted = not economics.cycles and target.totals.cycles
        return wait(target, ONE_BY_ONE if counted else _some(economics.cycles))
    if economics.collecting:
        return Collecting("cycles whose own time is seen (--trace auto, as root)")
    return economics


def _some(cycles: int) -> Collecting:
    return Collecting(f"{LEAST_CYCLES} draft cycles ({cycles} so far)")


def no_drafter(target: Target) -> Unjudged | None:
    """Why nothing can be said of a drafter's own drafts; None: one with a model drafts, and its cycles are told."""
    none = no_method(target)
    if none is not None:
        return none
    if not has_drafter(target):
        return TABLES_ALONE
    return (
        None if tells_drafter(target) else wait(target, "the drafter's own cycles, beside the tables' (--trace auto)")
    )


def at_width(economics: Economics, n_max: int) -> WidthPoint | None:
    """What is known of a draft width."""
    return economics.curve[n_max] if 0 <= n_max < len(economics.curve) else None


def width_words(economics: Economics, n_max: int) -> str:
    """A width's speed and tokens a cycle, and how its cycle time is known."""
    point = at_width(economics, n_max)
    if point is None or point.tok_s is None or point.tau is None or point.how is None:
        return f"{n_max}"
    return (
        f"{n_max}: {ranged(point.tok_s, 1)} tok/s of one slot, {point.tau.value:.2f} tokens a cycle, {HOW[point.how]}"
    )


def gained_ms(economics: Economics) -> float | None:
    """What a cycle of today's width takes longer than its tokens would take at the best width."""
    if economics.cycle_ms is None or economics.gain_pct is None:
        return None
    return economics.cycle_ms.value * economics.gain_pct.value / (100 + economics.gain_pct.value)


def pays_off(economics: Economics) -> bool | None:
    """Whether speculation is faster than plain decoding, False: slower; None: too close to tell, or not known."""
    return pays(economics.speedup) if economics.speedup is not None else None


def lost_ms(economics: Economics) -> float | None:
    """What a cycle takes longer than plain decoding takes for its tokens."""
    if economics.cycle_ms is None or economics.tau is None or economics.plain is None:
        return None
    return economics.cycle_ms.value - economics.tau.value * economics.plain.ms


def against_plain(economics: Economics) -> tuple[tuple[str, str], ...]:
    """The figures of a verdict against plain decoding."""
    e = economics
    if e.speedup is None or e.plain is None or e.tau is None or e.cycle_ms is None or e.break_even_tau is None:
        return ()
    return (
        ("speedup", f"{ranged(e.speedup)} x plain decoding"),
        ("tokens a cycle", f"{ranged(e.tau)}; it pays from {ranged(e.break_even_tau)} on"),
        ("a cycle takes", f"{ranged(e.cycle_ms)} ms"),
        ("a plain step takes", plain_words(e.plain)),
        ("rests on", e.basis),
    )


def plain_words(plain: PlainTime) -> str:
    """Plain decode time with its interval."""
    return f"{plain.ms:.2f} ms ({plain.low:.2f} to {plain.high:.2f}), {plain.basis}"


def ranged(span: Span, digits: int = 2) -> str:
    """A figure with the ends of its 95 % interval."""
    return f"{span.value:.{digits}f} ({span.low:.{digits}f} to {span.high:.{digits}f})"


def slower(case: Case) -> Economics | Seen:
    """The economics of a server on which speculation is slower than plain decoding for certain.

    That is when the whole 95 % interval of the speedup lies below 1: by a hundredth to be raised, and for as long as
    the verdict says so.
    """
    economics = judged(case.target)
    if not isinstance(economics, Economics):
        return economics
    if economics.speedup is None:
        return PLAIN
    if not case.holds(economics.speedup.high, raise_at=0.99, clear_at=1 - EVEN):
        return ()
    return economics


def better_width(rule: Rule, case: Case, economics: Economics, of_up_to: str) -> Seen:
    """What a rule says of the best width where it surely gives more than today's; ``of_up_to`` begins the summary."""
    today, best, gain = economics.n_max, economics.best_n_max, economics.gain_pct
    if today is None or best is None or gain is None:
        return ()
    if not case.holds(gain.low, raise_at=GAINS_PCT, clear_at=NO_LOSS_PCT):
        return ()
    found = rule.found(
        case,
        f"{of_up_to} {best} tokens give {gain.value:.0f} % more tok/s than drafts of {today}",
        (
            ("gain", f"{ranged(gain, 0)} %"),
            ("today", width_words(economics, today)),
            ("best", width_words(economics, best)),
            ("rests on", economics.basis),
        ),
        f"set {set_width(case.target, best)}",
        link=SPECULATION,
        cost_ms=gained_ms(economics),
    )
    return (found,)


# --- flags --------------------------------------------------------------------------------------------------------


def set_width(target: Target, width: int) -> str:
    """The flags that set the draft width which the economics are about: a drafter's behind tables, or all methods'."""
    types = target.config.types or ()
    names = [DRAFT_WIDTH if name.startswith("draft-") else WIDTH_FLAGS.get(name, "") for name in types]
    alone = has_tables(target) and tells_drafter(target)
    wanted = [name for name in names if name and (not alone or name == DRAFT_WIDTH)] or [DRAFT_WIDTH]
    return " and ".join(f"{name} {width}" for name in dict.fromkeys(flag_of(target, name) for name in wanted))


def switches(target: Target) -> str:
    """What switches speculation on, as it was written: ``--spec-type none`` alone does not undo it.

    The variable adds up with the flag, and a DFlash or DSpark drafter is detected (llama.cpp b11434, common/arg.cpp).
    """
    told = target.flags.told if target.flags is not None else ()
    given = [t.name for t in told if t.field in ("spec_types", "draft_model", "draft_repo")]
    return " and ".join(dict.fromkeys(given or NOT_SAID))


def has_drafter(target: Target) -> bool:
    """Whether a method is in force that drafts with a model."""
    return any(not name.startswith(TABLE) for name in target.config.types or ())


def has_tables(target: Target) -> bool:
    """Whether a method is in force that looks drafts up."""
    return any(name.startswith(TABLE) for name in target.config.types or ())


def tells_drafter(target: Target) -> bool:
    """Whether the economics are of a drafter's cycles alone: of a server with tables too where a trace tells them."""
    drafting = target.economics.drafting
    return has_drafter(target) and (not has_tables(target) or (drafting is not None and drafting.by in _MODELS))


def is_synthetic(target: Target) -> bool:
    """Whether drafts are accepted by chance (``--spec-synth-rates``): lengths then say nothing of drafter or text."""
    flags = target.flags
    given = flags is not None and (flags.spec_synth_rates is not None or flags.spec_synth_len is not None)
    return given or "synthetic_acceptance" in target.log_said
