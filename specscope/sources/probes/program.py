"""The bpftrace program that sees cycles: written anew for each server, with only the probes that its build has.

It prints one line per event, stamped with CLOCK_MONOTONIC in nanoseconds; what need not be seen one by one is added
up in the kernel. ``specscope/sources/trace/lines.py`` reads the lines:

====================================  =================================================================================
``B stamp slot``                      a slot begins to generate
``W slot width address``              a draft of that many tokens is ready, by the method at that address (before ``D``)
``D start end ns calls``              the drafter was at work; ns and calls: its sampling on the host, so far
``P start end ns calls thread``       a forward of the target; ns and calls: the target's sampling, so far
``S start end``                       the first sampling after a forward of the target
``F start end``                       features were handed to the drafter
``R stamp slot``                      a slot's state is restored: its draft is verified again
``A stamp slot accepted ns calls``    a cycle ends
====================================  =================================================================================

How the width is read: each ``common_speculative_impl_*::draft`` gets the vector of draft parameters, one element a
slot, whose first byte says that the slot wants a draft; at the return of ``common_speculative_draft`` the pointer at
byte 24 leads to the drafted tokens, truncated as they will be verified. The element's size is the vector's bytes over
the slots (48 in b11549). Equal to the server's counters in every mode tried (tests/truth).

Implementations are asked one after another, each for the slots that have no draft yet, so that the last one entered
while a slot wanted a draft has drafted for it. Two methods may share an implementation; they follow each other then,
and ``address`` is one higher for the second (common_speculative_init and _draft in common/speculative.cpp, b11434).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from specscope.sources.probes.functions import NEEDED, roles_of

if TYPE_CHECKING:
    from specscope.sources.probes.libraries import Found, Place

MAX_SLOTS: Final = 64
"""What slots want a draft is kept as bits of one number."""

_HERE: Final = {"x86_64": 'reg("ip")', "aarch64": 'reg("pc")', "": "0"}
"""The probed address, by machine. aarch64 is by the table of bpftrace's registers and untested."""

_BEGIN: Final = ("uprobe", "begin", "", 'printf("B %llu %d\\n", nsecs, arg1);')
_RESTORE: Final = ("uprobe", "restore", "@in == 0", 'printf("R %llu %d\\n", nsecs, arg3);')
_FORWARD: Final = (
    ("uprobe", "forward", "@in == 0", "@p0 = nsecs;"),
    (
        "uretprobe",
        "forward",
        "@in == 0 && @p0 != 0",
        'printf("P %llu %llu %llu %llu %d\\n", @p0, nsecs, @vs, @vn, tid); @p0 = (uint64)0; @first = 1;',
    ),
)
_FEATURES: Final = (
    ("uprobe", "features", "", "@in = 2; @f0 = nsecs;"),
    ("uretprobe", "features", "@f0 != 0", '@in = 0; printf("F %llu %llu\\n", @f0, nsecs); @f0 = (uint64)0;'),
)
_SAMPLE: Final = (
    (
        "uprobe",
        "sample",
        "",
        "@q0 = nsecs;",
    ),
    (
        "uretprobe",
        "sample",
        "@q0 != 0",
        """if (@in == 1) { @ds += nsecs - @q0; @dn += 1; } else { @vs += nsecs - @q0; @vn += 1;
        if (@first == 1) { @first = 0; printf("S %llu %llu\\n", @q0, nsecs); } } @q0 = (uint64)0;""",
    ),
)
_ACCEPT: Final = (
    "uprobe",
    "accept",
    "",
    'printf("A %llu %d %d %llu %llu\\n", nsecs, arg1, arg2 & 0xffff, @vs, @vn);',
)


