"""What a rule is and what it finds. Rules are pure: they see the frozen state and the user's profile, no more."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from specscope.session.state import Target
    from specscope.settings import Profile

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
        subject: what it is about (a target id, a slot, a file); with the code it is the finding's identity.
        summary: one line: what is wrong.
        evidence: the figures and lines that show it, as (what, value seen).
        advice: what to change, naming the flag in the server's own words.
        link: where the behaviour is described; may be empty.
        cost_ms: what it costs per cycle, where measured.
    """

    code: str
    name: str
    severity: Severity
    subject: str
    summary: str
    evidence: tuple[tuple[str, str], ...]
    advice: str
    link: str = ""
    cost_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Collecting:
    """A rule that applies here but has not seen enough yet; ``needs`` says what it waits for."""

    needs: str


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: its identity, and its look at one target.

    ``look`` returns findings (none when all is well) or :class:`Collecting`. The explanation for users is the
    docstring of the rule's module, in the sections Looks at, Why it matters, What to do, Evidence.
    """

    code: str
    name: str
    severity: Severity
    look: Callable[[Target, Profile], tuple[Finding, ...] | Collecting]

    def found(
        self,
        target: Target,
        summary: str,
        evidence: tuple[tuple[str, str], ...],
        advice: str,
        *,
        link: str = SERVER_README,
        cost_ms: float | None = None,
    ) -> Finding:
        """A finding of this rule about a target."""
        return Finding(
            self.code, self.name, self.severity, target.id, summary, evidence, advice, link=link, cost_ms=cost_ms
        )
