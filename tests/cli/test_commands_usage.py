"""Commands that cannot do what they are told: one line, and an exit status that says why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import fake_server as fake
import pytest
from fake_server import FakeServer
from programs import make_recording

from specscope.cli import targets
from specscope.cli.main import main
from specscope.cli.parser import COMMANDS
from specscope.reports.rules import rules_markdown
from specscope.sources.discovery import Discovery

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def nobody() -> str:
    """An address at which nothing listens."""
    with FakeServer({}) as server:
        return server.url


def exit_of(*words: str) -> int:
    """The exit status, also where argparse ends the program."""
    try:
        return main(words)
    except SystemExit as error:
        return int(error.code or 0)


def one_line(text: str) -> str:
    """The only line of a message."""
    assert text.count("\n") == 1, text
    assert "Traceback" not in text
    return text.strip()


@pytest.mark.parametrize("words", [["-h"], ["--help"], *([name, "-h"] for name in COMMANDS)], ids=" ".join)
def test_help_never_starts_a_screen(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_of(*words) == 0
    out, err = capsys.readouterr()
    assert out.startswith("usage: specscope")
    assert err == ""


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_of("--version") == 0
    assert capsys.readouterr().out.startswith("specscope ")


@pytest.mark.parametrize("words", [[], ["http://127.0.0.1:1"], ["live"], ["demo"]], ids=" ".join)
def test_no_screen_without_a_terminal(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_of(*words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "no terminal" in one_line(err)
    assert "for scripts: specscope" in err


@pytest.mark.parametrize(
    "words",
    [
        ["snapshot", "--seconds", "abc"],
        ["snapshot", "--seconds", "0"],
        ["snapshot", "--seconds", "nan"],
        ["snapshot", "--nonsense"],
        ["snapshot", "a", "b"],
        ["snapshot", "--pid", "x"],
        ["check", "--fail-on", "bad"],
        ["check", "--json", "--markdown"],
        ["check", "http://h", "--against", "missing.jsonl"],
        ["check", "http://h", "--against", "/"],
        ["explain", "hidden_min_p", "--markdown"],
        ["record", "http://127.0.0.1:1"],
        ["replay"],
        ["replay", "f", "--speed", "-1"],
        ["replay", "f", "--speed", "nan"],
        ["explain", "SPC999"],
        ["lab"],
        ["snapshot", "http://h", "--pid", "7"],
        ["snapshot", "ftp://host"],
        ["snapshot", "http://[::1"],
        ["snapshot", "http://host:99999"],
        ["snapshot", "host/?key=1"],
        ["snapshot", "two words"],
        ["snapshot", ""],
        ["snapshot", "missing.jsonl"],
        ["snapshot", "./missing"],
        ["snapshot", "/"],
        ["stream", "missing.gz"],
        ["replay", "missing"],
    ],
    ids=" ".join,
)
def test_bad_usage_is_one_line_and_exit_2(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_of(*words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    one_line(err)


def test_a_password_in_a_bad_address_is_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_of("snapshot", "http://me:hidden@host:99999") == 2
    assert "hidden" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("8080", "http://127.0.0.1:8080"),
        (":8080", "http://127.0.0.1:8080"),
        ("host:8080/x/", "http://host:8080/x"),
        ("https://host", "https://host"),
        ("::1", "http://[::1]"),
        ("[::1]:8080", "http://[::1]:8080"),
        ("localhost", "http://localhost"),
    ],
)
def test_addresses_as_typed(typed: str, url: str) -> None:
    found = targets.resolve(typed, None, None)
    assert isinstance(found, list)
    assert [t.url for t in found] == [url]


@pytest.mark.parametrize("command", ["snapshot", "check", "stream", "doctor"])
def test_nothing_reachable_is_exit_3(command: str, nobody: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_of(command, nobody) == 3
    out, err = capsys.readouterr()
    assert nobody in out + err
    assert command == "doctor" or nobody in one_line(err)
    assert "refused" in out + err or "failed" in out + err


def test_the_log_of_a_server_that_does_not_start_is_judged(
    nobody: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "server.log"
    log.write_text('error while handling environment variable "LLAMA_ARG_DRAFT_MAX": the argument has been removed\n')
    assert exit_of("check", nobody, "--log", str(log), "--seconds", "1") == 1
    assert "SPC112 removed_flag: the server does not start" in capsys.readouterr().out
    assert exit_of("snapshot", nobody, "--log", str(log), "--seconds", "1") == 3
    log.unlink()
    assert exit_of("check", nobody, "--log", str(log), "--seconds", "1") == 3


@pytest.mark.parametrize(
    "routes", [{}, {"/health": fake.HTML}, {"/health": fake.reply("x", 502)}], ids=["404", "a page", "a proxy"]
)
def test_what_is_no_llama_server_is_exit_3(routes: dict[str, fake.Route], capsys: pytest.CaptureFixture[str]) -> None:
    with FakeServer(routes) as server:
        assert exit_of("snapshot", server.url, "--json") == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert "/health" in one_line(err)


def test_nothing_found_says_what_was_tried(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    tried = ["process table: 7 processes", "http://127.0.0.1:8080/health: nothing listens"]
    monkeypatch.setattr(targets, "discover", lambda: Discovery([], tried))
    assert exit_of("snapshot") == 3
    out, err = capsys.readouterr()
    assert out == ""
    assert all(line in err for line in tried)


def test_a_process_that_is_no_server(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_of("snapshot", "--pid", "1") == 3
    assert "process 1 is no llama-server" in one_line(capsys.readouterr().err)


@pytest.mark.parametrize("content", ["no toml [", "nonsense = 1\n", 'refresh_hz = "often"\n', "\xff"])
def test_settings_that_cannot_be_read(content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(content.encode("latin-1"))
    for words in (["snapshot", "http://127.0.0.1:1"], ["check"], ["record", "-o", str(tmp_path / "r.jsonl")]):
        assert exit_of(*words, "--config", str(path)) == 2
        assert "bad.toml" in one_line(capsys.readouterr().err)
    assert exit_of("snapshot", "--config", str(tmp_path / "missing.toml")) == 2
    assert not (tmp_path / "r.jsonl").exists()


def test_key_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, content in (("empty", b"\n"), ("binary", b"secret\xff"), ("odd", "schlüssel".encode())):
        path = tmp_path / name
        path.write_bytes(content)
        assert exit_of("snapshot", "http://127.0.0.1:1", "--api-key-file", str(path)) == 2
        err = one_line(capsys.readouterr().err)
        assert "secret" not in err
        assert "schl" not in err
    assert exit_of("snapshot", "http://127.0.0.1:1", "--api-key-file", str(tmp_path / "none")) == 2


def test_commands_for_servers_refuse_recordings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(make_recording(tmp_path / "r.jsonl"))
    assert exit_of("doctor", path) == 2
    assert exit_of("record", path, "-o", str(tmp_path / "new.jsonl")) == 2
    assert "is a recording" in capsys.readouterr().err
    assert not (tmp_path / "new.jsonl").exists()


def test_a_file_that_is_no_recording(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, content in (("a.jsonl", b"{}\n"), ("b.gz", b"\x1f\x8bnonsense"), ("c", b"\xff\xfe\n"), ("d", b"")):
        path = tmp_path / name
        path.write_bytes(content)
        for words in (["snapshot", str(path)], ["replay", str(path)], ["check", str(path)]):
            assert exit_of(*words) == 2
            assert "not a recording" in one_line(capsys.readouterr().err)


def test_explain(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_of("explain") == 0
    assert "hidden_min_p" in capsys.readouterr().out
    assert exit_of("explain", "hidden_min_p") == 0
    out = capsys.readouterr().out
    assert "What to do" in out
    assert "`" not in out
    assert exit_of("explain", "--markdown") == 0
    assert capsys.readouterr().out == rules_markdown()


def test_explain_knows_what_a_misspelt_rule_may_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_of("explain", "hiden_min_p") == 2
    assert "did you mean hidden_min_p?" in one_line(capsys.readouterr().err)
    assert exit_of("explain", "nothing like it") == 2
    assert "specscope explain lists them all" in one_line(capsys.readouterr().err)


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["snapsot"], "did you mean snapshot?"),
        (["docter", "--json"], "did you mean doctor?"),
        (["--ascii", "rplay"], "did you mean replay?"),
        (["gpu-box"], "a server is named HOST:PORT"),
    ],
    ids=" ".join,
)
def test_a_lone_word_is_no_host(words: list[str], hint: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_of(*words) == 2
    word = next(w for w in words if not w.startswith("-"))
    assert one_line(capsys.readouterr().err) == f"specscope: no command {word!r} ({hint})"


@pytest.mark.parametrize("word", ["8080", "localhost", "host:80", "host.lan", "./snapsot", "mine"])
def test_what_may_be_a_server_or_a_file_is_no_misspelt_command(
    word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").touch()
    assert exit_of(word) == 2
    assert "no terminal" in one_line(capsys.readouterr().err)


def test_help_names_the_flags_of_the_screen_and_the_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_of("--help") == 0
    out = capsys.readouterr().out
    assert all(words in out for words in ("[TARGET]", "live --help", "--log", "--pid", "--no-color", "--ascii"))
    for words, default in ((["check"], "warning"), (["replay"], "default"), (["lab", "load"], "256")):
        assert exit_of(*words, "-h") == 0
        assert default in capsys.readouterr().out


@pytest.mark.parametrize("name", ["record", "doctor"])
def test_the_help_of_a_command_that_takes_no_recording_names_none(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_of(name, "-h") == 0
    assert "address of a running server" in capsys.readouterr().out
    words = {"record": ["-o", str(tmp_path / "new.jsonl")]}.get(name, [])
    assert exit_of(name, str(make_recording(tmp_path / "r.jsonl")), *words) == 2
    assert "is a recording; this command needs a running server" in capsys.readouterr().err
