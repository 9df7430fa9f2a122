"""Which function has which role, by the mangled names of the builds that were looked into."""

from __future__ import annotations

import pytest

from specscope.sources.probes.functions import DEAR, NEEDED, ROLES, by_role, method_of, roles_of, told_by, wanted

BEGIN = "_Z24common_speculative_beginP18common_speculativeiRKSt6vectorIiSaIiEE"
DRAFT = "_Z24common_speculative_draftP18common_speculative"
ACCEPT = "_Z25common_speculative_acceptP18common_speculativeit"
FEATURES = "_Z26common_speculative_processP18common_speculativeRK12common_batch"
SAMPLE = "_Z21common_sampler_sampleP14common_samplerP13llama_contextib"


def drafting(implementation: str) -> str:
    """The name of an implementation's draft method."""
    length = len(f"common_speculative_impl_{implementation}")
    return (
        f"_ZN{length}common_speculative_impl_{implementation}5draft"
        "ERSt6vectorI31common_speculative_draft_paramsSaIS1_EE"
    )


DFLASH, MOD = drafting("draft_dflash"), drafting("ngram_mod")


@pytest.mark.parametrize(
    ("name", "role"),
    [
        (BEGIN, "begin"),
        ("_Z24common_speculative_beginP18common_speculativeiRKSt6vectorIiE", "begin"),
        (DRAFT, "draft"),
        (ACCEPT, "accept"),
        (FEATURES, "features"),
        (SAMPLE, "sample"),
        (DFLASH, "method"),
        ("llama_process", "forward"),
        ("llama_decode", "forward"),
        ("llama_state_seq_set_data_ext", "restore"),
        ("ggml_backend_tensor_get", "copy"),
        ("ggml_backend_tensor_get_async", "copy_async"),
        ("ggml_backend_tensor_get_2d_async", "copy_2d_async"),
        ("ggml_backend_sched_synchronize", "wait"),
        ("ggml_backend_sched_graph_compute_async", "submit"),
        ("cudaStreamSynchronize", "device_wait"),
        ("hipStreamSynchronize", "device_wait"),
        ("cudaGraphLaunch", "launch"),
    ],
)
def test_a_name_has_its_role_alone(name: str, role: str) -> None:
    assert wanted(name)
    assert by_role([name]) == {role: [name]}


@pytest.mark.parametrize(
    "name",
    [
        "",
        "main",
        "llama_decode_impl",
        "llama_processor",
        "my_llama_decode",
        "ggml_backend_tensor_get_2d",
        "ggml_backend_tensor_get_async_v2",
        "ggml_backend_sched_graph_compute",
        "cudaStreamSynchronize_ptsz",
        DRAFT + "i",
        ACCEPT + "b",
        f"_ZNK{DRAFT[2:]}",
        "_ZN23common_speculative_impl5draftERSt6vectorI31common_speculative_draft_paramsSaIS1_EE",
        "_ZN36common_speculative_impl_draft_dflash6acceptEit",
        "_ZN36common_speculative_impl_draft_dflashC2Ev",
    ],
)
def test_a_name_that_is_much_like_it_has_none(name: str) -> None:
    assert not wanted(name)
    assert by_role([name]) == {}


@pytest.mark.parametrize("name", [BEGIN, DRAFT, ACCEPT, FEATURES, SAMPLE, DFLASH, "llama_decode"])
@pytest.mark.parametrize("piece", [".cold", ".part.0", ".constprop.0", ".isra.0.cold"])
def test_a_piece_split_off_a_function_is_not_the_function(name: str, piece: str) -> None:
    assert not wanted(name + piece)
    assert by_role([name + piece, name]) == by_role([name])


def test_the_newer_name_is_the_better_one() -> None:
    assert by_role(["llama_decode", "llama_process"])["forward"] == ["llama_process"]
    assert by_role(["llama_process", "llama_decode"])["forward"] == ["llama_process"]
    assert by_role(["hipGraphLaunch", "cudaGraphLaunch"])["launch"] == ["cudaGraphLaunch"]


def test_all_methods_are_probed() -> None:
    assert by_role([MOD, DRAFT, DFLASH])["method"] == sorted([DFLASH, MOD])


@pytest.mark.parametrize(
    ("implementation", "method"),
    [
        ("draft_dflash", "draft-dflash"),
        ("draft_simple", "draft-simple"),
        ("draft_eagle3", "draft-eagle3"),
        ("draft_mtp", "draft-mtp"),
        ("ngram_simple", "ngram-simple"),
        ("ngram_map_k", "ngram-map-k"),
        ("ngram_mod", "ngram-mod"),
        ("ngram_cache", "ngram-cache"),
    ],
)
def test_the_method_in_the_words_of_the_flag(implementation: str, method: str) -> None:
    assert method_of(drafting(implementation)) == method


DFLASH_KIND, MAP_KIND = "draft-dflash or draft-dspark", "ngram-map-k or ngram-map-k4v"


@pytest.mark.parametrize(
    ("implementation", "in_use", "methods"),
    [
        ("draft-dflash", ("draft-dspark",), ["draft-dspark", "draft-dspark"]),
        ("draft-dflash", ("ngram-mod", "draft-dflash"), ["draft-dflash", "draft-dflash"]),
        ("draft-dflash", (), [DFLASH_KIND, DFLASH_KIND]),
        ("ngram-map-k", ("draft-dflash", "ngram-map-k4v"), ["ngram-map-k4v", "ngram-map-k4v"]),
        ("ngram-map-k", ("ngram-map-k4v", "ngram-map-k"), ["ngram-map-k", "ngram-map-k4v"]),
        ("ngram-map-k", ("draft-dflash",), [MAP_KIND, MAP_KIND]),
        ("draft-mtp", ("draft-mtp",), ["draft-mtp"]),
        ("draft-mtp", (), ["draft-mtp"]),
    ],
)
def test_two_implementations_serve_two_methods_each(
    implementation: str, in_use: tuple[str, ...], methods: list[str]
) -> None:
    assert told_by(0x7000, implementation, in_use) == {0x7000 + i: name for i, name in enumerate(methods)}


@pytest.mark.parametrize("name", [DRAFT, "main", DFLASH + ".cold", ""])
def test_what_drafts_by_no_method(name: str) -> None:
    assert method_of(name) == ""


def test_what_is_armed_all_the_time() -> None:
    always = roles_of("cheap", drafts=True)
    assert set(NEEDED) <= set(always)
    assert roles_of("auto", drafts=True) == roles_of("cheap", drafts=False) == always
    assert set(roles_of("auto", drafts=False)) == {*always, "sample"}
    assert not set(DEAR) & set(roles_of("auto", drafts=False))
    assert {role.name for role in ROLES} == {*always, "sample", *DEAR}
