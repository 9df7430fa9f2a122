"""The settings, put together: what is in force, where it comes from, what else claims it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from specscope.session.provenance.claims import claims_on
from specscope.session.provenance.effective import Shown, asked, server_wide, shown
from specscope.session.provenance.judge import add_up, judge, methods
from specscope.session.provenance.known import AUTO, KNOWN
from specscope.session.provenance.state import Claim, Setting
from specscope.session.provenance.values import same, written

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from specscope.flags import Value
    from specscope.session.provenance.judge import Verdict
    from specscope.session.provenance.known import Known
    from specscope.session.provenance.seen import Seen

SPEC_TYPE: Final = next(known for known in KNOWN if known.name == "spec_type")


def settings_of(seen: Seen, names: AbstractSet[str] | None = None) -> tuple[Setting, ...]:
    """All settings that are known of this server, or those of these names, in the order of their groups."""
    wanted = [known for known in KNOWN if names is None or known.name in names]
    types = _other(SPEC_TYPE, seen)
    found = [
        types if k is SPEC_TYPE else _sampling(k, seen) if k.group == "sampling" else _other(k, seen) for k in wanted
    ]
    return tuple(
        replace(setting, plain=not _worth_telling(known, setting, types.value))
        for known, setting in zip(wanted, found, strict=True)
        if setting.value is not None or setting.claims
    )


def _worth_telling(known: Known, setting: Setting, types: Value | None) -> bool:
    if any(claim.origin != "server default" for claim in setting.claims):
        return True
    if setting.value is None or (known.name == "slot_ctx" and not setting.note):
        return False
    if known.method and not any(method.startswith(known.method) for method in methods(types)):
        return False
    return not known.rare or not (known.default is None or same(setting.value, known.default))


def _sampling(known: Known, seen: Seen) -> Setting:
    """A sampling setting: that of the latest request, where there was one."""
    claims = claims_on(known, seen)
    wide, own = server_wide(known.name, seen), asked(known.name, seen)
    verdict = judge(claims, wide.value if wide is not None else None, seen, exact=True)
    expected = wide.value if wide is not None else verdict.winner.value if verdict.winner is not None else None
    if own is not None and not same(own.value, expected):
        claim = Claim("request", f'"{known.name}"', own.value, won=True)
        lost = [replace(c, won=False, why="the request set its own" if c.won else c.why) for c in verdict.claims]
        return _setting(known, own, (claim, *lost), claim, certain=wide is not None or _all_read(seen))
    return _setting(known, own or wide, verdict.claims, verdict.winner, certain=_all_read(seen))


def _other(known: Known, seen: Seen) -> Setting:
    """Any other setting."""
    claims, showing = claims_on(known, seen), shown(known.name, seen)
    value = showing.value if showing is not None else None
    if known.name == "spec_type":
        verdict = add_up(claims, value, seen)
        if showing is None and verdict.winner is not None and _all_read(seen):
            showing = _added(verdict)
    else:
        verdict = judge(claims, value, seen, exact=not _all_read(seen))
    if known.name == "slot_ctx" and showing is not None:
        return _share(known, showing, seen)
    return _setting(known, showing, verdict.claims, verdict.winner, certain=_all_read(seen))


def _share(known: Known, showing: Shown, seen: Seen) -> Setting:
    """The context of a slot, which no flag sets: its share of the whole, from where that comes."""
    slots, whole = shown("parallel", seen), _other(next(k for k in KNOWN if k.name == "ctx_size"), seen)
    note = ""
    if whole.value is not None and slots is not None and slots.value != 1:
        note = "all of ctx_size, which the slots share" if same(whole.value, showing.value) else "its share of ctx_size"
    alone = _setting(known, showing, (), None, certain=True)
    return replace(alone, origin=whole.origin, certain=whole.certain, note=note)


def _added(verdict: Verdict) -> Shown:
    """What methods a command line comes to that nothing shows yet."""
    named = {m: None for claim in reversed(verdict.claims) if claim.won for m in _ordered(claim.value)}
    return Shown(tuple(named) or ("none",), "worked out")


def _ordered(value: Value) -> list[str]:
    return [str(word) for word in value if word != "none"] if isinstance(value, tuple) else []


def _setting(
    known: Known, showing: Shown | None, claims: tuple[Claim, ...], winner: Claim | None, *, certain: bool
) -> Setting:
    """The setting; without anything that shows it, its value is what the winning claim comes to."""
    note = showing.note if showing is not None else ""
    if showing is None and winner is not None and (certain or winner.origin != "server default"):
        showing = Shown(winner.value, "worked out")
    if not note and showing is not None and winner is not None and not same(showing.value, winner.value):
        note = _made_of(winner, showing.value) if known.name != "spec_type" else ""
    return Setting(
        name=known.name,
        group=known.group,
        flag=known.flag,
        value=showing.value if showing is not None else None,
        known_by=showing.by if showing is not None else "unknown",
        origin=winner.origin if winner is not None and showing is not None else "unknown",
        certain=certain and winner is not None and showing is not None,
        claims=claims,
        note=note,
    )


def _made_of(winner: Claim, value: Value) -> str:
    if winner.value in (AUTO, -1) or (winner.value == 0 and not isinstance(winner.value, bool)):
        return "the server's own choice"
    return f"the server made {written(value)} of {written(winner.value)}"


def _all_read(seen: Seen) -> bool:
    """Whether nothing that sets the server's values is hidden: its command line and its environment were read."""
    process = seen.process
    return process is not None and bool(process.argv) and process.env is not None
