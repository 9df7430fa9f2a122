"""Two kinds of requests run through this server, and its averages describe neither.

Looks at: the requests parted by tokens per step, where that shows two kinds and none of them was labelled.

Why it matters: code and prose, planning and tool calls are drafted with very different success: the same pair had
80.9 tok/s on code and 38.3 on mixed work. The best width, the speedup and the acceptance of both together belong to
no request, and move when the mix does.

What to do: label the kinds: key m on the screen, or ``--label`` of ``specscope record``, and judge each by itself.

Evidence: two kinds by the requests' own figures (at least 12 requests, 4 of each, very strong evidence by the
Bayesian information criterion), each with a tenth of the tokens or more, their tau apart by a factor of 1.3 (cleared
below 1.15).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.drafting import SPECULATION
from specscope.findings.rule import Inapplicable, Rule
from specscope.findings.unjudged import no_method, wait
from specscope.session.economics.mixture import LEAST

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen
    from specscope.session.economics.state import Regime

APART: Final = 1.3
CLOSE: Final = 1.15

LEAST_SHARE: Final = 0.1
"""Of the tokens: less hardly moves an average."""


def look(case: Case) -> Seen:
    """Judge one server."""
    target, regimes = case.target, case.target.regimes
    if not target.config.types and not target.totals.cycles:
        return no_method(target) or ()
    if any(regime.how == "label" for regime in regimes):
        return Inapplicable("the kinds of requests are labelled")
    requests = regimes[0].requests if regimes else 0
    if requests < LEAST:
        return wait(target, f"{LEAST} requests that ended ({requests} so far)")
    kinds = [r for r in regimes if r.how == "split" and r.tau is not None and r.share_tokens >= LEAST_SHARE]
    if len(kinds) < 2:  # noqa: PLR2004  one kind is no mix
        return ()
    high, low = max(kinds, key=_tau), min(kinds, key=_tau)
    if not case.holds(_tau(high) / max(1.0, _tau(low)), raise_at=APART, clear_at=CLOSE):
        return ()
    whole = regimes[0]
    return (
        RULE.found(
            case,
            f"tau {_tau(whole):.2f} is the mean of two kinds of requests: {_tau(high):.2f} and {_tau(low):.2f}",
            tuple((regime.name, _words(regime)) for regime in (whole, high, low)),
            "label the kinds (key m, or specscope record --label), and judge width and speedup of each by itself",
            link=SPECULATION,
        ),
    )


def _tau(regime: Regime) -> float:
    return regime.tau or 1.0


def _words(regime: Regime) -> str:
    error = f" ± {2 * regime.tau_se:.2f}" if regime.tau_se is not None else ""
    words = f"{regime.requests} requests, tau {_tau(regime):.2f}{error}, {regime.share_tokens:.0%} of the tokens"
    return words if regime.speedup is None else f"{words}, {regime.speedup:.2f} x plain decoding"


RULE = Rule("SPC134", "mixed_regimes_averaged", "info", look)
