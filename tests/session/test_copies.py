"""What the sizes of copies mean, and where tokens are chosen: figures of an H200, and others reckoned by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest

from specscope.session.copies import Shapes, meaning, readings, shapes_of
from specscope.session.state import Config

if TYPE_CHECKING:
    from specscope import events as ev
    from specscope.session.turn_state import BackendPath, CopyRow

TARGET = b.model(n_vocab=49_152, n_embd=4096, n_layer=32)
DRAFTER = b.model("drafter", arch="dflash", n_embd=4096, n_layer=5, block_size=16)
DFLASH = b.busy(0.2, params={"speculative.types": "draft-dflash"})
SERVER = [b.found(), TARGET, DRAFTER, b.props(total_slots=1), b.process("--spec-draft-n-max 15"), DFLASH]
GPU = b.tracing(asynchronous=True)

LOGITS = ("target", 3_145_728, 75)
"""16 rows x 49,152 x 4, once a turn of 75."""
FEATURES = ("target", 262_144, 375)
"""16 rows x 4096 x 4, of five layers."""
TOP = ("drafter", 40, 2_400)
"""Ids and scores of the ten best of 16 rows."""
DRAFT_LOGITS = ("drafter", 3_145_728, 75)

Row = tuple[str, int, int]


def copied(*rows: Row, facts: list[ev.Event] | None = None, turns: int = 75) -> list[ev.Event]:
    return [*(SERVER if facts is None else facts), GPU, b.copies(2.0, list(rows), turns=turns)]


def rows_of(*facts: ev.Event) -> tuple[CopyRow, ...]:
    return b.seen(*facts).copies


def path_of(*facts: ev.Event) -> BackendPath:
    return b.seen(*facts).backend_path


def sides(path: BackendPath) -> tuple[str, str, str]:
    return path.draft, path.target, path.evidence


def told(owner: str, size: int, per_turn: float = 1.0, **fields: object) -> str:
    """The meaning of a size in the H200's shapes, some of them changed."""
    given = {
        "vocab": {"target": 49_152, "drafter": 49_152},
        "width": {"target": 4096, "drafter": 4096},
        "layers": 32,
        "rows": 16,
        "extracting": True,
    }
    shapes = Shapes(**given | fields)  # type: ignore[arg-type]
    return meaning(owner, size, readings(owner, size, per_turn, shapes), shapes)  # type: ignore[arg-type]


# --- meanings --------------------------------------------------------------------------------------------------------


def test_the_copies_of_a_dflash_turn_on_an_h200() -> None:
    rows = rows_of(*copied(LOGITS, FEATURES, TOP))
    assert [(r.owner, r.bytes_each, r.per_turn, r.meaning) for r in rows] == [
        ("target", 3_145_728, 1.0, "logits of 16 rows"),
        ("target", 262_144, 5.0, "features of one layer, 16 rows"),
        ("drafter", 40, 32.0, "top 10 chosen on the device"),
    ]


@pytest.mark.parametrize(
    ("owner", "size", "means"),
    [
        ("target", 4, "one token id"),
        ("drafter", 4, "one token id"),
        ("target", 160, "top 40 chosen on the device"),
        ("target", 1024, "top 256 chosen on the device"),
        ("target", 1028, ""),
        (
            "target",
            2 * 49_152 * 4,
            "logits of 2 rows",
        ),  # 24 rows of features are a prompt's: only where nothing else fits
        ("target", 4096 * 4, "features of one layer, 1 row"),
        ("target", 512 * 4096 * 4, "features of one layer, 512 rows of a prompt"),
        ("target", 513 * 4096 * 4, ""),
        ("drafter", 4096 * 4, "hidden states of 1 row"),
        ("drafter", 16 * 49_152 * 4, "logits of 16 rows"),
        ("target", 17 * 49_152 * 4, "features of one layer, 204 rows of a prompt"),
        ("target", 12_345, ""),
        ("target", 0, ""),
        ("target", 6, ""),
    ],
)
def test_sizes(owner: str, size: int, means: str) -> None:
    assert told(owner, size) == means


