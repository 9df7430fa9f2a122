"""Finding servers: real processes with real sockets, and the tables of /proc as text."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specscope.sources import discovery, procfs
from specscope.sources.discovery import Candidate, best_first, discover, find_pid, probe, server_kind

if TYPE_CHECKING:
    from collections.abc import Generator
    from pathlib import Path

SERVE = """
import socket, sys
host = sys.argv[1]
listening = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
listening.bind((host, 0))
listening.listen()
print(listening.getsockname()[1], flush=True)
sys.stdin.read()
"""
WAIT = "import sys; print(0, flush=True); sys.stdin.read()"


@contextmanager
def named(name: str, code: str, *arguments: str, env: dict[str, str] | None = None) -> Generator[tuple[int, int]]:
    """A process with the command line ``name -c code arguments`` as (pid, the port it printed)."""
    argv = [name, "-c", code, *arguments]
    pipe = subprocess.PIPE
    with subprocess.Popen(argv, executable=sys.executable, stdin=pipe, stdout=pipe, env=env) as running:
        try:
            assert running.stdout is not None
            yield running.pid, int(running.stdout.readline())
        finally:
            running.kill()


@contextmanager
def answering(status: int, body: str) -> Generator[int]:
    """An HTTP server in this process that gives one answer to everything, as its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def found(pid: int) -> Candidate:
    (one,) = [candidate for candidate in discover(()).candidates if candidate.pid == pid]
    return one


@pytest.mark.parametrize(
    ("bound", "called"),
    [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("::1", "[::1]")],  # noqa: S104
)
def test_a_server_is_found_by_its_socket_when_its_flags_say_no_port(bound: str, called: str) -> None:
    with named("/opt/llama-server", SERVE, bound) as (pid, port):
        assert found(pid) == Candidate(url=f"http://{called}:{port}", pid=pid, how="process")
        assert find_pid(f"http://{called}:{port}/v1") == pid
        assert find_pid(f"http://localhost:{port}") == pid


def test_the_flags_give_the_scheme_and_the_prefix() -> None:
    with named("llama-server-cuda", SERVE, "127.0.0.1", "--api-prefix", "/llm/", "--ssl-cert-file", "c") as (pid, port):
        assert found(pid).url == f"https://127.0.0.1:{port}/llm"


def test_without_the_right_to_see_sockets_the_flags_have_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(procfs, "socket_inodes", Mock(return_value=None))
    monkeypatch.setattr(procfs, "environ_of", Mock(return_value=None))
    with named("llama-server", WAIT, "--host", "0.0.0.0", "--port", "18181") as (pid, _):  # noqa: S104
        one = found(pid)
    assert (one.url, one.note) == ("http://127.0.0.1:18181", "port taken from its flags")
    with named("llama-server", WAIT) as (pid, _):
        assert found(pid).url == "http://127.0.0.1:8080"
    with named("llama-server", WAIT, "--host", "/tmp/x.sock") as (pid, _):  # noqa: S108 - not opened
        assert found(pid).url is None


def test_a_server_that_does_not_listen_yet_is_a_candidate_without_an_address() -> None:
    with named("llama-server", WAIT) as (pid, _):
        one = found(pid)
        assert (one.url, one.note) == (None, "listens on no TCP port (yet)")
        assert any(str(pid) in line for line in discover(()).tried)


def test_a_child_of_a_router_is_marked() -> None:
    env = {"PATH": os.environ["PATH"], "LLAMA_SERVER_ROUTER_PORT": "8080"}
    with named("llama-server", SERVE, "127.0.0.1", env=env) as (pid, _):
        assert found(pid).router_child
    with named("llama-server", SERVE, "127.0.0.1") as (pid, _):
        assert not found(pid).router_child


def test_a_python_process_that_hosts_the_server(tmp_path: Path) -> None:
    extension = tmp_path / "xllamacpp.abi3.so"
    extension.write_bytes(bytes(4096))
    code = "import mmap, os, sys; m = mmap.mmap(os.open(sys.argv[2], 0), 0, prot=1)\n" + SERVE
    with named("python3", code, "127.0.0.1", str(extension)) as (pid, port):
        assert found(pid) == Candidate(url=f"http://127.0.0.1:{port}", pid=pid, how="process", kind="xllamacpp")


