"""What stands in the way of tracing: each obstacle has its sentence, and where there is none, the way in."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from specscope.sources.probes.helper import SAFE_PATH
from specscope.sources.trace import access
from specscope.sources.trace.access import HELPER, Obstacle, Way, way_in

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Machine:
    """A Linux machine with all that is needed, on which this user is root."""
    return Machine(monkeypatch, tmp_path)


class Machine:
    """What a machine has."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self.programs = {"bpftrace", "sudo"}
        self.user = 0
        self.looked_in: list[str | None] = []
        self.sudo: list[list[str]] = []
        self.answer: int | Exception = 0
        uprobes = folder / "type"
        uprobes.touch()
        self.uprobes = uprobes
        monkeypatch.setattr(sys, "platform", "linux")
        monkeypatch.setattr(access, "UPROBES", str(uprobes))
        monkeypatch.setattr(os, "geteuid", lambda: self.user)
        monkeypatch.setattr(shutil, "which", self._which)
        monkeypatch.setattr(subprocess, "run", self._run)
        self.patch = monkeypatch

    def _which(self, name: str, path: str | None = None) -> str | None:
        if name == "bpftrace":
            self.looked_in.append(path)
        return f"/usr/bin/{name}" if name in self.programs else None

    def _run(self, command: list[str], **_: object) -> subprocess.CompletedProcess[bytes]:
        self.sudo.append(command)
        if isinstance(self.answer, Exception):
            raise self.answer
        return subprocess.CompletedProcess(command, self.answer)


def test_root_starts_the_helper_itself(machine: Machine) -> None:
    assert way_in() == Way((sys.executable, "-m", HELPER))
    assert machine.sudo == []
    assert machine.looked_in == [os.environ["PATH"]]


def test_a_user_whom_sudo_asks_for_no_password_starts_it_isolated(machine: Machine) -> None:
    machine.user = 1000
    assert way_in() == Way(("sudo", "-n", "--", sys.executable, "-I", "-m", HELPER))
    assert machine.sudo == [["sudo", "-n", "--", sys.executable, "-I", "-c", ""]]
    assert machine.looked_in == [SAFE_PATH]


def _is_no_linux(machine: Machine) -> None:
    machine.patch.setattr(sys, "platform", "darwin")


def _has_no_uprobes(machine: Machine) -> None:
    machine.uprobes.unlink()


def _has_no_bpftrace(machine: Machine) -> None:
    machine.programs.discard("bpftrace")


def _user_without_sudo(machine: Machine) -> None:
    machine.user = 1000
    machine.programs.discard("sudo")


def _sudo_wants_a_password(machine: Machine) -> None:
    machine.user, machine.answer = 1000, 1


def _sudo_does_not_answer(machine: Machine) -> None:
    machine.user, machine.answer = 1000, subprocess.TimeoutExpired("sudo", access.SUDO_TIMEOUT_S)


def _sudo_cannot_be_started(machine: Machine) -> None:
    machine.user, machine.answer = 1000, PermissionError(13, "Permission denied")


@pytest.mark.parametrize(
    ("lacks", "reason", "hint"),
    [
        (_is_no_linux, "tracing needs Linux", "from the machine that runs the server"),
        (_has_no_uprobes, "this kernel has no uprobes", ""),
        (_has_no_bpftrace, "bpftrace is not installed", "apt install bpftrace"),
        (_user_without_sudo, "tracing needs root", "run specscope as root, or `sudo -v` just before it"),
        (_sudo_wants_a_password, "tracing needs root", "run specscope as root, or `sudo -v` just before it"),
        (_sudo_does_not_answer, "tracing needs root", "run specscope as root, or `sudo -v` just before it"),
        (_sudo_cannot_be_started, "tracing needs root", "run specscope as root, or `sudo -v` just before it"),
    ],
    ids=lambda value: value.__name__.strip("_").replace("_", " ") if callable(value) else "",
)
def test_an_obstacle_has_its_sentence(
    lacks: Callable[[Machine], None], reason: str, hint: str, machine: Machine
) -> None:
    lacks(machine)
    found = way_in()
    assert isinstance(found, Obstacle)
    assert found.reason.startswith(reason)
    assert hint in found.hint
    assert bool(hint) == bool(found.hint)


def test_who_cannot_trace_at_all_is_not_told_to_become_root(machine: Machine) -> None:
    machine.user = 1000
    machine.programs.clear()
    found = way_in()
    assert isinstance(found, Obstacle)
    assert found.reason == "bpftrace is not installed"
    assert machine.sudo == []
