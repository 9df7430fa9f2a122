"""What /proc says of a process and of sockets. Linux only; every function survives a process that is gone.

Formats: proc(5) of the Linux manual pages.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import re
import stat
from pathlib import Path
from typing import NamedTuple

PROC = Path("/proc")

_MAX_LINKS = 40  # as the kernel: MAXSYMLINKS
_LISTEN = "0A"  # TCP_LISTEN of the kernel's net/tcp_states.h
_SOCKET = re.compile(r"socket:\[(\d+)\]")


class Listener(NamedTuple):
    """A listening TCP socket: numeric address, port, and the inode that its owner's descriptors point to."""

    host: str
    port: int
    inode: int


def inside(root: str, path: str) -> Path:
    """Where a file of a process is seen from here.

    Absolute links are followed inside ``root``: opened as they are, they would lead out of a container.

    Args:
        root: the process's root directory as seen from here; ``/`` for one that shares ours.
        path: an absolute path as the process names it.
    """
    if root == "/":
        return Path(path)
    base = Path(root)
    todo = [part for part in reversed(path.split("/")) if part]
    done: list[str] = []
    links = 0
    while todo:
        part = todo.pop()
        if part in (".", ".."):
            del done[len(done) - (part == "..") :]
            continue
        try:
            target = str((base.joinpath(*done) / part).readlink())
        except OSError:
            done.append(part)
            continue
        links += 1
        if links > _MAX_LINKS:
            return base / path.lstrip("/")
        done = [] if target.startswith("/") else done
        todo += [step for step in reversed(target.split("/")) if step]
    return base.joinpath(*done)


def root_of(pid: int) -> str:
    """The root directory of a process as seen from here: ``/`` when it shares our mount namespace and root."""
    ours, theirs = PROC / "self", PROC / str(pid)
    with contextlib.suppress(OSError):
        if (ours / "ns/mnt").readlink() == (theirs / "ns/mnt").readlink():
            return str((theirs / "root").readlink())
        return str(theirs / "root")
    return "/"


def seen_from_here(pid: int, path: str) -> tuple[str, str]:
    """A file as a process names it, as (root directory as seen from here, absolute path inside it)."""
    if not path.startswith("/"):
        cwd = cwd_of(pid)
        path = path if cwd is None else os.path.normpath(f"{cwd}/{path}")
    return root_of(pid), path


def cwd_of(pid: int) -> str | None:
    """The working directory of a process, as it names it itself; None where that may not be seen."""
    try:
        return str((PROC / str(pid) / "cwd").readlink())
    except OSError:
        return None


def argv_of(pid: int) -> list[str]:
    """The command line of a process; empty for a kernel thread and for a process that is gone."""
    try:
        raw = (PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return []
    return os.fsdecode(raw).removesuffix("\0").split("\0") if raw.strip(b"\0") else []


def environ_of(pid: int) -> dict[str, str] | None:
    """The environment a process was started with; None where it may not be read (another user's process)."""
    try:
        raw = (PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return None
    pairs = (entry.partition("=") for entry in os.fsdecode(raw).split("\0") if "=" in entry)
    return {name: value for name, _, value in pairs}


def name_of(pid: int) -> str:
    """The kernel's name of a process (15 characters at most); empty when it is gone."""
    try:
        return os.fsdecode((PROC / str(pid) / "comm").read_bytes()).rstrip("\n")
    except OSError:
        return ""


def parent_of(pid: int) -> int | None:
    """The parent of a process."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
        return int(text.rpartition(")")[2].split()[1]) or None
    return None


def has_ended(pid: int) -> bool:
    """Whether a process is gone, or is dead and only waits for its parent.

    An empty command line does not say so: it is empty too while the process replaces its program (execve).
    """
    try:
        text = (PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return True
    return text.rpartition(")")[2].split()[:1] in (["Z"], ["X"])


def cgroup_of(pid: int) -> str:
    """The control groups of a process, as lines; empty when it is gone."""
    try:
        return (PROC / str(pid) / "cgroup").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def maps_name(pid: int, name: str) -> bool | None:
    """Whether a process has a file with ``name`` in its path mapped; None where that may not be seen."""
    try:
        return name.encode() in (PROC / str(pid) / "maps").read_bytes()
    except OSError:
        return None


def pids() -> list[int]:
    """All processes that /proc shows."""
    return [int(entry.name) for entry in os.scandir(PROC) if entry.name.isdigit()]


def socket_inodes(pid: int) -> set[int] | None:
    """The inodes of the sockets a process holds; None where they may not be seen."""
    inodes: set[int] = set()
    try:
        with os.scandir(PROC / str(pid) / "fd") as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    # A server has hundreds of descriptors, and a scan reads those of every process.
                    if found := _SOCKET.fullmatch(os.readlink(entry.path)):  # noqa: PTH115 - a Path costs more
                        inodes.add(int(found[1]))
    except OSError:
        return None
    return inodes


def listeners(of: str | int = "self") -> list[Listener]:
    """The listening TCP sockets in the network namespace of a process, whoever owns them."""
    found: list[Listener] = []
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            text = (PROC / str(of) / "net" / table).read_text(encoding="ascii", errors="replace")
            found += listeners_in(text)
    return found


def listeners_in(table: str) -> list[Listener]:
    """The listening sockets in the text of /proc/net/tcp or tcp6. Lines that do not parse are left out."""
    found: list[Listener] = []
    for line in table.splitlines()[1:]:
        if f" {_LISTEN} " not in line:
            continue
        with contextlib.suppress(ValueError, IndexError):
            fields = line.split()
            address, _, port = fields[1].partition(":")
            found.append(Listener(_address(address), int(port, 16), int(fields[9])))
    return found


def _address(text: str) -> str:
    """An address of /proc/net/tcp: hexadecimal words of 32 bits, each in the machine's (little-endian) order."""
    words = [bytes.fromhex(text[at : at + 8])[::-1] for at in range(0, len(text), 8)]
    address = ipaddress.ip_address(b"".join(words))
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def own_network(pid: int) -> bool | None:
    """Whether a process has a network namespace that is not ours; None where that may not be seen."""
    try:
        return (PROC / "self/ns/net").readlink() != (PROC / str(pid) / "ns/net").readlink()
    except OSError:
        return None


def addresses_in(fib_trie: str) -> list[str]:
    """The addresses of a network namespace that are not loopback, from its /proc/PID/net/fib_trie."""
    found = re.findall(r"\|-- (\S+)\n\s+/32 host LOCAL", fib_trie)
    return list(dict.fromkeys(address for address in found if not address.startswith("127.")))


def addresses_of(pid: int) -> list[str]:
    """The addresses under which the network namespace of a process can be reached, as far as they can be seen."""
    try:
        return addresses_in((PROC / str(pid) / "net/fib_trie").read_text(encoding="ascii", errors="replace"))
    except OSError:
        return []


def link_of(pid: int, descriptor: int) -> str | None:
    """What a descriptor of a process points to, as /proc shows it; None where that may not be seen."""
    try:
        return str((PROC / str(pid) / "fd" / str(descriptor)).readlink())
    except OSError:
        return None


def is_file(pid: int, descriptor: int) -> bool:
    """Whether a descriptor of a process is open on a regular file."""
    try:
        return stat.S_ISREG((PROC / str(pid) / "fd" / str(descriptor)).stat().st_mode)
    except OSError:
        return False