def test_a_python_process_that_hosts_nothing_is_none() -> None:
    with named("python3", WAIT) as (pid, _):
        assert server_kind(pid, procfs.argv_of(pid)) is None


@pytest.mark.parametrize(
    ("argv", "kind"),
    [
        (["llama-server"], "llama-server"),
        (["/a/b/llama-server-vulkan", "-m", "x"], "llama-server"),
        (["C:\\bin\\llama-server.exe"], "llama-server"),
        (["llama", "serve"], "llama-server"),
        (["llama", "run"], None),
        (["/usr/bin/ollama", "runner", "--ollama-engine"], "ollama-runner"),
        (["ollama", "serve"], None),
        (["python3.11", "/venv/bin/llama-server", "-m", "x"], "llama-server"),
        (["python3.11", "-m", "specscope.lab.host"], "xllamacpp"),
        (["vim", "llama-server.md"], None),
        (["llama-server-notes.txt"], "llama-server"),
        ([""], None),
    ],
)
def test_kinds_by_command_line(argv: list[str], kind: str | None) -> None:
    assert server_kind(2**22 + 1, argv) == kind


def test_a_server_that_ollama_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(procfs, "parent_of", {5: 4, 4: 1}.get)
    monkeypatch.setattr(procfs, "argv_of", Mock(return_value=["/usr/bin/ollama", "serve"]))
    assert server_kind(5, ["llama-server", "--port", "40000"]) == "ollama"


@pytest.mark.parametrize(
    ("status", "body", "kind", "said"),
    [
        (200, '{"status":"ok"}', "llama-server", "a llama-server"),
        (503, '{"error":{"message":"Loading model","code":503}}', "llama-server", "loading"),
        (200, "OK", "llama-swap", "llama-swap"),
        (404, "not found", None, "404"),
        (200, "<html>", None, "200"),
    ],
)
def test_a_default_port_is_asked_once_for_its_health(status: int, body: str, kind: str | None, said: str) -> None:
    with answering(status, body) as port:
        result = discover((port,))
    mine = [one for one in result.candidates if one.how == "port"]
    assert [(one.kind, one.pid) for one in mine] == ([(kind, os.getpid())] if kind else [])
    assert any(f":{port}/health" in line and said in line for line in result.tried)


def test_a_closed_port_and_a_silent_one_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "_HEALTH_TIMEOUT_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        kind, said = probe(f"http://127.0.0.1:{port}")
        assert kind is None
        assert said.startswith("no answer")
    assert probe(f"http://127.0.0.1:{port}") == (None, "nothing listens")


def test_a_port_that_a_found_process_serves_is_not_asked_again() -> None:
    with named("llama-server", SERVE, "127.0.0.1") as (pid, port):
        result = discover((port,))
    assert [one.how for one in result.candidates if one.pid == pid] == ["process"]
    assert not any("/health" in line for line in result.tried)


def test_candidates_come_best_first_and_once() -> None:
    wrapper = Candidate(url="http://a:1", pid=1, how="process", note="port taken from its flags")
    server = Candidate(url="http://a:1", pid=2, how="process")
    routed = Candidate(url="http://a:2", pid=3, how="process", router_child=True)
    starting = Candidate(url=None, pid=4, how="process")
    port = Candidate(url="http://a:3", pid=None, how="port")
    assert best_first([starting, routed, wrapper, port, server]) == [server, port, routed, starting]


@pytest.mark.parametrize(
    "url", ["http://192.0.2.1:8080", "http://nowhere.invalid:1", "nonsense", "http://x:99999", "http://127.0.0.1:1", ""]
)
def test_a_url_that_no_local_process_serves_has_no_pid(url: str) -> None:
    assert find_pid(url) is None


