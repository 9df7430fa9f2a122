"""The deeper the context, the less speculation gains.

Looks at: the speedup over plain decoding in bands of resident tokens that double; plain decoding as deep is known
from a recorded run (``--runs``), or from steps that tables left without a draft.

Why it matters: a drafter that attends to the whole context takes longer with each token in it, and may know less of
what lies far back. A server fell from 20.5 to 16 tok/s at 30,000 tokens although 98 % were accepted. Others gain more
with depth: a block drafter went from 1.4 to 4.4 times plain speed. One average tells neither.

What to do: compare another method at this depth (a block drafter, n-gram tables), or keep the context shorter
(``--ctx-size``); where the deep end loses, run long contexts without ``--spec-type``.

Evidence: at least 50 steps in each band; the deepest band has lost half or more of the best shallower band's gain
(cleared when it keeps 65 %), and the 95 % intervals of both are apart. A warning where the deepest band is slower
than plain decoding for certain.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.drafting import judged, ranged, switches
from specscope.findings.rule import Collecting, Rule
from specscope.session.economics.state import Economics
from specscope.session.economics.verdict import pays

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Seen
    from specscope.session.economics.state import DepthGain

LINK: Final = "https://github.com/ggml-org/llama.cpp/pull/27342"

LEAST_GAIN: Final = 0.05
"""Of a shallow band: less is nothing to lose."""

KEPT: Final = 0.5
MORE_KEPT: Final = 0.65


def look(case: Case) -> Seen:
    """Judge one server."""
    economics = judged(case.target)
    if not isinstance(economics, Economics):
        return economics
    rows = economics.by_depth
    if len(rows) < 2:  # noqa: PLR2004  one depth has nothing to fade from
        return Collecting("plain decode time and 50 cycles each at two context depths (specscope recipe plain)")
    deep, best = rows[-1], max(rows[:-1], key=lambda row: row.speedup.value)
    gain = best.speedup.value - 1
    apart = deep.speedup.high < best.speedup.low or case.subject() in case.raised
    if gain < LEAST_GAIN or not apart:
        return ()
    if not case.holds((deep.speedup.value - 1) / gain, raise_at=KEPT, clear_at=MORE_KEPT):
        return ()
    return (
        RULE.found(
            case,
            f"beyond {deep.tokens:,} tokens speculation has {deep.speedup.value:.2f} x plain speed, "
            f"{best.speedup.value:.2f} x before",
            (
                *((f"{row.tokens:,} to {row.to_tokens:,} tokens", _words(row)) for row in rows),
                ("rests on", economics.basis),
            ),
            "compare another method at this depth, keep the context shorter (--ctx-size), or run long contexts without "
            f"{switches(case.target)}",
            severity="warning" if pays(deep.speedup) is False else None,
            link=LINK,
        ),
    )


def _words(row: DepthGain) -> str:
    return f"{ranged(row.speedup)} x, {row.steps:,} steps"


RULE = Rule("SPC131", "gain_fades_with_depth", "info", look)
