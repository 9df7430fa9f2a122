"""Which server is watched, and what a server that wants a key means for a command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from fake_server import FakeServer, Llama

from specscope.cli import targets
from specscope.cli.main import main
from specscope.sources.discovery import Candidate, Discovery

if TYPE_CHECKING:
    from pathlib import Path

SHORT = ("--seconds", "0.05")


def found(monkeypatch: pytest.MonkeyPatch, *urls: str | None) -> None:
    """Discovery finds these."""
    candidates = [Candidate(url=url, pid=None, how="port") for url in urls]
    monkeypatch.setattr(targets, "discover", lambda: Discovery(candidates, []))


def test_the_screen_takes_every_server_that_can_be_reached(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found(monkeypatch, "http://a:1", None, "http://b:2")
    taken = targets.resolve(None, None, None, every=True)
    assert isinstance(taken, list)
    assert [t.url for t in taken] == ["http://a:1", "http://b:2"]
    assert capsys.readouterr().err == ""


def test_a_command_takes_the_first_and_names_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found(monkeypatch, "http://a:1", "http://b:2", "http://c:3")
    assert [t.url for t in targets.live(None, None, None)] == ["http://a:1"]
    said = "3 servers found; watching http://a:1 (others: http://b:2, http://c:3); name one to choose\n"
    assert capsys.readouterr().err == said


def test_a_single_server_needs_no_choice(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    found(monkeypatch, "http://a:1", None)
    assert [t.url for t in targets.live(None, None, None)] == ["http://a:1"]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("command", ["snapshot", "check", "stream", "record", "doctor"])
@pytest.mark.parametrize("key", [None, "wrong"])
def test_a_server_that_wants_another_key_is_exit_3(
    command: str,
    key: str | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("LLAMA_API_KEY", raising=False)
    if key:
        monkeypatch.setenv("LLAMA_API_KEY", key)
    path = tmp_path / "r.jsonl"
    more = {"record": [*SHORT, "-o", str(path)], "doctor": []}.get(command, list(SHORT))
    with FakeServer(Llama().routes(), key="right") as server:
        assert main([command, server.url, *more]) == 3
        assert sum(server.refused.values()) == 1
    out, err = capsys.readouterr()
    said = "refused the key" if key else "wants a key: --api-key-file FILE or LLAMA_API_KEY"
    assert (out if command == "doctor" else err).strip().endswith(f"{server.url} {said}")
    assert "watching" not in err
    assert not path.exists()


def test_a_password_in_the_address_is_a_key_given(capsys: pytest.CaptureFixture[str]) -> None:
    with FakeServer(Llama().routes(), key="right") as server:
        url = server.url.replace("://", "://me:hidden@")
        assert main(["snapshot", url, *SHORT]) == 3
    err = capsys.readouterr().err
    assert err == f"specscope: {server.url} refused the key\n"


def test_a_log_that_is_not_there_yet_is_told(
    server: FakeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "log"
    assert main(["snapshot", server.url, *SHORT, "--log", str(path)]) == 0
    first = capsys.readouterr().err.splitlines()[0]
    assert first == f"--log {path} does not exist yet; it is followed as soon as it does"
    path.touch()
    assert main(["snapshot", server.url, *SHORT, "--log", str(path)]) == 0
    assert "does not exist" not in capsys.readouterr().err


@pytest.mark.parametrize("typed", ["{}", "{}/"])
def test_a_load_names_the_server_it_cannot_reach(typed: str, capsys: pytest.CaptureFixture[str]) -> None:
    with FakeServer({}) as server:
        url = server.url
    assert main(["lab", "load", typed.format(url), "--requests", "1"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("1 request, ")
    assert err.startswith(f"specscope: {url}: cannot be reached (")
    assert main(["lab", "load", "ftp://host"]) == 2


def test_a_load_sends_the_key_it_is_given(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with FakeServer({}, key="right") as server:
        words = ["lab", "load", server.url, "--requests", "1"]
        monkeypatch.delenv("LLAMA_API_KEY", raising=False)
        assert main(words) == 1
        assert "status 401" in capsys.readouterr().err
        assert main([*words, "--api-key", "right"]) == 1
        assert "status 401" not in capsys.readouterr().err
        monkeypatch.setenv("LLAMA_API_KEY", "right")
        assert main(words) == 1
        assert "status 401" not in capsys.readouterr().err
        assert main([*words, "--api-key", "schl\u00fcssel"]) == 2