def test_equal_products_are_both_said() -> None:
    # 49,152 is 12 x 4,096: one row of logits is as long as twelve rows of features.
    assert told("target", 49_152 * 4) == "logits of 1 row or features of one layer, 12 rows"
    assert told("drafter", 49_152 * 4) == "logits of 1 row or hidden states of 12 rows"
    assert told("target", 256, width={"target": 64, "drafter": 64}) == (
        "top 64 chosen on the device or features of one layer, 1 row"
    )


def test_more_copies_than_layers_are_no_features() -> None:
    assert told("target", 49_152 * 4, 40.0) == "logits of 1 row"
    assert told("target", 49_152 * 4, 40.0, layers=None) == "logits of 1 row or features of one layer, 12 rows"


def test_a_target_whose_layers_nobody_reads_copies_embeddings() -> None:
    assert told("target", 4096 * 4, extracting=False) == "embeddings, 1 row"
    assert told("target", 49_152 * 4, extracting=False) == "logits of 1 row"


def test_without_the_headers_only_small_sizes_are_explained() -> None:
    nothing = {"vocab": {"target": None, "drafter": None}, "width": {"target": None, "drafter": None}}
    assert told("target", 3_145_728, **nothing) == ""
    assert told("drafter", 40, **nothing) == "top 10 chosen on the device"


def test_rows_follow_the_slots_and_the_width() -> None:
    models = {"target": TARGET, "drafter": DRAFTER}
    dflash, both = Config(types=("draft-dflash",), n_max_effective=15), Config(types=("ngram-mod", "draft-dflash"))
    assert shapes_of(models, dflash, slots=2, width_seen=None).rows == 2 * 16
    assert shapes_of(models, dflash, slots=2, width_seen=20).rows == 2 * 21
    assert shapes_of(models, dflash, slots=None, width_seen=None).rows == 4 * 16
    assert shapes_of(models, both, slots=1, width_seen=15).rows == 65
    assert shapes_of(models, Config(), slots=1, width_seen=None).rows == 65
    assert shapes_of(models, Config(types=()), slots=2, width_seen=None).rows == 2
    assert shapes_of(models, Config(), slots=1, width_seen=None, ubatch=2048).prompt_rows == 2048


def test_a_drafter_has_the_targets_vocabulary_unless_it_has_its_own() -> None:
    config = Config(types=("draft-simple",))
    shared = shapes_of({"target": TARGET, "drafter": DRAFTER}, config, slots=1, width_seen=3)
    assert shared.vocab == {"target": 49_152, "drafter": 49_152}
    small = b.model("drafter", n_vocab=49_280, n_embd=576)
    own = shapes_of({"target": TARGET, "drafter": small}, config, slots=1, width_seen=3)
    assert (own.vocab["drafter"], own.width["drafter"]) == (49_280, 576)
    within = shapes_of({"target": TARGET}, Config(types=("draft-mtp",)), slots=1, width_seen=3)
    assert (within.vocab["drafter"], within.width["drafter"], within.extracting) == (49_152, 4096, True)


def test_copies_are_averaged_over_the_turns_of_the_kept_seconds() -> None:
    seconds = [b.copies(2.0 + i, [("target", 3_145_728, 10 + i)], turns=10) for i in range(12)]
    prompt = b.copies(15.0, [("target", 8_388_608, 40)], turns=0)
    (row,) = rows_of(*SERVER, GPU, *seconds, prompt)
    assert row.per_turn == pytest.approx(sum(range(12, 22)) / 100)


def test_nothing_copied_is_no_row() -> None:
    assert rows_of(*SERVER, GPU) == ()
    assert rows_of(*copied(LOGITS, turns=0)) == ()


# --- a slot's state, saved -------------------------------------------------------------------------------------------

LAB = {
    "block_count": 8,
    "embedding_length": 256,
    "attention.head_count": 4,
    "attention.head_count_kv": 2,
    "attention.key_length": 64,
    "attention.value_length": 64,
}
"""The lab's small target: 256 bytes of keys and as many of values a cell, of each of 8 layers, in float16."""
LAB_FLAGS = "-c 4096 -np 1 --cache-ram 64 --spec-draft-n-max 3"
STATE: Row = ("target", 308 * 256, 18)
"""The keys and values of 308 cells, of the target's 8 layers and the drafter's one; as long as 77 rows of features."""
LOGITS_OF_4: Row = ("target", 4 * 300 * 4, 72)


