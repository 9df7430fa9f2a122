"""What a rule is, what it sees and what it finds. Rules are pure: they see frozen state, no clock and no files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from specscope.session.state import Session, Target

Severity: TypeAlias = Literal["info", "warning", "critical"]

SEVERITIES: Final[tuple[Severity, ...]] = ("info", "warning", "critical")
"""Least first."""

SERVER_README: Final = "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong, with what shows it and what to change.

    Attributes:
        code: stable, ``SPC`` and three digits: 1xx speculation, 2xx sampling, 3xx GPU, 4xx memory and KV,
            5xx host, 6xx server and attaching.
        name: the problem's name, stable.
        severity: the rule's own, unless the rule holds this case for better or worse.
        target: the id of the server.
        subject: what it is about: the target's id, and what of it (``t0``, ``t0 slot 2``, ``t0 draft-dflash``);
            with the code it is the finding's identity, so it must not hold a figure that moves.
        summary: one line: what is wrong.
        evidence: the figures and lines that show it, as (what, value seen).
        advice: what to change, naming the flag in the server's own words.
        link: where the behaviour is described; may be empty.
        cost_ms: what it costs per draft cycle (without drafts: per step), in ms, where measured.
        cost_tok_per_s: what it costs in generated tokens per second, where measured that way.
        settled: what shows it cannot come and go while the server runs (a flag, a file, a line of its start): it is
            raised at the first look, and cleared at the first look that does not find it.
        since: when it was first seen without a break, seconds since the epoch; the engine sets it.
    """

    code: str
    name: str
    severity: Severity
    target: str
    subject: str
    summary: str
    evidence: tuple[tuple[str, str], ...]
    advice: str
    link: str = ""
    cost_ms: float | None = None
    cost_tok_per_s: float | None = None
    settled: bool = False
    since: float | None = None

    @property
    def cost_words(self) -> str:
        """What it costs, for people; empty where that was not measured."""
        if self.cost_ms is not None:
            return f"{self.cost_ms:.1f} ms a cycle"
        return f"{self.cost_tok_per_s:.1f} tok/s" if self.cost_tok_per_s is not None else ""


@dataclass(frozen=True, slots=True)
class Collecting:
    """A rule that applies here but has not seen enough yet; ``needs`` says what it waits for, as in "needs ..."."""

    needs: str


@dataclass(frozen=True, slots=True)
class Inapplicable:
    """A rule that has nothing to judge on this server as it is; ``why`` says so, as in "does not apply: ..."."""

    why: str


Unjudged: TypeAlias = Collecting | Inapplicable
"""A look that could not judge."""

Seen: TypeAlias = tuple[Finding, ...] | Unjudged
"""What a look gives: findings (none only where it judged and nothing is wrong), or why it could not judge."""


@dataclass(frozen=True, slots=True)
class Case:
    """What a rule looks at.

    Attributes:
        target: the server that is judged.
        session: the whole state: the machine, its GPUs, the other servers.
        raised: the subjects for which this rule is raised now (:meth:`holds`).
        against: the last state of a recording to compare with (``check --against``); None without one.
    """

    target: Target
    session: Session
    raised: frozenset[str] = frozenset()
    against: Session | None = None

    def subject(self, part: str = "") -> str:
        """The subject of a finding about a part of the server (``slot 2``), or about the server itself."""
        return f"{self.target.id} {part}" if part else self.target.id

    def holds(self, value: float | None, *, raise_at: float, clear_at: float, part: str = "") -> bool:
        """Whether a figure is bad enough, by one threshold to be raised and a milder one to stay raised.

        Args:
            value: the figure; None is never bad.
            raise_at: so bad, or worse, raises the finding.
            clear_at: once raised, it stays until the figure is better than this. Below ``raise_at`` for a figure
                that is bad when high, above it for one that is bad when low.
            part: what of the server the finding is about, as for :meth:`subject`.

        Raises:
            ValueError: the thresholds are equal, so that they do not say which way is worse.
        """
        if raise_at == clear_at:
            raise ValueError(f"one threshold cannot both raise and clear: {raise_at:g}")
        if value is None:
            return False
        threshold = clear_at if self.subject(part) in self.raised else raise_at
        return value >= threshold if raise_at > clear_at else value <= threshold


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its identity, and its look at one case.

    ``look`` returns findings (none when it had what it needs to judge by, and all is well), :class:`Collecting` or
    :class:`Inapplicable`. The explanation for users is the
    docstring of the rule's module, in the sections Looks at, Why it matters, What to do, Evidence.
    """

    code: str
    name: str
    severity: Severity
    look: Callable[[Case], Seen]

    def found(
        self,
        case: Case,
        summary: str,
        evidence: tuple[tuple[str, str], ...],
        advice: str,
        *,
        part: str = "",
        severity: Severity | None = None,
        settled: bool = False,
        link: str = SERVER_README,
        cost_ms: float | None = None,
        cost_tok_per_s: float | None = None,
    ) -> Finding:
        """A finding of this rule about the case's server, or about a part of it (``slot 2``)."""
        return Finding(
            code=self.code,
            name=self.name,
            severity=severity or self.severity,
            target=case.target.id,
            subject=case.subject(part),
            summary=summary,
            evidence=evidence,
            advice=advice,
            link=link,
            cost_ms=cost_ms,
            cost_tok_per_s=cost_tok_per_s,
            settled=settled,
        )
