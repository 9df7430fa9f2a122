"""Where each setting comes from: all claims to it, the one that won, and why the others lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from replayed import recording, replayed

from specscope.session.fold import Fold
from specscope.session.provenance.derive import ProvenanceDeriver
from specscope.session.provenance.known import KNOWN, SAMPLERS
from specscope.session.provenance.values import as_written, written

if TYPE_CHECKING:
    from specscope import events as ev
    from specscope.session.provenance.state import Setting

DEFAULTS = {"temperature": 0.800000011920929, "top_k": 40, "top_p": 0.949999988079071, "min_p": 0.05000000074505806}
PLAIN = b.process("-m m.gguf", env={})
B10434 = "b1-7e4c0a9"
B11434 = "b11434-1a2b3c4"


def setting(name: str, *facts: ev.Event) -> Setting:
    found = b.seen(b.found(), *facts).provenance.setting(name)
    assert found is not None
    return found


def claims(found: Setting) -> list[tuple[str, object, bool]]:
    return [(claim.origin, claim.value, claim.won) for claim in found.claims]


def why(found: Setting, origin: str) -> str:
    return next(claim.why for claim in found.claims if claim.origin == origin)


def answered(build: str = B11434, **changes: object) -> ev.PropsRead:
    return b.props(build=build, defaults=DEFAULTS | changes)


# --- who wins -------------------------------------------------------------------------------------------------------


def test_a_request_goes_before_everything() -> None:
    found = setting(
        "top_k",
        b.model(sampling={"top_k": 70}),
        b.process("-m m.gguf --top-k 20", env={"LLAMA_ARG_TOP_K": "50"}),
        answered(top_k=20),
        b.busy(params=DEFAULTS | {"top_k": 30}),
    )
    assert (found.value, found.origin, found.known_by, found.certain) == (30, "request", "request", True)
    assert claims(found) == [
        ("request", 30, True),
        ("command line", 20, False),
        ("environment", 50, False),
        ("GGUF", 70, False),
        ("server default", 40, False),
    ]
    assert [c.name for c in found.claims] == [
        '"top_k"', "--top-k", "LLAMA_ARG_TOP_K", "general.sampling.top_k", "built in"
    ]  # fmt: skip
    assert why(found, "command line") == "the request set its own"
    assert why(found, "environment") == why(found, "GGUF") == "the command line goes before it"


def test_a_request_that_sets_nothing_claims_nothing() -> None:
    found = setting("min_p", PLAIN, answered(), b.busy(params=DEFAULTS))
    assert (found.value, found.origin, found.known_by) == (0.05, "server default", "request")
    assert claims(found) == [("server default", 0.05, True)]


def test_the_environment_goes_before_the_model_file() -> None:
    process = b.process("-m m.gguf", env={"LLAMA_ARG_TOP_K": "50"})
    found = setting("top_k", process, b.model(sampling={"top_k": 70}), answered(top_k=50))
    assert (found.value, found.origin, found.known_by) == (50, "environment", "props")
    assert why(found, "GGUF") == "the environment goes before it"


def test_the_model_file_goes_before_the_built_in_default() -> None:
    file = b.model(sampling={"temp": 0.550000011920929, "penalty_last_n": 32, "sequence": "top-k;temp"})
    facts = (PLAIN, file, answered(temperature=0.550000011920929, repeat_last_n=32, samplers=["top_k", "temperature"]))
    assert [
        (found.value, found.origin)
        for found in (setting(n, *facts) for n in ("temperature", "repeat_last_n", "samplers"))
    ] == [(0.55, "GGUF"), (32, "GGUF"), (("top_k", "temperature"), "GGUF")]


def test_of_a_flag_given_twice_the_last_counts() -> None:
    found = setting("top_k", b.process("--top-k 10 --top-k 20", env={}), answered(top_k=20))
    assert claims(found)[:2] == [("command line", 20, True), ("command line", 10, False)]
    assert found.claims[1].why == "--top-k comes later"


def test_the_model_files_sequence_goes_before_the_letters_of_a_flag() -> None:
    facts = (b.process("--sampler-seq kt", env={}), b.model(sampling={"sequence": "min_p"}))
    found = setting("samplers", *facts, answered(samplers=["min_p"]))
    assert claims(found)[:2] == [("GGUF", ("min_p",), True), ("command line", ("top_k", "temperature"), False)]


def test_a_router_writes_its_preset_on_the_command_line() -> None:
    process = b.process("-m m.gguf --min-p 0", env={"LLAMA_SERVER_ROUTER_PORT": "8080"})
    assert setting("min_p", process, answered(min_p=0.0)).origin == "preset"


# --- what a server does not read -----------------------------------------------------------------------------------


def test_an_older_build_does_not_read_a_newer_variable() -> None:
    process = b.process("-m m.gguf", env={"LLAMA_ARG_TEMPERATURE": "0.3"})
    found = setting("temperature", process, answered(B10434))
    assert (found.value, found.origin) == (0.8, "server default")
    assert why(found, "environment") == "build b10434 does not read LLAMA_ARG_TEMPERATURE"
    assert setting("temperature", process, answered(B11434, temperature=0.3)).origin == "environment"


def test_what_an_unknown_build_shows_decides() -> None:
    process = b.process("-m m.gguf", env={"LLAMA_ARG_TEMPERATURE": "0.3"})
    assert setting("temperature", process, answered("b0-unknown", temperature=0.3)).origin == "environment"
    found = setting("temperature", process, answered("b0-unknown"))
    assert found.origin == "server default"
    assert why(found, "environment") == "not taken: the server shows another value"
    assert not any(claim.unread for claim in found.claims)


def test_a_server_inside_python_reads_no_variable() -> None:
    process = b.process("-m m.gguf", env={"LLAMA_ARG_TOP_K": "50"})
    inside = type(process)(at=b.T0, pid=1, argv=["/usr/bin/python3", "serve.py"], env=process.env, host="python")
    found = setting("top_k", inside, b.model(sampling={"top_k": 70}), answered(top_k=70))
    assert found.origin == "GGUF"
    assert why(found, "environment") == "a server inside Python reads no LLAMA_ARG_* variable"
    assert [claim.unread for claim in found.claims] == [True, False, False]


def test_ik_llama_does_not_apply_the_model_files_sampling() -> None:
    props = b.props(kind="ik_llama.cpp", defaults={"min_p": 0.05, "xtc_threshold": 1.0})
    facts = (PLAIN, b.model(sampling={"min_p": 0.0, "xtc_threshold": 0.1}), props)
    found = setting("min_p", *facts)
    assert (found.value, found.origin) == (0.05, "server default")
    assert why(found, "GGUF") == "ik_llama.cpp does not apply general.sampling.*"
    assert setting("xtc_threshold", *facts).origin == "server default"


def test_a_value_that_nothing_claims_is_of_unknown_origin() -> None:
    found = setting("min_p", PLAIN, answered(min_p=0.1))
    assert (found.value, found.origin, found.certain) == (0.1, "unknown", False)
    assert why(found, "server default") == "not taken: the server shows another value"


def test_without_its_process_a_default_is_only_likely() -> None:
    found = setting("min_p", answered())
    assert (found.value, found.origin, found.certain) == (0.05, "server default", False)
    hidden = setting("min_p", b.process("-m m.gguf", env=None), answered())
    assert (hidden.origin, hidden.certain) == ("server default", False)


def test_nothing_seen_is_nothing_claimed() -> None:
    provenance = b.seen(b.found()).provenance
    assert all(s.value is None and s.origin == "unknown" for s in provenance.settings)
    assert (provenance.build, provenance.adviser, provenance.asked_by) == (None, "", None)


# --- values ---------------------------------------------------------------------------------------------------------


def test_a_random_seed_is_minus_one() -> None:
    found = setting("seed", PLAIN, answered(seed=4_294_967_295))
    assert (found.value, found.origin) == (-1, "server default")
    assert setting("seed", PLAIN, answered(seed=4_294_967_295), b.busy(params={"seed": 7})).origin == "request"


def test_props_does_not_say_what_n_predict_is() -> None:
    line = b.process("-m m.gguf -n 77", env={})
    found = setting("n_predict", line, answered(n_predict=-1), b.busy(params={"n_predict": 77}))
    assert (found.value, found.origin) == (77, "command line")
    assert setting("n_predict", line, answered(n_predict=-1), b.busy(params={"n_predict": 12})).origin == "request"


@pytest.mark.parametrize(
    ("stored", "value"),
    [(64.0, 64), ("64.9", 64), (64, 64), (float("nan"), None), (float("inf"), None), ("many", None), ([1], None)],
)
def test_numbers_of_the_model_file_are_read_as_the_server_reads_them(stored: object, value: int | None) -> None:
    found = setting("top_k", PLAIN, b.model(sampling={"top_k": stored}), b.props())
    assert [claim.value for claim in found.claims if claim.origin == "GGUF"] == ([] if value is None else [value])


@pytest.mark.parametrize(
    ("value", "shortest"),
    [(0.05000000074505806, 0.05), (0.949999988079071, 0.95), (1.0, 1.0), (0.1, 0.1), (1e300, 1e300), (-0.0, 0.0)],
)
def test_a_float32_is_told_as_somebody_would_write_it(value: float, shortest: float) -> None:
    assert as_written(value) == shortest


def test_values_in_words() -> None:
    words = [written(v) for v in (None, True, False, 0.05, 1.0, 40, ("top_k", "min_p"), (0.9, 0.85), "q8_0")]
    assert words == ["—", "on", "off", "0.05", "1", "40", "top_k, min_p", "0.9, 0.85", "q8_0"]


# --- speculation ----------------------------------------------------------------------------------------------------


def test_methods_of_environment_and_command_line_add_up() -> None:
    process = b.process("--spec-type draft-dflash", env={"LLAMA_ARG_SPEC_TYPE": "ngram-mod"})
    found = setting(
        "spec_type", process, b.busy(speculative=True, params={"speculative.types": "ngram-mod,draft-dflash"})
    )
    assert found.value == ("ngram-mod", "draft-dflash")
    assert claims(found)[:2] == [("command line", ("draft-dflash",), True), ("environment", ("ngram-mod",), True)]


def test_none_takes_nothing_away() -> None:
    process = b.process("--spec-type none", env={"LLAMA_ARG_SPEC_TYPE": "ngram-simple"})
    slot = b.busy(speculative=True, params={"speculative.types": "none,ngram-simple,none"})
    found = setting("spec_type", process, slot)
    assert (found.value, found.origin) == (("ngram-simple",), "environment")
    assert why(found, "command line") == "none takes nothing away: environment and command line add up"


def test_methods_that_nothing_shows_yet_are_those_of_the_flags() -> None:
    found = setting("spec_type", b.process("--spec-type ngram-mod,ngram-simple", env={}))
    assert (found.value, found.known_by) == (("ngram-mod", "ngram-simple"), "worked out")


def test_a_method_that_is_refused_lost() -> None:
    facts = (b.process("--spec-type draft-mtp", env={}), b.idle(0.1, task=None, speculative=False))
    found = setting("spec_type", *facts)
    assert (found.value, found.origin) == (("none",), "server default")
    assert why(found, "command line") == "not taken: the server shows another value"


def test_a_clamped_width_is_still_the_flags() -> None:
    facts = (
        b.process("-md d.gguf --spec-type draft-dflash --spec-draft-n-max 20", env={}),
        b.busy(params={"speculative.types": "draft-dflash"}),
        b.model("drafter", block_size=16),
    )
    found = setting("spec_draft_n_max", *facts)
    assert (found.value, found.origin, found.known_by) == (15, "command line", "headers")
    assert found.note == "clamped: the drafter was trained for drafts of 15"
    logged = setting("spec_draft_n_max", *facts, b.said("draft_width_clamped", n_max="20", clamped_to="15"))
    assert (logged.value, logged.known_by) == (15, "log")


def test_what_the_log_says_of_the_drafters_parameters() -> None:
    line = b.said("spec_params", n_max="3", n_min="0", p_min="0.00", backend_sampling="1")
    for name, value in (("spec_draft_p_min", 0.0), ("spec_draft_n_min", 0), ("spec_draft_backend_sampling", True)):
        found = setting(name, b.process("-md d.gguf --spec-type draft-simple", env={}), line)
        assert (found.value, found.known_by, found.origin) == (value, "log", "server default")


@pytest.mark.parametrize(("build", "value"), [("b9234-aaaaaaa", 0.75), ("b9235-aaaaaaa", 0.0), ("b11434-aaaaaaa", 0.0)])
def test_p_min_fell_with_a_build(build: str, value: float) -> None:
    facts = (b.process("-md d.gguf --spec-type draft-simple", env={}), b.props(build=build))
    assert setting("spec_draft_p_min", *facts).value == value


# --- context --------------------------------------------------------------------------------------------------------


def test_a_context_is_shared_by_its_slots() -> None:
    facts = (
        b.process("-c 8192 -np 2", env={}),
        b.props(n_ctx=4096, total_slots=2),
        b.said("n_slots", n_slots="2", n_ctx_slot="4096", kv_unified="false"),
    )
    whole, part = setting("ctx_size", *facts), setting("slot_ctx", *facts)
    assert (whole.value, whole.origin, whole.note) == (8192, "command line", "")
    assert (part.value, part.origin, part.note) == (4096, "command line", "its share of ctx_size")


def test_slots_that_share_one_cache_have_all_of_it() -> None:
    facts = (
        b.process("-c 8192", env={}),
        b.props(n_ctx=8192, total_slots=4),
        b.said("n_slots", n_slots="4", n_ctx_slot="8192", kv_unified="true"),
    )
    assert setting("ctx_size", *facts).value == 8192
    assert setting("slot_ctx", *facts).note == "all of ctx_size, which the slots share"
    slots = setting("parallel", *facts)
    assert (slots.value, slots.origin, slots.note) == (4, "server default", "the server's own choice")
    assert setting("kv_unified", *facts).origin == "server default"


def test_a_context_that_was_fitted_says_so() -> None:
    facts = (
        b.process("-m m.gguf", env={}),
        b.props(n_ctx=48_384, total_slots=1),
        b.said("context_reduced", requested="262144", effective="48384", mib_saved="9000"),
    )
    found = setting("ctx_size", *facts)
    assert (found.value, found.note) == (48_384, "reduced from 262144 to fit into memory")


def test_a_line_of_the_log_without_its_numbers_tells_nothing() -> None:
    drafting = b.busy(params={"speculative.types": "draft-simple"})
    for n_max in ("", "many", "nan", "1e999", "9" * 5000):
        lines = b.said("spec_params", n_max=n_max, p_min="none"), b.said("context_reduced")
        facts = (b.process("-m m.gguf --spec-draft-n-max 5", env={}), b.props(n_ctx=4096, total_slots=1), *lines)
        assert setting("spec_draft_n_max", drafting, *facts).value == 5
        assert setting("spec_draft_p_min", drafting, *facts).value == 0
        assert setting("ctx_size", *facts).note == "the server's own choice"


# --- what is worth a row --------------------------------------------------------------------------------------------


def test_rare_settings_at_their_default_are_plain() -> None:
    assert setting("dry_base", PLAIN, answered(dry_base=1.75)).plain
    assert not setting("dry_base", PLAIN, answered(dry_base=2.0)).plain
    assert not setting("dry_base", b.process("--dry-base 1.75", env={}), answered(dry_base=1.75)).plain


def test_settings_of_a_method_are_plain_while_another_is_in_force() -> None:
    facts = (
        b.process("--spec-type ngram-mod", env={}),
        b.busy(speculative=True, params={"speculative.types": "ngram-mod"}),
    )
    assert setting("spec_draft_n_max", *facts).plain
    assert not setting("spec_ngram_mod_n_match", *facts).plain


def test_the_h200s_recorded_server() -> None:
    (target,) = replayed("h200_dflash").targets
    found = {s.name: (s.value, s.origin) for s in target.provenance.settings if not s.plain}
    assert target.provenance.build == 11434
    assert found["gpu_layers"] == ("99", "command line")
    assert found["flash_attn"] == ("on", "command line")
    assert found["min_p"] == (0.05, "server default")
    assert found["samplers"] == (SAMPLERS, "server default")
    assert found["spec_draft_n_max"] == (15, "command line")
    assert found["ignore_eos"] == (True, "request")


@pytest.mark.parametrize("name", ["settings", "h200_dflash", "two_slots", "ngram"])
def test_settings_that_follow_the_requests_are_those_of_a_first_look(name: str) -> None:
    fold, looks, latest = Fold(), 0, None
    for event in recording(name).events():
        fold.apply(event)
        target = fold.targets.get("t0")
        if target is not None and target.epoch.slots.last_params is not latest:
            looks, latest = looks + 1, target.epoch.slots.last_params
            (seen,) = fold.view().targets
            following, target.provenance = target.provenance, ProvenanceDeriver(target.provenance.advice)
            (first,) = fold.view().targets
            target.provenance = following
            assert seen.provenance.settings == first.provenance.settings
            assert seen.provenance.adviser == first.provenance.adviser
    assert looks > 1


def test_what_a_later_request_no_longer_asks_for_is_the_servers_again() -> None:
    facts = [b.found(), PLAIN, answered(), b.busy(task=1, params=DEFAULTS | {"top_k": 9, "seed": 1})]
    fold = b.fold(*facts)
    first = fold.view().targets[0].provenance.setting("top_k")
    fold.apply(b.busy(at=1.0, task=2, params=DEFAULTS | {"seed": 2}))
    provenance = fold.view().targets[0].provenance
    later, seed = provenance.setting("top_k"), provenance.setting("seed")
    assert first is not None
    assert later is not None
    assert seed is not None
    assert [(first.value, first.origin), (later.value, later.origin)] == [(9, "request"), (40, "server default")]
    assert (seed.value, seed.origin) == (2, "request")


def test_every_setting_has_one_name() -> None:
    names = [known.name for known in KNOWN]
    assert len(set(names)) == len(names)
