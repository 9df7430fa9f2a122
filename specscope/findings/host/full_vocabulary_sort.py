"""Nothing narrows the candidates before they are sorted, so that each verified position works on the whole vocabulary.

Looks at: the effective ``top_k`` and ``min_p`` (the last request's on /slots, else the defaults of /props), and
where the sampler is traced, the time of one sampled token per entry of the vocabulary.

Why it matters: with ``top_k`` 0 and ``min_p`` 0 the sampler before top_p keeps all entries, and top_p sorts them
where the distribution is flat. It happens on the host for every verified position. On an H200 a cycle went from
13.0 to 50.7 ms by it.

What to do: set ``--top-k`` (20-64, model cards name it) or ``--min-p`` above 0, on the server or in the requests.

Evidence: at least 50 traced turns with 35 ns or more per sampled token and entry of the vocabulary: midway (as a
factor) between the 11 ns of the H200's 13.0 ms cycle and the 117 ns of its 50.7 ms cycle. The cost is what lies
above 11 ns. Untraced, the parameters alone are reported, as information.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.rule import Collecting, Rule

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

ADVICE: Final = "set --top-k 40 (or what the model card names) or --min-p above 0, on the server or in the requests"


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    if not _unnarrowed(target) or target.backend_path.target == "device":
        return ()
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
            f"sampling works on all {vocabulary:,} tokens of the vocabulary at each verified position",
            (
                ("sampling", _parameters(target)),
                ("each sampled token", f"{each_ms:.2f} ms, {each_ns:.0f} ns an entry ({USUAL_NS:.0f} is usual)"),
                ("tokens sampled", f"{tokens:.1f} a turn"),
            ),
            ADVICE,
            cost_ms=(each_ns - USUAL_NS) * vocabulary * tokens / 1e6,
        ),
    )


def _unnarrowed(target: Target) -> bool:
    top_k, min_p = _number(target, "top_k"), _number(target, "min_p")
    return top_k is not None and top_k <= 0 and min_p is not None and min_p <= TOLERANCE


def _number(target: Target, name: str) -> float | None:
    value = target.config.sampling.get(name)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


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
    """Untraced. Greedy requests and a top_p of 1 sort nothing."""
    target = case.target
    temperature, top_p = _number(target, "temperature"), _number(target, "top_p")
    if (temperature is not None and temperature <= 0) or (top_p is not None and top_p >= 1):
        return ()
    return (
        RULE.found(
            case,
            "top_k 0 and min_p 0 leave the whole vocabulary to sort at each verified position",
            (
                ("sampling", _parameters(target)),
                ("cost", "not measured here; a trace shows it (--trace auto, as root)"),
            ),
            ADVICE,
            severity="info",
        ),
    )


def _parameters(target: Target) -> str:
    where = "the last request, /slots" if target.config.sampling_from == "request" else "/props"
    known = {name: _number(target, name) for name in ("top_k", "min_p", "top_p")}
    return ", ".join(f"{n} {v:.4g}" for n, v in known.items() if v is not None) + f" ({where})"


RULE = Rule("SPC503", "full_vocabulary_sort", "warning", look)
