"""Whose processes may be looked into, and on whose behalf."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from mapping import mapping

from specscope.sources.probes import privileges
from specscope.sources.probes.privileges import RefusedError, caller, check_owner

ROOT, ALICE, BOB = 0, 1000, 1001


@pytest.mark.parametrize(
    ("real", "effective", "by_sudo", "who"),
    [
        (ROOT, ROOT, None, ROOT),
        (ROOT, ROOT, str(ALICE), ALICE),
        (ROOT, ROOT, "0", ROOT),
        (ALICE, ALICE, None, ALICE),
        (ALICE, ALICE, "0", ALICE),
        (ALICE, ALICE, str(BOB), ALICE),
        (ALICE, ROOT, None, ALICE),
    ],
)
def test_on_whose_behalf(
    real: int, effective: int, by_sudo: str | None, who: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "getuid", lambda: real)
    monkeypatch.setattr(os, "geteuid", lambda: effective)
    monkeypatch.delenv("SUDO_UID", raising=False)
    if by_sudo is not None:
        monkeypatch.setenv("SUDO_UID", by_sudo)
    assert caller() == who


def test_root_may_look_into_all_and_others_into_their_own() -> None:
    own = os.getuid()
    with mapping() as pid:
        check_owner(pid, ROOT)
        check_owner(pid, own)
        with pytest.raises(RefusedError, match=f"^process {pid} belongs to another user$"):
            check_owner(pid, own + 1)


@pytest.mark.parametrize("user", [ROOT, ALICE])
def test_a_process_that_is_gone_is_nobodys(user: int) -> None:
    with mapping() as pid:
        pass
    with pytest.raises(RefusedError, match=f"^process {pid} is gone$"):
        check_owner(pid, user)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root: only it has something to give up")
@pytest.mark.parametrize("lacking", [None, "CAP_SYS_RESOURCE", "CAP_BPF", "CAP_NET_RAW"])
def test_nothing_but_what_is_kept_remains_also_where_not_all_of_it_was_held(lacking: str | None) -> None:
    """In a process of its own, which has lost one capability before, as in a container."""
    script = """
import ctypes, sys
from specscope.sources.probes import privileges
from specscope.sources.probes.privileges import KEPT, give_up_the_rest
def held():
    lines = (line.split() for line in open("/proc/self/status"))
    return {words[0]: int(words[1], 16) for words in lines if words[0][:3] in ("Cap", "NoN")}
if sys.argv[1] != "-1":
    libc, header = ctypes.CDLL(None), (ctypes.c_uint32 * 2)(0x20080522, 0)
    data, number = (ctypes.c_uint32 * 6)(), int(sys.argv[1])
    assert libc.capget(header, data) == 0
    for part in (0, 1):
        data[3 * (number // 32) + part] &= ~(1 << number % 32)
    assert libc.capset(header, data) == 0
before = held()
give_up_the_rest()
after, kept = held(), sum(1 << number for number in KEPT.values())
print(before["CapEff:"] & ~kept != 0, after["CapEff:"] == after["CapPrm:"] == before["CapEff:"] & kept,
    after["CapBnd:"] == before["CapBnd:"] & kept, after["CapInh:"] == 0, after["NoNewPrivs:"] == 1)
"""
    number = {None: -1, "CAP_NET_RAW": 13}.get(lacking, privileges.KEPT.get(lacking or "", -1))
    command = [sys.executable, "-c", script, str(number)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["True"] * 5, done.stderr
