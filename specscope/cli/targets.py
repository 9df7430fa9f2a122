"""From TARGET on the command line to what is watched: an address, a process, a recording, or what can be found."""

from __future__ import annotations

import ipaddress
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from specscope.cli.exits import UNREACHABLE, USAGE, CommandError
from specscope.recording import Recording, RecordingError
from specscope.sources.address import read_address
from specscope.sources.discovery import discover

if TYPE_CHECKING:
    from specscope.sources.discovery import Candidate

IPV6: Final = 6


@dataclass(frozen=True)
class LiveTarget:
    """A server to attach to."""

    url: str
    pid: int | None = None
    how: str = "given"
    kind: str = "llama-server"


def resolve(
    target: str | None, pid: int | None, default_url: str | None, *, every: bool = False
) -> list[LiveTarget] | Recording:
    """What to watch.

    Args:
        target: the address or file the user named.
        pid: the server's process, instead of an address.
        default_url: the address in the settings.
        every: take all servers that are found when none is named, best first; without it the best one alone is
            taken, and a line on stderr names the others.

    Raises:
        CommandError: the address is none (exit 2), the file is no recording (2), nothing was found (3).
    """
    if target is not None and pid is not None:
        raise CommandError("give an address or --pid, not both")
    if target is not None:
        return _recording(target) if _is_file(target) else [LiveTarget(address(target))]
    if pid is not None:
        return [_by_pid(pid)]
    if default_url is not None:
        return [LiveTarget(address(default_url), how="settings")]
    return _discovered(every=every)


def live(target: str | None, pid: int | None, default_url: str | None) -> list[LiveTarget]:
    """The same for commands that need a running server.

    Raises:
        CommandError: as :func:`resolve`, and when it is a recording.
    """
    found = resolve(target, pid, default_url)
    if isinstance(found, Recording):
        raise CommandError(f"{target} is a recording; this command needs a running server")
    return found


def _is_file(target: str) -> bool:
    if "://" in target:
        return False
    named = target.endswith((".jsonl", ".gz")) or target.startswith(("/", "./", "../", "~"))
    return named or Path(target).is_file()


def _recording(target: str) -> Recording:
    path = Path(target)
    if not path.exists():
        raise CommandError(f"{target}: no such file")
    try:
        return Recording(path)
    except RecordingError as error:
        raise CommandError(str(error)) from error


def address(target: str) -> str:
    """An address as typed: ``http://host:port/prefix``, ``host:port``, ``:port`` or a bare port.

    Raises:
        CommandError: it is none (exit 2).
    """
    text = f"127.0.0.1:{target}" if target.isdecimal() else target
    text = f"127.0.0.1{text}" if text.startswith(":") and text[1:2].isdecimal() else text
    text = f"[{text}]" if _is_ipv6(text) else text
    url = text if "://" in text else f"http://{text}"
    try:
        read_address(url)
    except ValueError as error:
        # Not the address itself: a password may stand in it.
        shown = repr(target) if "@" not in target else "TARGET"
        raise CommandError(
            f"{shown} is no address: expected http://HOST:PORT, HOST:PORT or a recording's path", USAGE
        ) from error
    return url.rstrip("/")


def _is_ipv6(text: str) -> bool:
    try:
        return ipaddress.ip_address(text).version == IPV6
    except ValueError:
        return False


def _by_pid(pid: int) -> LiveTarget:
    found = discover(ports=())
    mine = next((c for c in found.candidates if c.pid == pid), None)
    if mine is None or mine.url is None:
        reason = f" ({mine.note})" if mine is not None and mine.note else ""
        raise CommandError(f"process {pid} is no llama-server that can be reached{reason}", UNREACHABLE)
    return _live(mine)


def _discovered(*, every: bool) -> list[LiveTarget]:
    found = discover()
    usable = [c for c in found.candidates if c.url is not None]
    if not usable:
        tried = "\n".join(f"  {line}" for line in found.tried)
        raise CommandError(f"no llama-server found. Tried:\n{tried}\nName one: specscope http://HOST:PORT", UNREACHABLE)
    if every or len(usable) == 1:
        return [_live(c) for c in usable]
    first, *others = (c.url for c in usable)
    sys.stderr.write(
        f"{len(usable)} servers found; watching {first} (others: {', '.join(map(str, others))}); name one to choose\n"
    )
    return [_live(usable[0])]


def _live(candidate: Candidate) -> LiveTarget:
    return LiveTarget(candidate.url or "", candidate.pid, candidate.how, candidate.kind)
