"""At this temperature too little of the drafts is accepted for speculation to pay.

Looks at: tokens per step of requests at a temperature of 0.8 and above, against the tau from which a cycle pays; and
the same of cooler requests, where there were any.

Why it matters: a drafter proposes its likeliest token, and the target samples: the hotter, the more often another
one. The same pair may gain on code at temperature 0 and lose on prose at 1. The average of both hides it.

What to do: ``--spec-draft-sampling probabilistic`` (builds from b11434 on) lets the drafter sample too; else a
narrower draft, or a server without drafts for hot requests. Requests cannot choose: their ``speculative.*`` fields
are compiled out of the server.

Evidence: at least 5 hot requests that ended, and the 95 % interval of their mean tau below that of the tau that
pays (by 1 % to be raised). Only where a draft that is accepted to its end would pay, and cooler requests, if there
are any, do not all lose as well: else it is not the temperature. The cost is what a hot cycle takes longer than plain
decoding takes for its tokens.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.drafting import (
    SPECULATION,
    has_drafter,
    is_synthetic,
    judged,
    plain_words,
    ranged,
    set_width,
    switches,
)
from specscope.findings.rule import Collecting, Rule
from specscope.findings.unjudged import PLAIN, SYNTHETIC, TABLES_ALONE, no_method, wait
from specscope.session.economics.batches import t95
from specscope.session.economics.state import Economics, Span
from specscope.session.provenance.builds import HAS_NEW

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen, Unjudged
    from specscope.session.provenance.state import RequestSet
    from specscope.session.state import Target

HOT: Final = 0.8
"""The server's own default, at which a greedy draft is already a guess."""

LEAST_REQUESTS: Final = 5

BELOW: Final = 0.99
"""The mean's upper end, as a share of the tau that pays at least."""

NOT_BELOW: Final = 1.0

NARROW: Final = 2
"""A draft of one or two tokens loses little when it is rejected."""


def look(case: Case) -> Seen:
    """Judge one server."""
    target, sets = case.target, case.target.provenance.requests.sets
    hot = _hottest([s for s in sets if (_temperature(s) or 0.0) >= HOT])
    economics = _judged(target)
    if not isinstance(economics, Economics):
        return economics
    if hot is None:
        seen = sum(s.requests for s in sets)
        return wait(target, f"requests at a temperature of {HOT} and above (none of the {seen} seen)")
    pays, plain, cycle_ms = economics.break_even_tau, economics.plain, economics.cycle_ms
    if pays is None or plain is None or cycle_ms is None:
        return PLAIN
    if pays.value >= (economics.n_max or 0) + 1:
        return ()  # a draft that is accepted to its end would lose as well
    tau = _mean(hot)
    if tau is None:
        return Collecting(f"{LEAST_REQUESTS} hot requests that ended ({hot.decoded} so far)")
    if not case.holds(tau.high / pays.low, raise_at=BELOW, clear_at=NOT_BELOW):
        return ()
    cold = [s for s in sets if (heat := _temperature(s)) is not None and heat < HOT and s.decode_tau is not None]
    if cold and all((s.decode_tau or 0.0) < pays.low for s in cold):
        return ()
    heat = _temperature(hot) or 0.0
    return (
        RULE.found(
            case,
            f"at temperature {heat:g} a cycle yields {tau.value:.2f} tokens; it pays from {pays.value:.2f} on",
            (
                (f"tau at temperature {heat:g}", f"{ranged(tau)}, {hot.decoded} requests"),
                *(
                    (f"tau at temperature {_temperature(s):g}", f"{s.decode_tau:.2f}, {s.decoded} requests")
                    for s in cold
                ),
                ("pays from", f"tau {ranged(pays)}"),
                ("a plain step takes", plain_words(plain)),
                ("drafts", _sampling(target) or "by the likeliest token"),
            ),
            _advice(target),
            link=SPECULATION,
            cost_ms=cycle_ms.value - tau.value * plain.ms,
        ),
    )


def _judged(target: Target) -> Economics | Unjudged:
    if not has_drafter(target):
        return no_method(target) or TABLES_ALONE
    return SYNTHETIC if is_synthetic(target) else judged(target)


def _temperature(found: RequestSet) -> float | None:
    value = dict(found.values).get("temperature")
    return value if isinstance(value, (int, float)) else None


def _hottest(sets: list[RequestSet]) -> RequestSet | None:
    """The hot set of which most is known."""
    return max(sets, key=lambda s: s.decoded, default=None)


def _mean(found: RequestSet) -> Span | None:
    """The mean tau of a set with its interval; None with too few requests."""
    if found.decoded < LEAST_REQUESTS or found.decode_tau is None or found.decode_tau_se is None:
        return None
    half = t95(found.decoded - 1) * found.decode_tau_se
    return Span(found.decode_tau, found.decode_tau - half, found.decode_tau + half)


def _sampling(target: Target) -> str | None:
    setting = target.provenance.setting("spec_draft_sampling")
    return setting.value if setting is not None and isinstance(setting.value, str) else None


def _advice(target: Target) -> str:
    narrow = f"{set_width(target, NARROW)}, or a server without {switches(target)} for hot requests"
    build = target.provenance.build
    if _sampling(target) == "probabilistic" or (build is not None and build < HAS_NEW):
        return f"try {narrow}"
    since = "" if build is not None else " (from b11434 on)"
    return f"try --spec-draft-sampling probabilistic{since}, else {narrow}"


RULE = Rule("SPC124", "hot_sampling_loses", "info", look)