def lab(flags: str = LAB_FLAGS, arch: str = "llama", **hparams: object) -> list[ev.Event]:
    target = b.model(arch=arch, n_vocab=300, n_embd=256, n_layer=8, hparams=LAB | hparams)
    drafter = b.model("drafter", arch="dflash", n_embd=256, n_layer=1, hparams=LAB | {"block_count": 1})
    return [b.found(), target, drafter, b.props(total_slots=1, n_ctx=4096), b.process(flags), DFLASH, GPU]


def saved_of(*facts: ev.Event) -> list[tuple[int, int, str]]:
    return [(r.bytes_each, r.copies, r.meaning) for r in b.seen(*facts).saved]


def test_a_slots_state_is_no_part_of_a_turn() -> None:
    traced = [*lab(), b.copies(2.0, [LOGITS_OF_4], turns=72, apart=[STATE[1:]])]
    assert [(r.bytes_each, r.per_turn, r.meaning) for r in rows_of(*traced)] == [(4800, 1.0, "logits of 4 rows")]
    assert saved_of(*traced) == [(78_848, 18, "slot state (K or V of 308 cells), saved to the prompt cache")]
    assert path_of(*traced).target == "host"


def test_a_recording_that_does_not_tell_them_apart_says_what_a_size_can_be() -> None:
    prompt = [b.busy(0.4, processed_tokens=52)]
    mixed = b.copies(2.0, [LOGITS_OF_4, STATE, ("target", 305 * 256, 18)], turns=72)
    both = {r.bytes_each: r.meaning for r in rows_of(*lab(), mixed)}
    assert both == {
        4800: "logits of 4 rows",
        78_848: "features of one layer, 77 rows of a prompt or slot state (K or V of 308 cells), "
        "saved to the prompt cache",
    }
    assert [size for size, _, _ in saved_of(*lab(), mixed)] == [305 * 256]
    # No prompt had 77 tokens: then it can only be the state.
    assert [r.bytes_each for r in rows_of(*lab(), *prompt, mixed)] == [4800]
    assert [size for size, _, _ in saved_of(*lab(), *prompt, mixed)] == [78_848, 305 * 256]


def test_a_state_that_may_be_features_tells_no_path() -> None:
    seen = path_of(*lab(), b.copies(2.0, [("target", 78_848, 72)], turns=72))
    assert (seen.target, seen.target_why) == ("unknown", "no copies of the target tell")


def test_what_a_state_is_called_follows_the_caches() -> None:
    def saved(size: int, facts: list[ev.Event]) -> str:
        return saved_of(*facts, b.copies(2.0, [LOGITS_OF_4], turns=72, apart=[(size, 9)]))[0][2]

    types = f"{LAB_FLAGS} --cache-type-k q8_0 --spec-draft-type-k q8_0"
    assert saved(136 * 308, lab(types)) == "slot state (K of 308 cells), saved to the prompt cache"
    assert saved(136 * 256, lab(types)) == ("slot state (K of 256 cells or V of 136 cells), saved to the prompt cache")
    assert saved(256, lab()) == "slot state (K or V of 1 cell), saved to the prompt cache"
    assert saved(4097 * 256, lab()) == ""  # more than a slot can hold
    assert saved(255, lab()) == ""
    assert saved(78_848, lab("-c 4096 -np 1 --cache-ram 0")) == "slot state (K or V of 308 cells), saved"
    window = lab(arch="gemma3", **{"attention.sliding_window": 512})
    assert saved(78_848, window) == "slot state (K or V of 308 cells), saved to the prompt cache or a checkpoint"
    assert saved(78_848, lab(arch="never heard of")) == ""


