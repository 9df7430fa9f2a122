"""The commands of a run to compare with: what is in them, what is left out, and what is said instead."""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

import builders as b
import pytest

from specscope.reports.recipe import Around, Recipe
from specscope.session.memory.map_state import MapPart, Memory, MemoryMap
from specscope.sources.process import redact_argv

if TYPE_CHECKING:
    from specscope.session.state import Target

GIB = 2**30
LINE = "-m /m/t.gguf -md /m/d.gguf --spec-type draft-dflash --spec-draft-n-max 15 -c 8192 --port 8080"
AROUND = Around(port=8081)


def server(line: str = LINE, env: dict[str, str] | None = None, **fields: object) -> Target:
    made = b.seen(b.found(), b.process(line, {} if env is None else env), *b.of_log([(15, 3)] * 3))
    return replace(made, **fields)


def recipe(target: Target, width: int = 0, around: Around = AROUND) -> str:
    return Recipe(target, around, width).text()


def commands(text: str) -> list[list[str]]:
    """The lines that a shell would run, as their words."""
    return [shlex.split(line, comments=True) for line in text.splitlines() if line and not line.startswith("#")]


def test_the_same_server_less_speculation_then_the_recording_and_its_use() -> None:
    target = b.seen(
        b.found(), b.process(LINE, {"LLAMA_TRACE": "1"}), *b.of_log([(15, 3)] * 3), b.logged(2.0, generated=40)
    )
    text = recipe(target, around=Around(port=8081, cwd="/srv/my models", label="tool calls"))
    assert commands(text) == [
        ["cd", "/srv/my models"],
        shlex.split(
            "env -u LLAMA_ARG_SPEC_TYPE LLAMA_TRACE=1 llama-server -m /m/t.gguf -c 8192 --port 8081",
        ),
        shlex.split("specscope record http://127.0.0.1:8081 -o plain.jsonl.gz --label 'tool calls' &"),
        ["sleep", "3"],
        shlex.split("specscope lab load http://127.0.0.1:8081 --requests 8 --tokens 40 --concurrency 1"),
        ["kill", "$!;", "wait"],
        shlex.split("specscope http://127.0.0.1:8080 --runs plain.jsonl.gz"),
    ]
    assert "Left out: -md /m/d.gguf --spec-type draft-dflash --spec-draft-n-max 15\n" in text


def test_a_method_in_the_environment_is_unset_because_none_does_not_clear_it() -> None:
    env = {"LLAMA_ARG_SPEC_TYPE": "ngram-simple", "LLAMA_ARG_CTX_SIZE": "4096", "LLAMA_ARG_SPEC_DRAFT_N_MAX": "7"}
    text = recipe(server("-m /m/t.gguf", env))
    assert commands(text)[0] == shlex.split(
        "env -u LLAMA_ARG_SPEC_TYPE -u LLAMA_ARG_SPEC_DRAFT_N_MAX LLAMA_ARG_CTX_SIZE=4096"
        " llama-server -m /m/t.gguf --port 8081"
    )
    assert "--spec-type none does not clear it" in text
    assert "--spec-type none" not in " ".join(commands(text)[0])


def test_another_width_keeps_everything_else() -> None:
    text = recipe(server(env={"LLAMA_ARG_SPEC_TYPE": "draft-dflash"}), 7)
    assert commands(text)[0] == shlex.split(
        "env LLAMA_ARG_SPEC_TYPE=draft-dflash llama-server -m /m/t.gguf -md /m/d.gguf --spec-type draft-dflash"
        " -c 8192 --spec-draft-n-max 7 --port 8081"
    )
    assert "-o width7.jsonl.gz" in text
    assert "--runs width7.jsonl.gz" in text


@pytest.mark.parametrize("flag", ["--api-key sk-very-hidden", "--api_key sk-very-hidden", "-hft hf_veryhidden"])
def test_secrets_are_not_in_it(flag: str) -> None:
    words = redact_argv(["llama-server", *shlex.split(f"{LINE} {flag}")])
    text = recipe(server(shlex.join(words[1:])), around=Around(port=8081, key="key" in flag))
    assert "hidden" not in text
    if "key" in flag:
        assert "export LLAMA_API_KEY=" in text
        assert "***" not in text
        assert "--api-key" not in text
    else:
        assert "*** stands for what is not shown" in text


