"""Where a running server's log goes, and how to read it from there."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

from specscope.sources.procfs import PROC, cgroup_of, inside, is_file, link_of, root_of, seen_from_here

if TYPE_CHECKING:
    from specscope.flags import ServerFlags

_STDOUT, _STDERR = 1, 2
_READ = "| specscope --log -"
_RESTART = "restart the server with --log-file FILE"

# The scopes and slices that container engines make: docker-ID.scope, /docker/ID, libpod-ID.scope, cri-containerd-ID.
_CONTAINER = re.compile(r"(docker|libpod|cri-containerd|crio|kubepods)[^\n]*?([0-9a-f]{64})")
_UNIT = re.compile(r"/([^/\n]+\.service)$", re.MULTILINE)


class LogPlace(msgspec.Struct, frozen=True):
    """Where a log goes. ``path`` can be read from here; without one, ``hint`` says how to get at the log."""

    kind: Literal["file", "journal", "container", "pipe", "terminal", "discarded", "unknown"]
    path: Path | None = None
    detail: str = ""
    hint: str = ""

    @property
    def words(self) -> str:
        """Why the log cannot be read from here, as a sentence."""
        match self.kind:
            case "unknown" if not self.detail:
                return "where the log goes cannot be seen"
            case "pipe":
                return "the log goes to a pipe that another program reads"
            case "discarded" if self.detail.startswith("--"):
                return f"the log is switched off by {self.detail}"
            case _:
                return f"the log goes to {self.detail or self.kind}"


def log_path_of(pid: int, flags: ServerFlags) -> Path | None:
    """The file a server's log can be read from, or None where it goes elsewhere (``log_place_of`` says where)."""
    return log_place_of(pid, flags).path


def log_place_of(pid: int, flags: ServerFlags) -> LogPlace:
    """Find a server's log: ``--log-file``, else where its standard error or standard output points.

    Args:
        pid: the server's process.
        flags: what it was told.
    """
    if flags.log_file:
        path = inside(*seen_from_here(pid, flags.log_file))
        if os.path.isfile(path):  # noqa: PTH113 - unlike Path.is_file, False also where a directory is closed to us
            return LogPlace("file", path, f"--log-file {flags.log_file}")
    if flags.log_disabled:
        return LogPlace("discarded", None, "--log-disable", "restart the server without --log-disable")
    # b11434 writes its log to standard error; with --log-jsonl to standard output.
    order = (_STDOUT, _STDERR) if flags.log_jsonl else (_STDERR, _STDOUT)
    for descriptor in order:
        if is_file(pid, descriptor):
            return _file(pid, descriptor)
    for descriptor in order:
        if link := link_of(pid, descriptor):
            return _elsewhere(pid, link)
    return LogPlace("unknown", None, "", "run as the server's user, or give --log FILE")


def _file(pid: int, descriptor: int) -> LogPlace:
    """A log on a regular file: by its own name, or through the descriptor when it has none that leads here."""
    link = link_of(pid, descriptor) or ""
    through = PROC / str(pid) / "fd" / str(descriptor)
    path = Path(link)
    try:
        named = root_of(pid) == "/" and path.samefile(through)
    except OSError:
        named = False
    return LogPlace("file", path if named else through, link)


def _elsewhere(pid: int, link: str) -> LogPlace:
    """A log that is no file, by what its descriptor points to and by who started the process."""
    cgroup = cgroup_of(pid)
    unit = _UNIT.search(cgroup)
    if link.startswith("socket:") and unit:
        user = "--user " if "/user@" in cgroup else ""
        return LogPlace("journal", None, unit[1], f"journalctl {user}-fu {unit[1]} -o cat {_READ}")
    if (found := _CONTAINER.search(cgroup)) and link != "/dev/null":
        return _container(found[1], found[2][:12])
    if link.startswith("pipe:"):
        return LogPlace("pipe", None, "", f"{_RESTART}, or pipe it through tee FILE")
    if link.startswith(("/dev/pts/", "/dev/tty", "/dev/console")):
        return LogPlace("terminal", None, link, f"{_RESTART}, or pipe it through tee FILE")
    if link == "/dev/null":
        return LogPlace("discarded", None, link, _RESTART)
    return LogPlace("unknown", None, link, f"{_RESTART}, or give --log FILE")


def _container(engine: str, name: str) -> LogPlace:
    command = {"docker": "docker logs -f", "libpod": "podman logs -f"}.get(engine)
    if command is None:
        return LogPlace("container", None, name, f"kubectl logs -f POD {_READ}")
    return LogPlace("container", None, name, f"{command} {name} 2>&1 {_READ}")