def test_a_recurrent_state_has_one_size() -> None:
    keys = {"ssm.conv_kernel": 4, "ssm.inner_size": 512, "ssm.state_size": 16, "ssm.group_count": 0}
    mamba = b.model(arch="mamba", n_vocab=300, n_embd=256, n_layer=8, hparams=LAB | keys)
    facts = [b.found(), mamba, b.props(total_slots=1, n_ctx=4096), b.process("-c 4096 -np 1"), GPU]
    told = saved_of(*facts, b.copies(2.0, [LOGITS_OF_4], turns=72, apart=[(512 * 16 * 4, 8)]))
    assert told == [(32_768, 8, "slot state (recurrent), saved to the prompt cache or a checkpoint")]


# --- the path, traced ------------------------------------------------------------------------------------------------


def test_drafts_chosen_on_the_device_and_verified_on_the_host() -> None:
    path = path_of(*copied(LOGITS, FEATURES, TOP))
    assert sides(path) == ("device", "host", "exact")
    assert path.draft_why == "32 x 40 bytes a turn: top 10 chosen on the device; no logits"
    assert path.target_why == "1 x 3,145,728 bytes a turn: logits of 16 rows"


def test_the_drafters_logits_on_the_host() -> None:
    path = path_of(*copied(LOGITS, FEATURES, DRAFT_LOGITS))
    assert sides(path) == ("host", "host", "exact")
    assert path.draft_why == "1 x 3,145,728 bytes a turn: logits of 16 rows"


def test_what_is_copied_is_believed_and_not_the_flag() -> None:
    flag = b.process("--no-spec-draft-backend-sampling --spec-draft-n-max 15", at=0.3)
    assert path_of(*copied(LOGITS, TOP, facts=[*SERVER, flag])).draft == "device"


def test_a_drafter_that_drafts_token_by_token_on_the_host() -> None:
    # draft-simple, n_max 3: three single rows a turn; 49,280 is no multiple of its width.
    simple = b.busy(0.2, params={"speculative.types": "draft-simple"})
    own = b.model("drafter", n_vocab=49_280, n_embd=576)
    facts = [b.found(), TARGET, own, b.process("--spec-draft-n-max 3"), b.props(total_slots=1), simple]
    path = path_of(*copied(("drafter", 49_280 * 4, 225), ("target", 4 * 49_152 * 4, 75), facts=facts))
    assert sides(path) == ("host", "host", "exact")
    assert path.draft_why == "3 x 197,120 bytes a turn: logits of 1 row"


def test_candidates_that_come_as_hidden_states_are_no_logits() -> None:
    path = path_of(*copied(LOGITS, ("drafter", 16 * 4096 * 4, 75)))
    assert path.draft == "device"
    assert path.draft_why == "1 x 262,144 bytes a turn: hidden states of 16 rows; no logits"


def test_a_target_that_samples_on_the_device() -> None:
    path = path_of(*copied(("target", 4, 1200), ("target", 160, 2400), FEATURES, TOP))
    assert sides(path) == ("device", "device", "exact")
    # Without a top_k each row's probabilities come along, one row at a time: still the device chose.
    whole = path_of(*copied(("target", 4, 1200), ("target", 49_152 * 4, 2400), TOP))
    assert whole.target == "device"
    # One slot of two samples on the host: the logits of the forward's rows are copied for it.
    mixed = path_of(*copied(("target", 4, 1200), LOGITS, TOP))
    assert mixed.target == "host"


def test_what_comes_at_a_requests_begin_alone_is_no_path() -> None:
    path = path_of(*copied(("target", 49_152 * 4 * 3, 2), ("drafter", 3_145_728, 1), turns=75))
    assert sides(path) == ("unknown", "unknown", "unknown")
    assert (path.draft_why, path.target_why) == ("no copies of the drafter tell", "no copies of the target tell")


def test_features_alone_do_not_tell_where_the_target_samples() -> None:
    assert path_of(*copied(FEATURES, TOP)).target == "unknown"


def test_a_size_that_may_be_two_things_tells_no_path() -> None:
    path = path_of(*copied(("drafter", 49_152 * 4, 75), LOGITS))
    assert path.draft == "unknown"
    assert path.draft_why == "copies of 196,608 bytes may be logits of 1 row or hidden states of 12 rows"


def test_a_size_that_is_not_explained_tells_no_path() -> None:
    path = path_of(*copied(LOGITS, TOP, facts=[b.found(), DFLASH]))
    assert sides(path) == ("device", "unknown", "exact")
    assert path.target_why == "copies of 3,145,728 bytes are not explained"


