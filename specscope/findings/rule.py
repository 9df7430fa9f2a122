"""What a rule is and what it finds. Rules are pure: they look at the frozen state and at settings, nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from specscope.session.state import Target
    from specscope.settings import Profile

Severity: TypeAlias = Literal["info", "warning", "critical"]

SEVERITIES: tuple[Severity, ...] = ("info", "warning", "critical")


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
    """A rule that applies here but has not seen enough yet."""

    needs: str


class Rule(Protocol):
    """A rule module's ``RULE`` object: its identity, and the look at one target.

    ``look`` returns findings (none when all is well) or :class:`Collecting`.
    """

    code: str
    name: str
    severity: Severity

    def look(self, target: Target, profile: Profile) -> tuple[Finding, ...] | Collecting:
        """Judge one target against what the user's profile recommends."""
        ...
