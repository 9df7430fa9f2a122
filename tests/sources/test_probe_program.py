"""The bpftrace program's text: which probes it has, for whom, and that it has none that a build lacks."""

from __future__ import annotations

import re

import pytest

from specscope.sources.probes.elf import Function
from specscope.sources.probes.functions import DEAR, NEEDED, ROLES, roles_of
from specscope.sources.probes.libraries import Found, Place
from specscope.sources.probes.program import MAX_SLOTS, write_program

POINT = re.compile(r"(u(?:ret)?probe):([^:\s]+):(0x[0-9a-f]+)")
LIBRARY = "/lib/libllama.so"
ADDRESS = {role.name: 0x1000 * (number + 1) for number, role in enumerate(ROLES)}
BOTH = {"draft", "forward", "features", "sample"}
"""Roles whose function is seen when it is entered and when it is left."""


def found(*roles: str, methods: int = 1, machine: str = "x86_64") -> Found:
    """A build that has these functions, the method's several times over."""
    places = {r: [Place(LIBRARY, Function(r, ADDRESS[r], ADDRESS[r] - 0x100), 0x7F0000000000)] for r in roles}
    if "method" in places:
        place = Place(LIBRARY, Function("method", ADDRESS["method"], 0), 0)
        more = [
            place._replace(function=place.function._replace(address=ADDRESS["method"] + 16 * i)) for i in range(methods)
        ]
        places["method"] = more
    return Found(machine, places, asynchronous=False)


ALL = tuple(role.name for role in ROLES)
PLAIN_LLAMA = ("forward", "restore", "sample", *DEAR)


def points(text: str) -> set[tuple[str, int]]:
    """All probe points: (kind, address)."""
    return {(m[1], int(m[3], 16)) for m in POINT.finditer(text)}


def probed(text: str) -> set[str]:
    """The roles that have a probe."""
    by_address = {address: role for role, address in ADDRESS.items()}
    return {by_address[address] for _, address in points(text) if address in by_address}


@pytest.mark.parametrize("drafts", [True, False])
@pytest.mark.parametrize("tier", ["cheap", "auto"])
def test_all_that_is_armed_all_the_time_is_probed_and_nothing_dear(tier: str, *, drafts: bool) -> None:
    text = write_program(found(*ALL), pid=4711, slots=4, tier=tier, drafts=drafts)
    assert probed(text) == set(roles_of(tier, drafts=drafts))
    assert not probed(text) & set(DEAR)


@pytest.mark.parametrize("lacking", [r for r in roles_of("auto", drafts=False) if r != "forward"])
def test_what_a_build_lacks_is_not_probed(lacking: str) -> None:
    has = [role for role in ALL if role != lacking]
    text = write_program(found(*has), pid=4711, slots=2, tier="auto", drafts=False)
    expected = set(roles_of("auto", drafts=False)) - {lacking}
    without_widths = expected - {"draft", "method"}
    assert probed(text) == (without_widths if lacking in NEEDED else expected)


def test_a_build_without_speculation_has_its_forwards() -> None:
    text = write_program(found(*PLAIN_LLAMA), pid=4711, slots=4, tier="auto", drafts=False)
    assert probed(text) == {"forward", "restore", "sample"}


def test_what_is_left_is_seen_where_its_length_counts() -> None:
    text = write_program(found(*ALL), pid=4711, slots=1, tier="auto", drafts=False)
    left = {address for kind, address in points(text) if kind == "uretprobe"}
    entered = {address for kind, address in points(text) if kind == "uprobe"}
    assert left == {ADDRESS[role] for role in BOTH}
    assert left < entered


def test_all_methods_share_one_clause() -> None:
    text = write_program(found(*ALL, methods=3), pid=4711, slots=1, tier="cheap")
    first = ADDRESS["method"]
    assert {("uprobe", first), ("uprobe", first + 16), ("uprobe", first + 32)} <= points(text)
    assert text.count("arg1 + 8") == 1


def test_only_one_process_is_looked_at() -> None:
    text = write_program(found(*ALL), pid=4711, slots=3, tier="auto", drafts=False)
    clauses = [line for line in text.splitlines() if line.startswith("u")]
    assert len(clauses) >= 12
    assert all("/pid == 4711" in line for line in clauses)


def test_where_the_pid_is_not_known_the_addresses_tell_the_process() -> None:
    text = write_program(found(*ALL), pid=None, slots=3, tier="auto", drafts=False)
    entries = [line for line in text.splitlines() if line.startswith("uprobe")]
    assert entries
    assert all('/(reg("ip") == ' in line for line in entries)
    assert all("@own = pid;" in line for line in entries)
    returns = [line for line in text.splitlines() if line.startswith("uretprobe")]
    assert returns
    assert all("/pid == @own" in line for line in returns)


@pytest.mark.parametrize("slots", [1, 4, MAX_SLOTS])
def test_every_slot_has_its_width_told(slots: int) -> None:
    text = write_program(found(*ALL), pid=4711, slots=slots, tier="cheap")
    assert text.count(f"while ($i < {slots}) {{") == 2, "who wants a draft, and how wide each is"
    assert text.count('printf("W ') == 1


def test_more_slots_than_the_kernel_takes_leave_the_turns() -> None:
    text = write_program(found(*ALL), pid=4711, slots=MAX_SLOTS + 1, tier="cheap")
    assert 'printf("W ' not in text
    assert probed(text) == {"begin", "restore", "forward", "features", "accept"}


@pytest.mark.parametrize(("machine", "drafts", "own"), [("x86_64", True, 'reg("ip")'), ("aarch64", True, 'reg("pc")')])
def test_the_method_is_told_by_its_own_address(machine: str, own: str, *, drafts: bool) -> None:
    text = write_program(found(*ALL, machine=machine), pid=4711, slots=1, tier="auto", drafts=drafts)
    assert f"@m[$i] = {own} + @nth" in text


def test_each_slot_has_the_method_that_drafted_for_it() -> None:
    text = write_program(found(*ALL), pid=4711, slots=3, tier="cheap")
    assert re.search(r'printf\("W %d %d %llu\\n", \$i, \$n, @m\[\$i\]\)', text)


@pytest.mark.parametrize("drafts", [True, False])
@pytest.mark.parametrize("tier", ["cheap", "auto"])
@pytest.mark.parametrize("roles", [ALL, PLAIN_LLAMA], ids=["all", "no speculation"])
@pytest.mark.parametrize("pid", [4711, None])
def test_every_map_that_is_read_is_written(pid: int | None, roles: tuple[str, ...], tier: str, *, drafts: bool) -> None:
    """Bpftrace refuses a program that reads a map which nothing writes."""
    text = write_program(found(*roles), pid=pid, slots=2, tier=tier, drafts=drafts)
    used = set(re.findall(r"@\w+", text))
    written = set(re.findall(r"(@\w+)(?:\[[^]]+\])? \+?= ", text))
    assert used
    assert used <= written