def test_n_gram_methods_have_no_drafter() -> None:
    ngram = [b.found(), TARGET, b.props(total_slots=1), b.busy(0.2, params={"speculative.types": "ngram-mod"})]
    path = path_of(*copied(("target", 9 * 49_152 * 4, 75), facts=ngram))
    assert sides(path) == ("unknown", "host", "exact")
    assert path.draft_why == "no draft model"
    off = [b.found(), TARGET, b.idle(0.2, task=None, speculative=False)]
    path = path_of(*copied(("target", 49_152 * 4, 75), facts=off))
    assert (path.draft, path.draft_why, path.target) == ("unknown", "speculation is off", "host")


def test_on_a_cpu_backend_the_path_is_that_of_the_code() -> None:
    path = path_of(*SERVER, b.tracing(asynchronous=False), b.copies(2.0, [LOGITS, TOP], turns=75))
    assert sides(path) == ("device", "host", "exact")
    for why in (path.draft_why, path.target_why):
        assert why.endswith("(CPU backend: host and device share their memory)")


def test_a_few_turns_tell_no_path() -> None:
    few = copied(("target", 3_145_728, 2), ("drafter", 40, 64), turns=2)
    assert sides(path_of(*few)) == ("unknown", "unknown", "unknown")
    more = b.copies(3.0, [("target", 3_145_728, 1), ("drafter", 40, 32)], turns=1)
    assert sides(path_of(*few, more)) == ("device", "host", "exact")


# --- the path, estimated ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "draft", "why"),
    [
        ([b.process("--no-spec-draft-backend-sampling")], "host", "flag --no-spec-draft-backend-sampling"),
        ([b.process("--spec-draft-backend-sampling")], "device", "flag --spec-draft-backend-sampling"),
        (
            [b.process("--spec-draft-backend-sampling"), b.said("backend_offload_failed")],
            "host",
            "log: backend offload failed; using CPU sampler",
        ),
        ([b.said("spec_params", backend_sampling="1")], "device", "log: backend_sampling=1"),
        ([b.said("spec_params", backend_sampling="0")], "host", "log: backend_sampling=0"),
        ([b.process("-md d.gguf")], "unknown", ""),
        ([], "unknown", ""),
    ],
)
def test_without_a_trace_flags_and_log_lines_tell_of_the_drafter(facts: list[ev.Event], draft: str, why: str) -> None:
    path = path_of(b.found(), DFLASH, *facts)
    assert (path.draft, path.draft_why) == (draft, why)
    assert path.evidence == ("unknown" if draft == "unknown" else "estimated")


@pytest.mark.parametrize(
    ("facts", "target", "why"),
    [
        ([b.props(defaults={"backend_sampling": False})], "host", "backend_sampling is false in /props"),
        ([b.busy(params={"backend_sampling": True})], "device", "backend_sampling is true in the last request"),
        (
            [b.props(defaults={"backend_sampling": True}), b.said("backend_sampling_disabled", reason="grammar")],
            "host",
            "log: backend sampling is not compatible with grammar",
        ),
        (
            [b.said("backend_sampling_disabled", reason="grammar"), b.busy(params={"backend_sampling": True})],
            "device",
            "backend_sampling is true in the last request",
        ),
        ([b.process("--backend-sampling")], "device", "flag --backend-sampling"),
        ([b.process("-m m.gguf")], "unknown", ""),
    ],
)
def test_without_a_trace_parameters_tell_of_the_target(facts: list[ev.Event], target: str, why: str) -> None:
    path = path_of(b.found(), *facts)
    assert (path.target, path.target_why) == (target, why)
    assert path.evidence == ("unknown" if target == "unknown" else "estimated")


def test_cheap_probes_see_no_copies_and_leave_the_estimate() -> None:
    flag = b.process("--no-spec-draft-backend-sampling")
    path = path_of(b.found(), DFLASH, flag, b.tracing("cheap"), b.turn(1.0), b.traced(1.0))
    assert sides(path) == ("host", "unknown", "estimated")
