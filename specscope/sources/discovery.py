"""Finds llama-servers on this machine: the process table first, then the default ports. Reads only; loads nothing."""

from __future__ import annotations

import contextlib
import ipaddress
import re
import socket
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

import httpx
import msgspec
import psutil

from specscope.flags import parse_flags
from specscope.sources import procfs
from specscope.sources.process import EXTENSION, HOST_MODULE, is_python

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from specscope.flags import ServerFlags

DEFAULT_PORTS = (8080, 9931)
"""The server's port today, and the one it is announced to move to (the notice b11434 logs at its start)."""

_OK = 200
_HEALTH_TIMEOUT_S = 0.5
_MAX_ANCESTORS = 6  # wrapper scripts and `timeout` may stand between a router and its child
_MAX_PROBES = 4
_SERVER = re.compile(r"llama[-_]server")
_WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - compared with, not bound to
_ROUTER_VARIABLE = "LLAMA_SERVER_ROUTER_PORT"  # set for its children: tools/server/server-models.cpp


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A server that can be watched.

    ``kind``: ``llama-server``, ``ollama`` (a llama-server that ollama started), ``ollama-runner`` (its engine of
    its own, without /slots), ``xllamacpp`` (a Python process that hosts the server), ``llama-swap``.
    ``router_child``: a router started it and may stop it. ``note`` says what stands in the way of watching it.
    """

    url: str | None
    pid: int | None
    how: str
    kind: str = "llama-server"
    router_child: bool = False
    note: str = ""


class Discovery(msgspec.Struct, frozen=True):
    """What was found, best first, and every step that was tried, in words."""

    candidates: list[Candidate]
    tried: list[str]


class _Server(NamedTuple):
    pid: int
    kind: str
    argv: list[str]


def discover(ports: Sequence[int] = DEFAULT_PORTS) -> Discovery:
    """Find the servers on this machine. Blocks for a few milliseconds, at worst for half a second a port.

    Args:
        ports: local ports to ask for /health when no process that was found serves them.
    """
    n_processes, servers = _servers()
    found = [_candidate(server) for server in servers]
    tried = [f"process table: {n_processes} processes, {len(servers)} of them llama.cpp servers"]
    tried += [
        f"pid {server.pid} ({server.kind}): {one.note}" for server, one in zip(servers, found, strict=True) if one.note
    ]
    known = {urlsplit(one.url).port for one in found if one.url}
    for port in ports:
        if port in known:
            continue
        url = f"http://127.0.0.1:{port}"
        kind, said = probe(url)
        tried.append(f"{url}/health: {said}")
        if kind:
            found.append(Candidate(url=url, pid=find_pid(url), how="port", kind=kind))
    return Discovery(best_first(found), tried)


def best_first(found: Iterable[Candidate]) -> list[Candidate]:
    """Without doubles: a wrapper and its child name the same port, and the one with an open socket comes first."""
    order = sorted(found, key=lambda one: (one.url is None, one.router_child, bool(one.note), one.how != "process"))
    urls = [one.url for one in order]
    return [one for at, one in enumerate(order) if one.url is None or one.url not in urls[:at]]


def _servers() -> tuple[int, list[_Server]]:
    pids = procfs.pids()
    servers: list[_Server] = []
    for pid in pids:
        argv = procfs.argv_of(pid)
        if argv and (kind := server_kind(pid, argv)):
            servers.append(_Server(pid, kind, argv))
    return len(pids), servers


def server_kind(pid: int, argv: Sequence[str]) -> str | None:
    """What kind of llama.cpp server a process is, by its command line and, for Python, by what it has loaded."""
    program = _base(argv[0])
    first = argv[1] if len(argv) > 1 else ""
    if is_python(program):
        if HOST_MODULE in argv:
            return "xllamacpp"
        if _SERVER.match(_base(first)):
            return "llama-server"
        return "xllamacpp" if procfs.maps_name(pid, EXTENSION) else None
    if program == "ollama" and first == "runner":
        return "ollama-runner"
    named = _SERVER.match(program) or (program == "llama" and first in ("serve", "server"))
    if not named and not _SERVER.match(procfs.name_of(pid)):
        return None
    return "ollama" if "ollama" in _ancestors(pid)[:1] else "llama-server"


def _base(program: str) -> str:
    return program.replace("\\", "/").rpartition("/")[2]


def _ancestors(pid: int) -> list[str]:
    """The program names of a process's ancestors, the nearest first."""
    names: list[str] = []
    above = procfs.parent_of(pid)
    while above is not None and above > 1 and len(names) < _MAX_ANCESTORS:
        argv = procfs.argv_of(above)
        names.append(_base(argv[0]) if argv else procfs.name_of(above))
        above = procfs.parent_of(above)
    return names


def _candidate(server: _Server) -> Candidate:
    pid, kind, argv = server
    env = procfs.environ_of(pid)
    flags = parse_flags(argv, env)
    url, note = _url(server, flags)
    child = _ROUTER_VARIABLE in (env or {}) or any(_SERVER.match(name) for name in _ancestors(pid))
    return Candidate(url=url, pid=pid, how="process", kind=kind, router_child=child, note=note)


