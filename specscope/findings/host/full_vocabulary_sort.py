"""Nothing narrows the candidates before they are sorted, so that each verified position works on the whole vocabulary.

Looks at: the effective ``top_k``, ``top_p``, ``min_p`` and the order of the samplers (the last request's on /slots,
else the defaults of /props), and where the sampler is traced, the time of one sampled token per entry of the
vocabulary.

Why it matters: with ``top_k`` 0 all entries come to top_p, which sorts them where the distribution is flat; with one
of thousands, so many. It happens on the host for every verified position, at any temperature. On an H200 a cycle went
from 13.0 to 50.7 ms by it; on two cores, with 49,152 entries, from 17 to 36 ms. ``min_p`` comes after top_p and saves
nothing of it: 37 ms with 0.05, but 19 where it was put first in ``--samplers``.

What to do: set ``--top-k`` (20-64, model cards name it) on the server or in the requests.

Evidence: at least 50 traced turns with 35 ns or more per sampled token and entry of the vocabulary: midway (as a
factor) between the 11 ns of the H200's 13.0 ms cycle and the 117 ns of its 50.7 ms cycle. The cost is what lies
above 11 ns. Untraced, the parameters alone are reported, as information: no ``top_k``, or one above 1,000.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.rule import Collecting, Inapplicable, Rule
from specscope.findings.sampler_chain import chain, number
from specscope.findings.unjudged import wait

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Finding, Seen
    from specscope.session.state import Target
    from specscope.session.turn_state import Anatomy

MIN_TURNS: Final = 50
"""Turns before the mean is judged: single ones vary by a few tens of percent, the mean of 50 by a few."""

USUAL_NS: Final = 10.7
"""Per sampled token and entry: 29 % of 13.0 ms for 7.2 tokens of 49,152 entries (H200, top_k 40)."""

SORTING_NS: Final = 35.0
"""The geometric mean of that and of 117 ns: (50.7 - 13.0 + 3.8) ms for as many."""

LEAST_WAIT: Final = 0.05
"""A device that verifies takes more of the turn than this (half of it on an H200). With less, the waiting was not
seen apart: builds that do not wait on their own do so within the first sampling."""

LESS_NS: Final = 20.0
"""Below it, a raised finding is cleared: the geometric mean of what is usual and what is sorting."""

TOLERANCE: Final = 1e-6
"""The server widens float32 to double."""

MANY: Final = 1000
"""A ``top_k`` above this sorts so many that it costs about as much (2,000 on two cores: 20.5 ms beside 16.9)."""

SORTING: Final = {"top_p": "top_p", "typ_p": "typical_p"}
"""Samplers that sort what comes to them, by the names of /slots, and the parameter that switches each off at 1
(src/llama-sampler.cpp, b11434)."""

ADVICE: Final = "set --top-k 40 (or what the model card names), on the server or in the requests"


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    if not _unnarrowed(target):
        unknown = number(target, "top_k") is None and "top_k" in chain(target)
        return wait(target, "/props or a request on /slots") if unknown else ()
    if target.backend_path.target == "device":
        return Inapplicable("tokens are sampled on the device")
    measured = _measured(target)
    if measured is None:
        return _by_parameters(case)
    if isinstance(measured, Collecting):
        return measured
    each_ms, tokens, vocabulary = measured
    each_ns = each_ms * 1e6 / vocabulary
    if not case.holds(each_ns, raise_at=SORTING_NS, clear_at=LESS_NS):
        return ()
    return (
        RULE.found(
            case,
            f"sampling works on {_left(target, vocabulary)} at each verified position",
            (
                ("sampling", _parameters(target)),
                ("each sampled token", f"{each_ms:.2f} ms, {each_ns:.0f} ns an entry ({USUAL_NS:.0f} is usual)"),
                ("tokens sampled", f"{tokens:.1f} a turn"),
            ),
            _advice(target),
            cost_ms=(each_ns - USUAL_NS) * vocabulary * tokens / 1e6,
        ),
    )


def _unnarrowed(target: Target) -> bool:
    """Whether a sampler that sorts comes before any that narrows. With mirostat there are others in their place."""
    for name in chain(target):
        if name == "top_k":
            top_k = number(target, "top_k")
            if top_k is None or 0 < top_k <= MANY:
                return False
        elif name in ("min_p", "top_n_sigma") and (number(target, name) or 0.0) > TOLERANCE:
            return False
        elif _sorts(target, name):
            return True
    return False


def _sorts(target: Target, name: str) -> bool:
    return name in SORTING and (number(target, SORTING[name]) or 1.0) < 1.0


def _too_early(target: Target) -> str:
    """The sampler that sorts before top_k has its turn, whatever its value; empty where top_k comes first."""
    order = chain(target)
    first = next(name for name in order if name == "top_k" or _sorts(target, name))
    return "" if first == "top_k" else first


def _measured(target: Target) -> tuple[float, float, int] | Collecting | None:
    """Milliseconds of a sampled token, tokens per turn, the vocabulary; None: the sampler is not traced."""
    anatomy = target.anatomy
    model = target.models.get("target")
    if anatomy is None or model is None or not model.n_vocab or not anatomy.turns:
        return None
    if anatomy.parts.sampling_ms is None or not anatomy.samples or _hides_waiting(anatomy):
        return None
    if anatomy.turns < MIN_TURNS:
        return Collecting(f"{MIN_TURNS} traced turns ({anatomy.turns} so far)")
    tokens = anatomy.samples / anatomy.turns
    return anatomy.parts.sampling_ms / tokens, tokens, model.n_vocab


def _hides_waiting(anatomy: Anatomy) -> bool:
    return bool(anatomy.asynchronous) and (anatomy.parts.wait_ms or 0.0) < LEAST_WAIT * anatomy.parts.whole_ms


def _by_parameters(case: Case) -> tuple[Finding, ...]:
    """Untraced."""
    target, early = case.target, _too_early(case.target)
    given = f"no top_k before {early}" if early else f"top_k {number(target, 'top_k'):.4g}"
    return (
        RULE.found(
            case,
            f"{given} leaves {_left(target)} to sort at each verified position",
            (
                ("sampling", _parameters(target)),
                ("cost", "not measured here; a trace shows it (--trace auto, as root)"),
            ),
            _advice(target),
            severity="info",
        ),
    )


def _advice(target: Target) -> str:
    early = _too_early(target)
    return f'name top_k before {early} in --samplers (or "samplers" of the requests) and {ADVICE}' if early else ADVICE


def _left(target: Target, vocabulary: int | None = None) -> str:
    """What is left to sort."""
    top_k = number(target, "top_k")
    if top_k is not None and top_k > 0 and not _too_early(target):
        return f"the {top_k:,.0f} likeliest tokens"
    return "the whole vocabulary" if vocabulary is None else f"all {vocabulary:,} tokens of the vocabulary"


def _parameters(target: Target) -> str:
    where = "the last request, /slots" if target.config.sampling_from == "request" else "/props"
    known = {name: number(target, name) for name in ("top_k", "min_p", "top_p")}
    order = f", samplers {' '.join(chain(target))}" if _too_early(target) else ""
    return ", ".join(f"{n} {v:.4g}" for n, v in known.items() if v is not None) + f"{order} ({where})"


RULE = Rule("SPC503", "full_vocabulary_sort", "warning", look)