def test_words_are_quoted_for_the_shell() -> None:
    target = server()
    argv = ["llama-server", "-m", "/m/a model's $HOME.gguf", "--alias", "a;b", "--spec-type", "draft-mtp"]
    process = replace_struct(target, argv)
    assert commands(recipe(process))[0][3:] == [
        *("llama-server", "-m", "/m/a model's $HOME.gguf", "--alias", "a;b", "--port", "8081")
    ]


def replace_struct(target: Target, argv: list[str]) -> Target:
    made = b.fold(b.found(), b.ev.ProcessSeen(at=b.T0, pid=1, argv=argv, env={})).view().targets[0]
    return replace(target, process=made.process, flags=made.flags)


def memory(free_gib: float) -> Memory:
    parts = (
        MapPart("target weights", 20 * GIB, "log"),
        MapPart("drafter weights", 2 * GIB, "log"),
        MapPart("free", int(free_gib * GIB), "driver"),
    )
    return Memory(device=MemoryMap("device", parts, free_bytes=int(free_gib * GIB)))


def test_memory_decides_whether_it_runs_beside_or_in_its_place() -> None:
    beside = recipe(server(memory=memory(21.0)))
    assert "beside it, on port 8081" in beside
    assert "about 20.0 GiB of device memory; 21.0 are free" in beside
    instead = recipe(server(memory=memory(3.0)))
    assert "in its place: stop the running one first" in instead
    assert "8081" not in instead
    assert "record http://127.0.0.1:8080 " in instead
    assert "Start the server again as it was" in instead
    assert "in its place" in recipe(server(memory=memory(21.0)), 7)  # which has the drafter too
    assert "If memory does not suffice for both" in recipe(server())


def test_a_log_file_of_its_own() -> None:
    text = recipe(server(f"{LINE} --log-file /var/log/llama.log"))
    assert "--log-file /var/log/llama.log.plain" in text


def test_a_program_named_from_the_directory_it_was_started_in() -> None:
    made = b.fold(
        b.found(),
        b.ev.ProcessSeen(
            at=b.T0, pid=1, argv=["./llama-server", *LINE.split()], env=None, exe="/opt/llama/llama-server"
        ),
    ).view()
    text = recipe(made.targets[0])
    assert " /opt/llama/llama-server -m" in text
    assert "environment may not be read" in text


def test_a_server_inside_python_keeps_its_interpreter() -> None:
    argv = ["/usr/bin/python3", "-m", "specscope.lab.host", "-m", "t.gguf", "--spec-type", "ngram-simple"]
    text = recipe(replace_struct(server(), argv))
    assert "LLAMA_ARG_SPEC_TYPE /usr/bin/python3 -m specscope.lab.host -m t.gguf --port 8081" in text


@pytest.mark.parametrize(
    ("facts", "around", "why"),
    [
        ([], AROUND, "no process was found"),
        ([], Around(port=8081, local=False), "it is on another machine"),
        (
            [b.ev.ProcessSeen(at=b.T0, pid=1, argv=["python3", "app.py"], env={}, host="python")],
            AROUND,
            "inside Python",
        ),
    ],
)
def test_without_a_command_line_it_says_what_is_missing(facts: list[b.ev.Event], around: Around, why: str) -> None:
    target = b.seen(b.found(), *facts, *b.of_log([(15, 3)] * 3))
    text = recipe(target, around=around)
    assert why in text
    assert "LLAMA_ARG_SPEC_TYPE unset, because --spec-type none does not clear it" in text
    assert commands(text)[0][:3] == ["specscope", "record", "http://127.0.0.1:8080"]
    assert "--spec-draft-n-max 7" in recipe(target, 7, around)


def test_a_server_that_does_not_draft_is_recorded_as_it_is() -> None:
    text = recipe(b.seen(b.found(), b.process("-m t.gguf"), b.idle(0.5, task=None, speculative=False)))
    assert "It does not speculate (by slots)" in text
    assert [words[:2] for words in commands(text)] == [
        *(["specscope", "record"], ["sleep", "3"], ["specscope", "lab"], ["kill", "$!;"])
    ]


def test_a_password_in_the_address_is_not_repeated() -> None:
    assert "hidden" not in recipe(server(url="http://me:hidden@host:8080"))