def write_program(found: Found, *, pid: int | None, slots: int, tier: str, drafts: bool = True) -> str:
    """The program's text.

    Args:
        found: where the functions are.
        pid: the process as the kernel's first pid namespace counts it; None where that is not known (in a namespace of
            its own): then it is told by the addresses that the functions have in it, which another process that maps
            the same files does not share.
        slots: how many the server has, 1 to MAX_SLOTS.
        tier: ``cheap`` or ``auto``.
        drafts: the server drafts, or may.
    """
    roles = {r: found.roles[r] for r in roles_of(tier, drafts=drafts) if r in found.roles}
    # Written here, because bpftrace refuses a map that nothing writes, and a build may lack all that has a drafter.
    out = ['BEGIN { @in = 0; printf("ready\\n"); }']
    only = _Only(pid, _HERE[found.machine])
    clauses = [_BEGIN, _RESTORE, *_FORWARD, *_FEATURES, _ACCEPT]
    if "sample" in roles:
        clauses += _SAMPLE
    if all(role in roles for role in NEEDED) and slots <= MAX_SLOTS:
        out += _drafting(found, only, slots)
    for kind, role, condition, body in clauses:
        if role in roles:
            out.append(_clause(kind, roles[role], only, condition, body))
    text = "\n".join(out)
    # For the same reason nothing may be read that only the sampler's probe writes.
    return text if "sample" in roles else re.sub(r"@[vd][sn]\b", "(uint64)0", text)


class _Only(NamedTuple):
    """The one process that counts: its pid, or else the addresses it has, told by the register ``here``."""

    pid: int | None
    here: str

    def test(self, kind: str, places: list[Place]) -> str:
        """A condition that is true in this process alone."""
        if self.pid is not None:
            return f"pid == {self.pid}"
        if kind == "uretprobe":
            return "pid == @own"
        return "(" + " || ".join(f"{self.here} == {p.address}" for p in places) + ")"

    def note(self, kind: str) -> str:
        """What an entry leaves for the return to be told by."""
        return "@own = pid; " if self.pid is None and kind == "uprobe" else ""


def _clause(kind: str, places: list[Place], only: _Only, condition: str, body: str) -> str:
    # By address: by name bpftrace reads the file's symbols again for every probe, twice the CPU of a start.
    points = ",".join(f"{kind}:{p.path}:{p.function.address:#x}" for p in places)
    tests = " && ".join(t for t in (only.test(kind, places), condition) if t)
    return f"{points} /{tests}/ {{ {only.note(kind)}{body} }}"


def _drafting(found: Found, only: _Only, slots: int) -> list[str]:
    roles, here = found.roles, _HERE[found.machine]
    # In loops: one clause for each slot takes LLVM a third of a second.
    each = f"$i = (uint64)0; while ($i < {slots}) {{ %s $i = $i + 1; }} "
    tell = (
        "if ((($w >> $i) & 1) != 0) { $r = *(uint64*)($b + $i * $s + 24); "
        "$n = (*(uint64*)($r + 8) - *(uint64*)$r) / 4; "
        'if ($n > 0) { printf("W %d %d %llu\\n", $i, $n, @m[$i]); } }'
    )
    end = '@in = 0; printf("D %llu %llu %llu %llu\\n", @t0, nsecs, @ds, @dn); @t0 = (uint64)0;'
    out = [
        _clause("uprobe", roles["draft"], only, "", "@in = 1; @t0 = nsecs; @at = (uint64)0; @w = (uint64)0;"),
        _clause("uretprobe", roles["draft"], only, "@t0 != 0", f"$w = @w; $b = @b; $s = @s; {each % tell}{end}"),
    ]
    # The vector is read once: the kernel refuses programs that keep a changed pointer to the arguments.
    head = f"$b = *(uint64*)arg1; $s = (*(uint64*)(arg1 + 8) - $b) / {slots}; @b = $b; @s = $s; "
    head += f"if (@at == {here}) {{ @nth = (uint64)1; }} else {{ @nth = (uint64)0; }} @at = {here}; "
    # What slots want is added up without a branch: the kernel follows every way through those.
    keep = "$x = (uint64)*(uint8*)($b + $i * $s) & 1; $w = $w | ($x << $i); "
    keep += f"if ($x != 0) {{ @m[$i] = {here} + @nth; }}"
    # One program for all of them: each further one costs bpftrace a fifth of a second to compile.
    out.append(_clause("uprobe", roles["method"], only, "", f"{head}$w = @w; {each % keep}@w = $w;"))
    return out