def _url(server: _Server, flags: ServerFlags) -> tuple[str | None, str]:
    """Where a server listens, and what is uncertain about it.

    Its open sockets come first: they are right even when the port came from a file or was chosen by the system.
    Without the right to see them, the flags and then the default port have to do.
    """
    scheme = "https" if flags.ssl_cert_file else "http"
    prefix = (flags.api_prefix or "").rstrip("/")
    inodes = procfs.socket_inodes(server.pid)
    if inodes is None:
        if server.kind == "xllamacpp":
            return None, "its sockets cannot be seen: run as its user or give the URL"
        host = _reachable((flags.host or "127.0.0.1").split(",")[0].strip())
        url = f"{scheme}://{host}:{flags.port or DEFAULT_PORTS[0]}{prefix}"
        return (None, "listens on a UNIX socket") if host.endswith(".sock") else (url, "port taken from its flags")
    open_sockets = [one for one in procfs.listeners(server.pid) if one.inode in inodes]
    if not open_sockets:
        return None, "listens on no TCP port (yet)"
    outside, note = (), ""
    if procfs.own_network(server.pid):
        outside, note = procfs.addresses_of(server.pid), "in a network namespace of its own"
        open_sockets = [one for one in open_sockets if one.host in (*_WILDCARDS, *outside)] if outside else []
        if not open_sockets:
            return None, f"{note} and not reachable from here: give the URL of its published port"
    open_sockets.sort(key=lambda one: (one.port != flags.port, one.port))
    urls = [f"{scheme}://{_reachable(one.host, outside)}:{one.port}{prefix}" for one in open_sockets]
    if len(urls) > 1 and server.kind == "xllamacpp":
        # A Python process may listen for other reasons too (a debugger, metrics): ask which port is the server's.
        urls = [url for url in urls[:_MAX_PROBES] if probe(url)[0]] or urls
    return urls[0], note


def _reachable(host: str, outside: Sequence[str] = ()) -> str:
    """The address to call for one that a server is bound to, in brackets when it is IPv6.

    Args:
        host: an address or a name.
        outside: the addresses under which its network namespace is reached, when it is not ours.
    """
    if host in _WILDCARDS and outside:
        return outside[0]
    host = _WILDCARDS.get(host, host)
    return f"[{host}]" if ":" in host else host


def probe(url: str) -> tuple[str | None, str]:
    """Ask a local port for /health, which needs no key and wakes nothing.

    Returns:
        The kind of server, or None when none that can be watched answers; and what happened, in words.
    """
    parts = urlsplit(url)
    host, port = parts.hostname or "127.0.0.1", parts.port or 80
    try:
        # Most ports are closed: finding that out needs no HTTP client, which costs tens of milliseconds to make.
        socket.create_connection((host, port), _HEALTH_TIMEOUT_S).close()
        with httpx.Client(timeout=_HEALTH_TIMEOUT_S, trust_env=False, verify=False) as client:  # noqa: S501 - local
            answer = client.get(f"{url}/health")
    except ConnectionRefusedError:
        return None, "nothing listens"
    except (OSError, httpx.HTTPError, httpx.InvalidURL) as error:
        return None, f"no answer ({type(error).__name__})"
    return _health(answer.status_code, answer.text[:200].strip())


def _health(status: int, text: str) -> tuple[str | None, str]:
    """What an answer to /health says."""
    if status == _OK and text == "OK":
        return "llama-swap", "llama-swap"
    if '"status"' in text and status == _OK:
        return "llama-server", "a llama-server"
    if "Loading model" in text:
        return "llama-server", "a llama-server that is loading its model"
    return None, f"something else answers ({status})"


def find_pid(url: str) -> int | None:
    """The local process that serves a URL; None when it is elsewhere or cannot be seen.

    Args:
        url: where the server is asked, with its port.
    """
    try:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return None
    addresses = _local_addresses(parts.hostname or "127.0.0.1")
    if not addresses:
        return None
    _, servers = _servers()
    wanted = {one.inode for one in procfs.listeners() if one.port == port and _serves(one.host, addresses)}
    likely = [server.pid for server in servers]
    for pid in [*likely, *(pid for pid in procfs.pids() if pid not in likely)]:
        if wanted and wanted & (procfs.socket_inodes(pid) or set()):
            return _behind(pid, servers) or pid
    told = [one.pid for one in servers if (parse_flags(one.argv).port or DEFAULT_PORTS[0]) == port]
    return told[0] if wanted and len(told) == 1 else None


def _local_addresses(host: str) -> set[str]:
    """The addresses of a host name that are this machine's own."""
    try:
        named = {str(info[4][0]) for info in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except (OSError, UnicodeError):
        return set()
    own = {address.address for several in psutil.net_if_addrs().values() for address in several}
    own |= set(_WILDCARDS)
    if host == "localhost":
        named.add("::1")  # clients try both, whatever the hosts file says
    return {address for address in named if address in own or _is_loopback(address)}


def _is_loopback(address: str) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(address).is_loopback
    return False


def _serves(bound: str, addresses: set[str]) -> bool:
    return bound in addresses or bound in _WILDCARDS or bool(addresses & set(_WILDCARDS))


def _behind(pid: int, servers: Sequence[_Server]) -> int | None:
    """The server in a container whose published port ``docker-proxy`` holds."""
    argv = procfs.argv_of(pid)
    if not argv or _base(argv[0]) != "docker-proxy" or "-container-port" not in argv[:-1]:
        return None
    port = argv[argv.index("-container-port") + 1]
    address = argv[argv.index("-container-ip") + 1] if "-container-ip" in argv[:-1] else None
    for server in servers:
        if not procfs.own_network(server.pid) or address not in procfs.addresses_of(server.pid):
            continue
        inodes = procfs.socket_inodes(server.pid) or set()
        if any(one.inode in inodes and str(one.port) == port for one in procfs.listeners(server.pid)):
            return server.pid
    return None
