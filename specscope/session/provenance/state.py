"""The settings of a server as the frozen state has them: value in force, all claims to it, who won, what is advised.

Sampling settings go by the names of llama-server's requests (``top_k``), all others by the long name of their flag with
underscores (``spec_draft_n_max``, ``ctx_size``). Lengths are in tokens unless a name says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from specscope.flags import Value

Origin: TypeAlias = Literal["request", "command line", "environment", "preset", "GGUF", "server default", "unknown"]
"""Where a value was set. ``preset``: a router wrote it on its child's command line. ``unknown``: a value is in force
that nothing known here claims (a flag that cannot be seen, another build's default)."""

Group: TypeAlias = Literal["sampling", "speculation", "context", "compute", "server"]

GROUPS: tuple[Group, ...] = ("sampling", "speculation", "context", "compute", "server")

Adviser: TypeAlias = Literal["profile", "GGUF", "model card"]
"""Who recommends, in the order of whose word counts: the user's profile, the model file, the package's catalogue."""

KnownBy: TypeAlias = Literal["request", "props", "slots", "log", "headers", "worked out", "unknown"]
"""What showed the value in force: /slots of the latest request, /props, /slots itself, the log, the headers of the
model files. ``worked out``: the server shows it nowhere, so it is what its flags and defaults come to."""


@dataclass(frozen=True, slots=True)
class Claim:
    """One place that sets a value.

    Attributes:
        name: how it is written there: ``--top-k``, ``LLAMA_ARG_TOP_K``, ``general.sampling.top_k``, ``"top_k"``.
        value: what it says.
        won: its value is the one in force (of settings that add up, several win).
        why: why it lost, or, for a winner, what kept it from being taken as it is; empty where nothing needs saying.
        unread: it lost because this server does not look at it at all.
    """

    origin: Origin
    name: str
    value: Value
    won: bool = False
    why: str = ""
    unread: bool = False


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What one adviser says of a setting.

    Attributes:
        values: the value, or one for each mode that the adviser tells apart (thinking or not); any of them is right.
        modes: the names of those modes, as many; empty for one value.
        who: the adviser's name: ``the model file``, ``the card of Gemma 4``, ``profile "mine"``.
        source: where it stands: a web address, a GGUF key, a profile's own source.
    """

    by: Adviser
    values: tuple[Value, ...]
    who: str
    source: str
    modes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    Attributes:
        flag: the flag that sets it; empty where only a request can.
        value: what is in force; None: not known.
        known_by: what showed it.
        origin: where it comes from: that of the claim that won.
        certain: nothing that could have set it is hidden from here (command line and environment were read, or the
            request itself set it).
        claims: all places that set it, strongest first; the server's own default is the last.
        note: what the server made of the winning claim, where it is not taken as it is (clamped, fitted, automatic).
        recommended: what counts among the recommendations; None: nobody says anything.
        others: recommendations that do not count, because a stronger adviser speaks.
    """

    name: str
    group: Group
    flag: str = ""
    value: Value | None = None
    known_by: KnownBy = "unknown"
    origin: Origin = "unknown"
    certain: bool = False
    claims: tuple[Claim, ...] = ()
    note: str = ""
    recommended: Recommendation | None = None
    others: tuple[Recommendation, ...] = ()
    deviates: bool = False
    """The value in force is none of those recommended."""
    plain: bool = False
    """Not worth a row: at the server's default and rarely touched, or of a method that is not in force."""

    def claimed(self, origin: Origin) -> Claim | None:
        """The claim of an origin that counts: of several on one command line the last."""
        return next((claim for claim in self.claims if claim.origin == origin), None)


@dataclass(frozen=True, slots=True)
class RequestSet:
    """Requests that were sampled alike.

    Attributes:
        values: the sampling settings of these requests, by name.
        requests: how many were seen with it.
        first_at, last_at: when the first and the last of them was first seen, seconds since the epoch.
        kinds: what their requests have in common that tells clients apart, most frequent first, with how many each.
        tau, tok_s, acceptance: means over those of its requests that ended and are still kept; None: none.
        decode_tau: mean of the same without the first step, which is the prompt's; decode_tau_se: standard error, None
            with fewer than two; decoded: requests in it.
    """

    values: tuple[tuple[str, Value], ...]
    requests: int
    first_at: float
    last_at: float
    kinds: tuple[tuple[str, int], ...] = ()
    tau: float | None = None
    tok_s: float | None = None
    acceptance: float | None = None
    decode_tau: float | None = None
    decode_tau_se: float | None = None
    decoded: int = 0


@dataclass(frozen=True, slots=True)
class Change:
    """A request was sampled otherwise than the one before it on this server.

    ``settings``: (name, before, now); None: it was not shown.
    """

    at: float
    slot: int
    task: int
    settings: tuple[tuple[str, Value | None, Value | None], ...]


@dataclass(frozen=True, slots=True)
class RequestDrift:
    """How the requests of one server differ in sampling.

    Attributes:
        requests: those seen since counting began whose parameters are known.
        sets: the different sets of values, most requests first; ``unlisted`` requests had sets beyond those kept.
        varying: the names that are not alike in all sets.
        changes: the latest changes, oldest first; ``changed`` counts all.
    """

    requests: int = 0
    sets: tuple[RequestSet, ...] = ()
    unlisted: int = 0
    varying: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    changed: int = 0


@dataclass(frozen=True, eq=False, slots=True)
class Provenance:
    """All settings of one server.

    Attributes:
        settings: in the order of their groups.
        build: the build's number, where it or its commit is known.
        adviser: whom the recommendations that count come from, in words; empty when there are none.
        asked_by: slot and task of the latest request whose parameters are known.
        requests: how its requests differ.
        unread: those that the environment sets by a variable that this server does not look at.
    """

    settings: tuple[Setting, ...] = ()
    build: int | None = None
    adviser: str = ""
    asked_by: tuple[int, int] | None = None
    requests: RequestDrift = field(default_factory=RequestDrift)
    unread: tuple[Setting, ...] = ()

    def setting(self, name: str) -> Setting | None:
        """The setting of that name."""
        return next((setting for setting in self.settings if setting.name == name), None)

    @property
    def deviating(self) -> tuple[Setting, ...]:
        """The settings whose value is not the recommended one."""
        return tuple(setting for setting in self.settings if setting.deviates)
