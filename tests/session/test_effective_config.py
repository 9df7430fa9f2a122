"""What is in force: drafting methods, draft width and sampling, each from the best that tells it."""

from __future__ import annotations

import builders as b
import pytest

DFLASH = {"speculative.types": "draft-dflash"}
DRAFTER = b.model("drafter", block_size=16)


def config(*facts: object) -> object:
    return b.seen(b.found(), *facts).config


def test_nothing_told_is_nothing_known() -> None:
    told = config()
    assert (told.types, told.types_from, told.n_max_requested, told.n_max_effective) == (None, None, None, None)
    assert (told.block_size, told.draft_flag, told.sampling, told.sampling_from) == (None, None, {}, None)


# --- methods ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("listed", "types"),
    [
        ("draft-dflash", ("draft-dflash",)),
        ("none,ngram-simple,none", ("ngram-simple",)),  # `none` switches nothing off, and is in the list all the same
        ("draft-simple,ngram-mod", ("draft-simple", "ngram-mod")),
        ("none", ()),
        ("", ()),
    ],
)
def test_methods_come_from_the_parameters_of_a_request(listed: str, types: tuple[str, ...]) -> None:
    told = config(b.busy(params={"speculative.types": listed}))
    assert (told.types, told.types_from) == (types, "slots")


def test_the_slots_go_before_the_log_and_the_log_before_the_flags() -> None:
    flags, log = b.process("--spec-type ngram-mod"), b.said("spec_type_detected", type="draft-mtp")
    slots = b.busy(params=DFLASH)
    assert (config(flags).types, config(flags).types_from) == (("ngram-mod",), "flags")
    assert (config(flags, log).types, config(flags, log).types_from) == (("draft-mtp",), "log")
    assert (config(flags, log, slots).types, config(flags, log, slots).types_from) == (("draft-dflash",), "slots")


def test_every_method_that_the_log_adds_is_in_force() -> None:
    added = [b.said("implementation_added", type=name) for name in ("ngram-map-k4v", "draft-dflash")]
    told = config(*added)
    assert (told.types, told.types_from) == (("ngram-map-k4v", "draft-dflash"), "log")
    # A server that wakes up loads its model and adds them again.
    again = b.seen(b.found(), *added, b.said("model_loading", path="m.gguf"), added[0])
    assert again.config.types == ("ngram-map-k4v",)
    assert again.log_said["implementation_added"] == {"type": "ngram-map-k4v"}
    # At the default verbosity only a block drafter's line is there.
    assert config(b.process("--spec-type ngram-mod,draft-dflash"), added[1]).types == ("ngram-mod", "draft-dflash")


def test_a_fresh_slot_says_none_although_it_speculates() -> None:
    # Until a task has run, the parameters of a slot are those of no request: its own `speculative` is right.
    fresh = b.idle(0.1, task=None, speculative=True, params={"speculative.types": "none"})
    assert config(fresh).types is None
    assert config(fresh, b.process("--spec-type draft-simple")).types == ("draft-simple",)


def test_slots_that_do_not_speculate_go_before_what_was_asked_for() -> None:
    told = config(b.process("--spec-type draft-simple"), b.idle(task=None, speculative=False))
    assert (told.types, told.types_from, told.asked) == ((), "slots", ("draft-simple",))
    # A request's parameters go on listing what the server was started for (b11549).
    listed = config(b.busy(speculative=False, params=DFLASH))
    assert (listed.types, listed.types_from, listed.asked) == ((), "slots", ("draft-dflash",))
    assert config(b.idle(task=None, speculative=False)).asked == ()


def test_one_slot_that_speculates_is_enough() -> None:
    mixed = [b.idle(task=None, speculative=False), b.idle(slot=1, task=None, speculative=True)]
    assert config(*mixed, b.process("--spec-type draft-simple")).types == ("draft-simple",)


def test_types_from_flags_add_up_and_drop_none() -> None:
    line = "--spec-type none --spec-type ngram-mod,draft-simple --spec-type ngram-mod"
    assert config(b.process(line)).types == ("ngram-mod", "draft-simple")
    assert config(b.process("--spec-type none")).types == ()
    assert config(b.process("-m m.gguf")).types is None


def test_props_are_never_asked_for_methods() -> None:
    # Its default parameters say none whatever is in force.
    assert config(b.props(defaults={"speculative.types": "none"})).types is None


# --- draft width -----------------------------------------------------------------------------------------------------


