"""The two uprobes of the truth table: what the server itself calls, as root, through bpftrace.

``common_speculative_accept`` ends a cycle and carries slot and accepted length. The width is read at the return of
``common_speculative_draft``: each method's ``draft`` gets the vector of draft parameters, one element a slot, whose
first byte says that the slot wants a draft and whose pointer at byte 24 is the drafted tokens.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

START_TIMEOUT_S = 40.0
ACCEPT = "_Z25common_speculative_acceptP18common_speculativeit"
DRAFT = "_Z24common_speculative_draftP18common_speculative"
METHOD = re.compile(r"_ZN\d+common_speculative_impl_(\w+?)5draftERSt6vectorI31common_speculative_draft_params")
FORWARDS = ("llama_process", "llama_decode")


def usable() -> str:
    """Why the probes cannot run here; empty when they can."""
    if os.geteuid() != 0:
        return "uprobes need root"
    return "" if shutil.which("bpftrace") else "bpftrace is not installed"


@dataclass
class Totals:
    """Cycles, drafted and accepted tokens as the probes saw them."""

    cycles: int = 0
    drafted: int = 0
    accepted: int = 0
    joint: Counter[tuple[int, int]] = field(default_factory=Counter)


class Probes:
    """Runs bpftrace on one server and adds up its cycles."""

    def __init__(self, pid: int, slots: int, *, recurrent: bool = False) -> None:
        self._pid = pid
        self._slots = slots
        self._recurrent = recurrent
        self.lines: list[str] = []
        self._ready = threading.Event()
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None

    def __enter__(self) -> Self:
        program = _program(self._pid, self._slots)
        command = ["bpftrace", "-B", "line", "-e", program]
        self._process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=os.environ | {"BPFTRACE_STRLEN": "64"},
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        if not self._ready.wait(START_TIMEOUT_S):
            self._process.kill()
            raise RuntimeError("bpftrace did not attach: " + " | ".join(self.lines[-5:]))
        return self

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        assert self._reader is not None
        self._process.terminate()
        self._process.wait(20)
        self._reader.join(5)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _read(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.lines.append(line.strip())
            if line.startswith("ready"):
                self._ready.set()

    def totals(self) -> Totals:
        """What was seen: a width belongs to the next accept of its slot.

        On a recurrent target a partly accepted draft is verified twice before the one accept, which then
        carries one token more than the first verification had accepted.
        """
        assert not any("lost" in line.lower() for line in self.lines), "bpftrace lost events"
        out = Totals()
        widths: dict[int, int] = {}
        forwards = 0
        for line in self.lines:
            kind, *numbers = line.split() or [""]
            if kind == "P":
                forwards += 1
            elif kind == "W":
                slot, width = int(numbers[0]), int(numbers[1])
                widths[slot], forwards = width, 0
                out.drafted += width
            elif kind == "A" and int(numbers[0]) in widths:
                accepted = int(numbers[1])
                if self._recurrent and forwards > 1:
                    accepted -= 1
                out.cycles += 1
                out.accepted += accepted
                out.joint[widths.pop(int(numbers[0])), accepted] += 1
        return out


def _library(pid: int) -> tuple[str, str]:
    """The files that hold the speculation and the forward functions (one file in a Python host)."""
    mapped = {line.split()[-1] for line in Path(f"/proc/{pid}/maps").read_text().splitlines() if ".so" in line}
    for part in ("xllamacpp", "libllama-common"):
        common = next((m for m in mapped if part in m), None)
        if common is not None:
            llama = next((m for m in mapped if re.search(r"libllama\.so", m)), common)
            return common, llama
    raise RuntimeError("no library of llama.cpp is mapped")


def _symbols(library: str) -> list[str]:
    out = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    return [line.split()[-1].split("@")[0] for line in out.splitlines()]


def _program(pid: int, slots: int) -> str:
    common, llama = _library(pid)
    symbols = _symbols(common)
    methods = [s for s in symbols if METHOD.match(s)]
    forward = next(f for f in FORWARDS if f in (symbols if llama == common else _symbols(llama)))
    keep = "".join(
        f"$dp = *(uint64*)arg1 + {i} * ((*(uint64*)(arg1 + 8) - *(uint64*)arg1) / {slots});"
        f"if (*(uint8*)$dp != 0) {{ @dp[{i}] = $dp; }} "
        for i in range(slots)
    )
    tell = "".join(
        f"if (@dp[{i}] != 0) {{ $r = *(uint64*)(@dp[{i}] + 24); $n = (*(uint64*)($r + 8) - *(uint64*)$r) / 4;"
        f'if ($n > 0) {{ printf("W {i} %d\\n", $n); }} @dp[{i}] = (uint64)0; }} '
        for i in range(slots)
    )
    entries = ",".join(f"uprobe:{common}:{m}" for m in methods)
    return (
        f'BEGIN {{ printf("ready\\n"); }} '
        f'uprobe:{common}:{ACCEPT} /pid == {pid}/ {{ printf("A %d %d\\n", arg1, arg2 & 0xffff); }} '
        f"{entries} /pid == {pid}/ {{ {keep} }} "
        f"uretprobe:{common}:{DRAFT} /pid == {pid}/ {{ {tell} }} "
        f'uprobe:{llama}:{forward} /pid == {pid}/ {{ printf("P\\n"); }}'
    )
