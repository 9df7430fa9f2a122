"""The command line and environment of a server, read the way the server reads them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specscope.flags import (
    VERBOSITY_ALL,
    Given,
    ServerFlags,
    is_refused,
    name_before,
    names_today,
    parse_flags,
    server_arguments,
    table,
)
from specscope.flags.parse import NAMES, REMOVED, WORDS


def told(line: str, env: dict[str, str] | None = None) -> ServerFlags:
    return parse_flags(["llama-server", *line.split()], env)


def test_nothing_told_is_nothing_known() -> None:
    assert told("") == ServerFlags()
    assert parse_flags([]) == ServerFlags()


@pytest.mark.parametrize(
    ("line", "field", "value"),
    [
        ("-m a.gguf", "model", "a.gguf"),
        ("-md d.gguf", "draft_model", "d.gguf"),
        ("--model-draft d.gguf", "draft_model", "d.gguf"),
        ("--spec-draft-model d.gguf", "draft_model", "d.gguf"),
        ("--spec_draft_model d.gguf", "draft_model", "d.gguf"),
        ("-hfd u/m:Q4", "draft_repo", "u/m:Q4"),
        ("--draft-p-min 0.75", "spec_draft_p_min", 0.75),
        ("--spec-draft-n-max 16", "spec_draft_n_max", 16),
        ("--spec-draft-n-max 3 --spec-draft-n-max 7", "spec_draft_n_max", 7),
        ("--spec-draft-n-min 0", "spec_draft_n_min", 0),
        ("--spec-synth-rates 0.9,0.5,.25", "spec_synth_rates", (0.9, 0.5, 0.25)),
        ("--spec-synth-len 3.5", "spec_synth_len", 3.5),
        ("--no-spec-draft-backend-sampling", "spec_draft_backend_sampling", False),
        ("--spec-draft-backend-sampling", "spec_draft_backend_sampling", True),
        ("--metrics", "metrics", True),
        ("--no-slots", "slots", False),
        ("-v", "verbosity", VERBOSITY_ALL),
        ("-lv 4", "verbosity", 4),
        ("--spec-default", "spec_types", ("ngram-mod",)),
        ("--api-key abc", "has_api_key", True),
        ("--no-mmproj", "mmproj_auto", False),
        ("-nkvo", "kv_offload", False),
        ("--kv-offload", "kv_offload", True),
        ("--swa-full", "swa_full", True),
        ("--kv-unified-per-slot 512", "kv_unified_per_slot", 512),
        ("-cmoe", "cpu_moe", True),
        ("--n-cpu-moe 7", "n_cpu_moe", 7),
        ("-ncffn 3", "n_cpu_ffn", 3),
        ("-ot exps=CPU", "override_tensor", "exps=CPU"),
        ("--cpu-moe-draft", "draft_cpu_moe", True),
        ("--spec-draft-ncmoe 2", "draft_n_cpu_moe", 2),
        ("-otd exps=CPU", "draft_override_tensor", "exps=CPU"),
        ("-sm row", "split_mode", "row"),
        ("-ts 3,1", "tensor_split", "3,1"),
        ("-mg 1", "main_gpu", 1),
        ("--fit off", "fit", "off"),
        ("-lm none", "load_mode", "none"),
        ("--no-mmap", "mmap", False),
        ("-c 8192abc", "ctx", 8192),  # std::stoi stops at the first character that is no digit
    ],
)
def test_a_flag_and_its_aliases(line: str, field: str, value: object) -> None:
    flags = told(line)
    assert getattr(flags, field) == value
    assert flags.origins[field] == "command line"
    assert (flags.unknown, flags.malformed) == ((), ())


def test_the_command_line_overrides_the_environment() -> None:
    env = {"LLAMA_ARG_PORT": "1", "LLAMA_ARG_CTX_SIZE": "512", "LLAMA_ARG_MIN_P": "0.1", "LLAMA_ARG_TOP_K": "9"}
    flags = told("--port 2 --top-k 40", env)
    assert (flags.port, flags.ctx) == (2, 512)
    assert flags.origins == {"port": "command line", "ctx": "environment"}
    assert flags.sampling == {"min_p": Given(0.1, "environment"), "top_k": Given(40, "command line")}


def test_types_add_up_and_none_switches_nothing_off() -> None:
    flags = told("--spec-type none --spec-type draft-dflash,ngram-mod", {"LLAMA_ARG_SPEC_TYPE": "ngram-simple"})
    assert flags.spec_types == ("ngram-simple", "none", "draft-dflash", "ngram-mod")
    assert flags.spec_types_environment == ("ngram-simple",)


@pytest.mark.parametrize(
    ("env", "slots"),
    [
        ({"LLAMA_ARG_ENDPOINT_SLOTS": "off"}, False),
        ({"LLAMA_ARG_ENDPOINT_SLOTS": "enabled"}, True),
        ({"LLAMA_ARG_NO_ENDPOINT_SLOTS": "anything"}, False),
        ({}, None),
    ],
)
def test_yes_and_no_in_the_environment(env: dict[str, str], slots: bool | None) -> None:
    assert told("", env).slots is slots


def test_a_bare_flag_in_the_environment_counts_only_when_true() -> None:
    assert told("", {"LLAMA_ARG_ENDPOINT_METRICS": "1"}).metrics is True
    assert told("", {"LLAMA_ARG_ENDPOINT_METRICS": "0"}).metrics is None


def test_old_names_are_listed_with_their_values() -> None:
    flags = told("--draft-max 16 --draft_min 2 -cd 4096", {"LLAMA_ARG_DRAFT_P_MIN": "0.5"})
    assert flags.removed == {
        "LLAMA_ARG_DRAFT_P_MIN": "0.5",
        "--draft-max": "16",
        "--draft-min": "2",
        "-cd": "4096",
    }
    assert flags.spec_draft_n_max is None


def test_the_equals_form_is_refused_by_servers_and_named_here() -> None:
    flags = told("--port=18179 --mine=1 -c 5")
    assert (flags.equals_form, flags.unknown, flags.port, flags.ctx) == (("--port",), ("--mine",), None, 5)


def test_values_that_look_like_flags_are_values() -> None:
    flags = parse_flags(["llama-server", "--chat-template", "--port", "-n", "-1", "--seed", "-1", "--lora", "-m"])
    assert (flags.port, flags.model, flags.unknown) == (None, None, ())
    assert flags.sampling == {"seed": Given(-1, "command line")}


def test_what_cannot_be_read_is_malformed_and_changes_nothing() -> None:
    flags = told("--port 8081 --port many --temp 1e999 --spec-synth-rates 0.5,, --min-p")
    assert flags.port == 8081
    assert flags.malformed == ("--port", "--temp", "--spec-synth-rates", "--min-p")


@pytest.mark.parametrize(
    ("argv", "rest"),
    [
        (["/usr/bin/llama-server", "-m", "x"], ["-m", "x"]),
        (["llama", "serve", "-m", "x"], ["serve", "-m", "x"]),
        (["/venv/bin/python3.12", "-u", "-X", "dev", "-m", "host", "-m", "x"], ["-m", "x"]),
        (["python", "-mhost", "-m", "x"], ["-m", "x"]),
        (["python", "serve.py", "-m", "x"], ["-m", "x"]),
        (["python", "-m"], []),
        (["python"], []),
        ([], []),
    ],
)
def test_what_python_itself_takes_is_passed_over(argv: list[str], rest: list[str]) -> None:
    assert list(server_arguments(argv)) == rest


def test_no_name_is_in_two_tables() -> None:
    assert not set(NAMES) & set(WORDS)
    assert not set(NAMES) & set(REMOVED)
    assert not set(WORDS) & set(REMOVED)
    assert {flag.field for flag, _ in NAMES.values() if not flag.sampling} <= set(ServerFlags.__struct_fields__)


ARGUMENTS = st.one_of(
    st.sampled_from(sorted([*NAMES, *REMOVED, *list(WORDS)[:20]])),
    st.text(max_size=8),
    st.sampled_from(["1", "-1", "0.5", "none", "a,b", "", "--", "-", "--x=1", "99999999999999999999"]),
)
VARIABLES = st.dictionaries(
    st.sampled_from(sorted({flag.env for flag, _ in NAMES.values() if flag.env} | {"LLAMA_ARG_NO_JINJA"})),
    st.one_of(st.text(max_size=8), st.sampled_from(["1", "0", "true", "off", "7", "0.25"])),
)


@given(argv=st.lists(ARGUMENTS, max_size=12), env=st.one_of(st.none(), VARIABLES))
def test_any_words_are_read(argv: list[str], env: dict[str, str] | None) -> None:
    flags = parse_flags(argv, env)
    assert set(flags.origins) <= set(ServerFlags.__struct_fields__)
    assert flags.spec_types[: len(flags.spec_types_environment)] == flags.spec_types_environment


@given(argv=st.lists(ARGUMENTS, max_size=8), port=st.integers(0, 65535))
def test_the_last_port_wins_whatever_came_before(argv: list[str], port: int) -> None:
    # Two words that no flag reads keep the one before from taking `--port` as its value.
    assert parse_flags(["llama-server", *argv, "x", "x", "--port", str(port)]).port == port


@given(env=VARIABLES)
def test_the_environment_alone_sets_only_what_it_names(env: dict[str, str]) -> None:
    flags = parse_flags(["llama-server"], env)
    assert set(flags.origins.values()) <= {"environment"}
    assert all(one.origin == "environment" for one in flags.sampling.values())


def test_every_time_that_something_was_given_in_the_order_in_which_it_is_applied() -> None:
    told = parse_flags(["llama-server", "--top_k", "10", "-n", "5", "--top-k", "20"], {"LLAMA_ARG_TOP_K": "50"}).told
    assert [tuple(t) for t in told] == [
        ("top_k", 50, "environment", "LLAMA_ARG_TOP_K"),
        ("top_k", 10, "command line", "--top-k"),
        ("n_predict", 5, "command line", "-n"),
        ("top_k", 20, "command line", "--top-k"),
    ]


@pytest.mark.parametrize(
    ("words", "samplers"),
    [
        (
            ["--samplers", "top-k;TEMP;nucleus;nonsense;typ;topnsigma"],
            ("top_k", "temperature", "top_p", "typ_p", "top_n_sigma"),
        ),
        (
            ["--sampler-seq", "edskypmxt"],
            ("penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature"),
        ),
        (["--sampling-seq", "kt?"], ("top_k", "temperature")),
    ],
    ids=["names", "letters", "a letter that is none"],
)
def test_samplers_by_name_and_by_letter(words: list[str], samplers: tuple[str, ...]) -> None:
    assert parse_flags(["llama-server", *words]).sampling["samplers"].value == samplers


def test_old_names_and_those_of_today() -> None:
    assert names_today("--draft-max") == ("--spec-draft-n-max", "--spec-ngram-mod-n-max")
    assert names_today("LLAMA_ARG_DRAFT_P_MIN") == ("LLAMA_ARG_SPEC_DRAFT_P_MIN",)
    assert names_today("--ctx-size-draft") == ()
    assert names_today("--spec-draft-n-max") is None
    refused = {"--draft-max", "-cd", "LLAMA_ARG_DRAFT_MAX", "LLAMA_ARG_DRAFT_MIN"}
    assert {
        n for n in (*refused, "LLAMA_ARG_DRAFT_P_MIN", "LLAMA_ARG_MODEL_DRAFT", "--port") if is_refused(n)
    } == refused
    assert name_before("--spec-draft-n-max") == "--draft-max"
    assert name_before("--spec-type") == "--spec-type"


@pytest.mark.parametrize("name", sorted({*table.REMOVED_FLAGS, *table.REMOVED_VARIABLES}))
def test_what_stands_for_an_old_name_is_read(name: str) -> None:
    variables = {flag.env for flag, _ in NAMES.values()}
    assert set(names_today(name) or ()) <= {*NAMES, *variables}


@pytest.mark.parametrize(("today", "before"), table.OLD_NAMES.items())
def test_a_renamed_flag_had_a_name_that_is_known(today: str, before: str) -> None:
    assert today in NAMES
    assert before in NAMES or today in (names_today(before) or ())