def test_a_block_drafter_drafts_one_less_than_its_block() -> None:
    told = config(b.process("--spec-draft-n-max 16"), DRAFTER, b.busy(params=DFLASH))
    assert (told.n_max_requested, told.n_max_effective, told.block_size) == (16, 15, 16)


def test_a_width_below_the_block_is_in_force() -> None:
    assert config(b.process("--spec-draft-n-max 7"), DRAFTER, b.busy(params=DFLASH)).n_max_effective == 7


def test_other_drafters_have_no_block_to_keep_to() -> None:
    told = config(b.process("--spec-draft-n-max 16"), DRAFTER, b.busy(params={"speculative.types": "draft-simple"}))
    assert told.n_max_effective == 16


@pytest.mark.parametrize(
    ("header", "told", "width"),
    [
        ({}, [], 8),
        ({"hparams": {"sample_from_anchor": True}}, [], 8),
        ({"hparams": {"sample_from_anchor": False}}, [], 7),
        ({}, [b.said("drafter_params", block_size="8", sample_from_anchor="false")], 7),
        ({}, [b.said("drafter_params", block_size="8", sample_from_anchor="true")], 8),
    ],
)
def test_dspark_drafts_its_whole_block_unless_trained_otherwise(
    header: dict[str, object], told: list[object], width: int
) -> None:
    drafter = b.model("drafter", block_size=8, **header)
    dspark = b.busy(params={"speculative.types": "draft-dspark"})
    assert config(b.process("--spec-draft-n-max 16"), drafter, dspark, *told).n_max_effective == width


@pytest.mark.parametrize(
    ("models", "width"),
    [
        ([], 16),
        ([b.model(arch="step35", nextn_layers=3)], 3),
        ([b.model(arch="qwen35", nextn_layers=1)], 16),  # a single head is run as often as asked
        ([b.model(arch="step35"), b.model("drafter", arch="step35", nextn_layers=2)], 2),
        ([b.model(arch="gemma4"), b.model("drafter", arch="gemma4-assistant", nextn_layers=4)], 16),
    ],
)
def test_several_prediction_heads_draft_one_token_each(models: list[object], width: int) -> None:
    mtp = b.busy(params={"speculative.types": "draft-mtp"})
    assert config(b.process("--spec-draft-n-max 16"), *models, mtp).n_max_effective == width


def test_the_servers_clamping_line_goes_before_everything() -> None:
    line = b.said("draft_width_clamped", n_max="32", clamped_to="7")
    told = config(b.process("--spec-draft-n-max 16"), DRAFTER, b.busy(params=DFLASH), line)
    assert (told.n_max_requested, told.n_max_effective) == (32, 7)


def test_without_a_flag_the_log_tells_the_width() -> None:
    told = config(b.said("spec_params", n_max="5"), b.busy(params=DFLASH))
    assert (told.n_max_requested, told.n_max_effective) == (5, 5)
    assert config(b.said("spec_params", n_max="x"), b.busy(params=DFLASH)).n_max_requested is None


@pytest.mark.parametrize("types", ["ngram-mod", "none"])
def test_without_a_drafter_there_is_no_width_in_force(types: str) -> None:
    told = config(b.process("--spec-draft-n-max 16"), DRAFTER, b.busy(params={"speculative.types": types}))
    assert (told.n_max_requested, told.n_max_effective) == (16, None)


def test_a_draft_model_is_named_by_a_path_or_a_repository() -> None:
    assert config(b.process("-md d.gguf")).draft_flag is True
    assert config(b.process("-hfd some/drafter")).draft_flag is True
    assert config(b.process("-m m.gguf")).draft_flag is False


# --- sampling --------------------------------------------------------------------------------------------------------


def test_the_last_requests_sampling_goes_before_the_servers_defaults() -> None:
    defaults = b.props(defaults={"min_p": 0.05})
    assert (config(defaults).sampling, config(defaults).sampling_from) == ({"min_p": 0.05}, "props")
    asked = config(defaults, b.busy(params={"min_p": 0.0}))
    assert (asked.sampling, asked.sampling_from) == ({"min_p": 0.0}, "request")
    later = config(defaults, b.busy(params={"min_p": 0.0}), b.busy(slot=1, task=2, params={"min_p": 0.2}))
    assert later.sampling == {"min_p": 0.2}


def test_the_view_of_the_sampling_is_a_copy() -> None:
    fold = b.fold(b.found(), b.props(defaults={"min_p": 0.05}))
    fold.view().targets[0].config.sampling["min_p"] = 1.0
    assert fold.view().targets[0].config.sampling == {"min_p": 0.05}
