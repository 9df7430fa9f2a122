"""Arguments of another run: without speculation, and with another width."""

from __future__ import annotations

import pytest

from specscope.flags import parse_flags
from specscope.flags.parse import NAMES, WORDS
from specscope.flags.rewrite import is_speculative, speculative_variables, with_value, with_width, without

LINE = (
    "-m t.gguf -md d.gguf --spec-type draft-dflash --spec-draft-n-max 15 -ngl 99 -ngld 99 --host ::1 -devd CUDA1"
    " --spec_draft_p_min 0.5 --metrics --no-spec-draft-backend-sampling -td 4 -lcd cache.bin -c 8192"
)


def test_what_drafts_is_left_out_with_its_values_and_nothing_else() -> None:
    kept, left_out = without(LINE.split(), is_speculative)
    assert kept == ["-m", "t.gguf", "-ngl", "99", "--host", "::1", "--metrics", "-c", "8192"]
    assert [words[0] for words in left_out] == [
        *("-md", "--spec-type", "--spec-draft-n-max", "-ngld", "-devd", "--spec_draft_p_min"),
        *("--no-spec-draft-backend-sampling", "-td", "-lcd"),
    ]
    assert parse_flags(["llama-server", *kept]).spec_types == ()


def test_every_flag_of_the_server_is_either_of_drafting_or_kept() -> None:
    drafting = {name for name in (*NAMES, *WORDS) if is_speculative(name)}
    assert {"--spec-type", "--spec-default", "-hfd", "-ctkd", "-cmoed", "-otd", "--spec-ngram-mod-n-max"} <= drafting
    assert {"--prio-batch-draft", "-Cd", "-tbd", "--spec-ngram-map-k-size-m", "--lookup-cache-static"} <= drafting
    kept = {*NAMES, *WORDS} - drafting
    assert {"-m", "-hf", "-t", "-tb", "-ctk", "--temp", "--spm-infill", "--special", "-sp", "-dev"} <= kept
    assert not {name for name in kept if "spec-" in name and not name.startswith("--fim-")}


def test_variables_of_drafting() -> None:
    env = dict.fromkeys(
        ["LLAMA_ARG_SPEC_TYPE", "LLAMA_ARG_SPEC_DRAFT_N_MAX", "LLAMA_ARG_N_GPU_LAYERS_DRAFT", "LLAMA_ARG_DRAFT_MAX"],
        "1",
    )
    assert speculative_variables({**env, "LLAMA_ARG_CTX_SIZE": "1", "LLAMA_TRACE": "1", "MY_SPEC_": "1"}) == list(env)


def test_a_value_replaces_those_given_under_any_name() -> None:
    assert with_value(["-c", "1", "-m", "x", "--ctx-size", "2"], "--ctx-size", "3") == ["-m", "x", "--ctx-size", "3"]
    assert with_value(["-m", "x"], "--port", "8081") == ["-m", "x", "--port", "8081"]


@pytest.mark.parametrize(
    ("line", "width", "changed"),
    [
        ("--spec-type draft-dflash --spec-draft-n-max 15", 7, "--spec-type draft-dflash --spec-draft-n-max 7"),
        ("--spec-type draft-mtp", 2, "--spec-type draft-mtp --spec-draft-n-max 2"),
        (
            "--spec-type draft-simple --spec-draft-n-min 5",
            3,
            "--spec-type draft-simple --spec-draft-n-max 3 --spec-draft-n-min 3",
        ),
        ("--spec-type ngram-simple", 9, "--spec-type ngram-simple --spec-ngram-simple-size-m 9"),
        (
            "--spec-type ngram-mod,draft-mtp",
            7,
            "--spec-type ngram-mod,draft-mtp --spec-ngram-mod-n-max 7 --spec-draft-n-max 7 --spec-ngram-mod-n-min 7",
        ),
        ("--spec-type ngram-mod --spec-ngram-mod-n-min 1", 7, None),
        (
            "--spec-type draft-dflash --spec-synth-rates .9,.8,.7",
            2,
            "--spec-type draft-dflash --spec-synth-rates .9,.8 --spec-draft-n-max 2",
        ),
    ],
)
def test_a_width_for_each_method(line: str, width: int, changed: str | None) -> None:
    flags = parse_flags(["llama-server", *line.split()])
    made = " ".join(with_width(line.split(), flags, flags.spec_types, width))
    assert made == (changed or f"{line} --spec-ngram-mod-n-max {width}")