def test_processes_that_vanish_and_argv_of_any_kind_do_no_harm(monkeypatch: pytest.MonkeyPatch) -> None:
    gone = 2**22 + 1
    monkeypatch.setattr(procfs, "pids", Mock(return_value=[gone, 2, 1]))
    monkeypatch.setattr(procfs, "argv_of", {gone: ["llama-server", "--port"], 2: [], 1: [""]}.get)
    monkeypatch.setattr(procfs, "parent_of", Mock(return_value=None))
    (one,) = discover(()).candidates
    assert (one.pid, one.url) == (gone, "http://127.0.0.1:8080")


@given(st.lists(st.text(max_size=12), min_size=1, max_size=4))
def test_any_command_line_has_a_kind_or_none(argv: list[str]) -> None:
    assert server_kind(2**22 + 1, argv) in (None, "llama-server", "ollama-runner", "xllamacpp")


# --- the tables of /proc ------------------------------------------------------------------------------------------

TCP = """  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1 0 100 0 0 10 0
   1: 00000000:26CB 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4712 1 0 100 0 0 10 0
   2: 0100007F:1F90 0100007F:D431 01 00000000:00000000 00:00000000 00000000     0        0 4713 1 0 100 0 0 10 0
   3: broken 0A line
"""
TCP6 = """  sl  local_address                         remote_address                        st
   0: 00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 5 1 0
   1: 0000000000000000FFFF00000100007F:0050 00000000000000000000000000000000:0000 0A 0:0 00:0 0 0 0 6 1 0
"""
FIB = """Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 172.17.0.2
        /32 host LOCAL
     |-- 127.0.0.1
        /32 host LOCAL
     |-- 172.17.255.255
        /32 link BROADCAST
     |-- 172.17.0.2
        /32 host LOCAL
"""


def test_listening_sockets_are_read_from_the_kernels_table() -> None:
    assert procfs.listeners_in(TCP) == [("127.0.0.1", 8080, 4711), ("0.0.0.0", 9931, 4712)]  # noqa: S104
    assert procfs.listeners_in(TCP6) == [("::1", 8080, 5), ("127.0.0.1", 80, 6)]
    assert procfs.addresses_in(FIB) == ["172.17.0.2"]


@given(st.text())
def test_any_text_is_a_table(text: str) -> None:
    procfs.listeners_in("head\n" + text)
    procfs.listeners_in("head\n" + TCP + text)


def test_a_server_in_a_network_of_its_own_is_called_by_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(procfs, "own_network", Mock(return_value=True))
    with named("llama-server", SERVE, "0.0.0.0") as (pid, port):  # noqa: S104
        monkeypatch.setattr(procfs, "addresses_of", Mock(return_value=["172.17.0.2"]))
        assert found(pid).url == f"http://172.17.0.2:{port}"
        monkeypatch.setattr(procfs, "addresses_of", Mock(return_value=[]))
        one = found(pid)
    assert one.url is None
    assert "not reachable from here" in one.note


def test_a_published_port_leads_to_the_server_in_its_container(monkeypatch: pytest.MonkeyPatch) -> None:
    proxy, server = 2**22 + 1, 2**22 + 2
    argv = {
        proxy: [
            "/usr/bin/docker-proxy",
            "-proto",
            "tcp",
            "-host-port",
            "80",
            "-container-ip",
            "172.17.0.2",
            "-container-port",
            "8080",
        ],
        server: ["llama-server", "--port", "8080"],
    }
    sockets = {"self": procfs.Listener("0.0.0.0", 80, 7), str(server): procfs.Listener("0.0.0.0", 8080, 8)}  # noqa: S104
    monkeypatch.setattr(procfs, "pids", Mock(return_value=[proxy, server]))
    monkeypatch.setattr(procfs, "argv_of", argv.get)
    monkeypatch.setattr(procfs, "parent_of", Mock(return_value=None))
    monkeypatch.setattr(procfs, "listeners", Mock(side_effect=lambda of="self": [sockets[str(of)]]))
    monkeypatch.setattr(procfs, "socket_inodes", {proxy: {7}, server: {8}}.get)
    monkeypatch.setattr(procfs, "own_network", Mock(return_value=True))
    monkeypatch.setattr(procfs, "addresses_of", Mock(return_value=["172.17.0.2"]))
    assert find_pid("http://127.0.0.1:80") == server
