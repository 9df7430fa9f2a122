"""Even the first token of a draft fails half the time: drafter and target do not match.

Looks at: how often the first drafted token is accepted, of the drafter's own cycles where tables draft before it;
the names of both models, and the temperature in force.

Why it matters: a drafter that fits its target has its first token accepted in 7 to 9 of 10 drafts; what is lost
further on is a matter of the width. At the first token only the match counts: a fine-tuned or heavily quantised
target, a drafter for another version, another chat template or thinking mode, a high temperature. Public reports
have 1.4 to 12 % where 60 % were published.

What to do: use the drafter that was made for this very model (``--spec-draft-model``; of MTP layers a file in which
they are the model's own), with the chat template and thinking mode that it was trained with. Compare at temperature 0
to tell a mismatch from hot sampling.

Evidence: at least 200 cycles, and the first token's 95 % interval ends below 50 % (cleared at 55 %). Acceptance by
chance (``--spec-synth-rates``) says nothing of the drafter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.dialect import flag_of
from specscope.findings.drafter_file import NEEDS_DRAFTER
from specscope.findings.drafting import SPECULATION, at_width, has_tables, is_synthetic, no_drafter, switches
from specscope.findings.rule import Rule
from specscope.findings.unjudged import SYNTHETIC, WIDTHS, wait
from specscope.session.economics.batches import wilson
from specscope.session.economics.state import Span
from specscope.session.economics.words import upper

if TYPE_CHECKING:
    from specscope.events import ModelRead
    from specscope.findings.rule import Case, Seen
    from specscope.session.state import Target

MIN_CYCLES: Final = 200
"""A share of one half is then known to a seventh."""

HALF: Final = 0.5
MORE: Final = 0.55

OWN_LAYERS: Final = "the target's own MTP layers"

FIRST_SHOWN: Final = 4
"""So many positions are shown: a mismatch is low from the first on, a width that is too large only further out."""


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    none = SYNTHETIC if is_synthetic(target) else no_drafter(target)
    if none is not None:
        return none
    cycles = target.economics.cycles or target.totals.cycles or 0
    if cycles < MIN_CYCLES:
        return wait(target, f"{MIN_CYCLES} draft cycles ({cycles} so far)")
    first = _first(target)
    if first is None:
        return WIDTHS
    if not case.holds(first.high, raise_at=HALF, clear_at=MORE):
        return ()
    return (
        RULE.found(
            case,
            f"even the first drafted token is accepted only {first.value:.0%} of the time: the drafter does not match",
            (
                ("first token accepted", f"{first.value:.0%} ({first.low:.0%} to {first.high:.0%}), {cycles:,} cycles"),
                *_positions(target),
                ("target", _named(target.models.get("target"))),
                ("drafter", OWN_LAYERS if _drafts_itself(target) else _named(target.models.get("drafter"))),
                *_temperature(target),
            ),
            f"{_meanwhile(target)}{_fitting(target)}, with its chat template and thinking mode; "
            "compare at temperature 0",
            link=SPECULATION,
        ),
    )


def _first(target: Target) -> Span | None:
    """How often the first drafted token is accepted: by the cycles seen, else by the server's counters."""
    point = at_width(target.economics, 1)
    if point is not None and point.tau is not None:
        return Span(point.tau.value - 1, point.tau.low - 1, point.tau.high - 1)
    totals = target.totals
    if not totals.survival or not totals.cycles:
        return None
    return Span(*wilson(totals.survival[0].share * totals.cycles, totals.cycles))


def _positions(target: Target) -> tuple[tuple[str, str], ...]:
    rates = () if has_tables(target) else target.totals.survival[:FIRST_SHOWN]
    return (("accepted so far", ", ".join(f"{rate.share:.0%}" for rate in rates) + " of the cycles"),) if rates else ()


def _drafts_itself(target: Target) -> bool:
    """Whether the target drafts by its own MTP layers: no file was given beside it."""
    flags, others = target.flags, set(target.config.types or ()) & NEEDS_DRAFTER
    given = flags is None or flags.draft_model or flags.draft_repo or "drafter" in target.models
    return "draft-mtp" in (target.config.types or ()) and not others and not given


def _fitting(target: Target) -> str:
    if _drafts_itself(target):
        return "use a file of this model with the MTP layers that were trained with it"
    return f"use the drafter made for this model ({flag_of(target, '--spec-draft-model')})"


def _meanwhile(target: Target) -> str:
    """What to do before anything else, where no draft of this drafter can pay."""
    most = target.economics.tau_at_most
    if most is None:
        return ""
    return f"no width can pay ({upper(most)} tokens a cycle at most): run without {switches(target)} until then; "


def _named(model: ModelRead | None) -> str:
    if model is None:
        return "header not read"
    made_of = f", made from {model.base_models[0]}" if model.base_models else ""
    return f"{model.name or model.path.rpartition('/')[2]}{made_of}"


def _temperature(target: Target) -> tuple[tuple[str, str], ...]:
    value = target.config.sampling.get("temperature")
    return (("temperature", f"{value:.3g}"),) if isinstance(value, (int, float)) else ()


RULE = Rule("SPC118", "drafter_mismatch", "warning", look)
