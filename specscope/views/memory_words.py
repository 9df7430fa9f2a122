"""A server's memory in words: sizes, what the parts add up to, how full the KV cache is, and how memory grew."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.views.figures import MARKS, UNKNOWN, clock, percent, span, whole
from specscope.views.memory_parts import own_bytes

if TYPE_CHECKING:
    from specscope.session.memory.map_state import AtFull, Growth, KvFill, MemoryMap

MIB: Final = 2**20
GIB: Final = 2**30
GUESSED: Final = MARKS["estimated"]

LOG_HINT: Final = "for what is not told start the server with -lv 4"
TOO_LARGE: Final = 1.005
"""From this share of the process on, the parts are said to be told too large: less is rounding."""


def mib(count: float | None) -> str:
    """``9,718``; something too small for a whole one is not a zero."""
    if count is None:
        return UNKNOWN
    return "<1" if 0 < count < MIB / 2 else f"{count / MIB:,.0f}"


def gib(count: float | None) -> str:
    """``19.8``; something too small for a tenth is not a zero."""
    if count is None:
        return UNKNOWN
    return "<0.1" if 0 < count < GIB / 20 else f"{count / GIB:,.1f}"


def used_words(used: int | None, total: int | None) -> str:
    """``11.7 of 139.8 GiB``."""
    return f"{gib(used)} GiB" if total is None else f"{gib(used)} of {gib(total)} GiB"


def sum_words(known: MemoryMap) -> tuple[str, bool]:
    """What the parts make up of the process, and whether some part must be wrong."""
    own, process = own_bytes(known.parts), known.process_bytes
    missing = LOG_HINT if known.missing else ""
    if not process:
        said = f"parts add up to {mib(own)} MiB; the process's own memory is not told, so nothing confirms them"
        return f"{said}; {missing}" if missing else said, False
    said = f"parts make up {mib(own)} of the process's {mib(process)} MiB"
    if own > TOO_LARGE * process:
        if known.place == "host":
            return f"{said}: {mib(own - process)} MiB of them are not resident", False
        return f"{said}: {mib(own - process)} MiB too much, so some part is told too large", True
    share = known.explained if known.explained is not None else own / process
    rest = max(0, process - own)
    said = f"{said}: {percent(share)}, {mib(rest) if rest else 'none'}{' MiB' if rest else ''} unexplained"
    return f"{said}; {missing}" if missing else said, False


def _share_of(part: int | None, whole_: int | None) -> str:
    if part is None or not whole_:
        return ""
    return "<1 %" if 0 < part < 0.005 * whole_ else f"{100 * part / whole_:.0f} %"


def context_words(kv: KvFill) -> str:
    """How full the context of all slots is, and that nothing fuller was seen."""
    now = _share_of(kv.fill_tokens, kv.context_tokens)
    said = f"context {whole(kv.fill_tokens)} of {whole(kv.context_tokens)}{f' ({now})' if now else ''}"
    most = _share_of(kv.fill_max_tokens, kv.context_tokens)
    return f"{said}, never above {most}" if most and kv.fill_max_tokens != kv.context_tokens else said


def reserved_words(kv: KvFill) -> list[str]:
    """Bytes for a token, what is reserved for how many cells, and how much of it holds tokens; a dash is not known."""
    each = UNKNOWN if kv.bytes_per_token is None else f"{kv.bytes_per_token:,.0f}"
    cells = f" for {whole(kv.cells)} cells" if kv.cells is not None else ""
    filled = _share_of(kv.filled_bytes, kv.reserved_bytes)
    return [
        f"{each} bytes a token",
        f"reserved {mib(kv.reserved_bytes)} MiB{cells}",
        f"filled {mib(kv.filled_bytes)} MiB{f' ({filled})' if filled else ''}",
    ]


def unknown_words(kv: KvFill) -> str:
    """Why bytes for a token are not known; empty where they are."""
    return f"bytes a token: {kv.unknown_why}" if kv.bytes_per_token is None and kv.unknown_why else ""


def moved_mib(moved: int) -> str:
    """``+10``, ``-3``, ``0``."""
    return f"{'+' if moved > 0 else '-'}{mib(abs(moved))}" if moved else "0"


def growth_words(growth: Growth) -> list[str]:
    """``+10 MiB``, ``while 31,000 tokens came in,``, ``over 4 requests``: the most telling first."""
    said = [f"{moved_mib(growth.bytes)} MiB" if growth.bytes else "no growth"]
    if not growth.own:
        said.append("(all processes)")
    before, after = growth.first.fill_tokens, growth.latest.fill_tokens
    if before is not None and after is not None and after > before:
        said.append(f"while {whole(after - before)} tokens came in")
    else:
        said.append(f"in {span(growth.latest.at - growth.first.at)}")
    if growth.requests:
        said.append(f"over {whole(growth.requests)} request{'s' if growth.requests > 1 else ''}")
    return said


def since_words(growth: Growth) -> str:
    """``12,045 MiB, most 12,060, since 01:12:04``."""
    most = f", most {mib(growth.most.bytes)}" if growth.most.bytes > growth.latest.bytes else ""
    return f"{mib(growth.latest.bytes)} MiB{most}, since {clock(growth.first.at)}"


def full_words(full: AtFull) -> tuple[str, bool]:
    """What a full context would take, whether it fits, and whether that is an alarm."""
    fits = {True: "it fits", False: "IT DOES NOT FIT", None: "whether it fits is not known"}[full.fits]
    basis = f" ({full.basis})" if full.basis else ""
    return f"with every context full: {mib(full.bytes)} MiB{GUESSED}, {fits}{basis}", full.fits is False
