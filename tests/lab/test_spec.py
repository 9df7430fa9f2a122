"""What a server is asked to be, and the flags that say it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from specscope.lab.errors import SpecError
from specscope.lab.flags import parse_flags
from specscope.lab.spec import LAB_RATES, NgramSizes, ServerSpec

if TYPE_CHECKING:
    from argparse import Namespace

TARGET, DRAFTER = Path("/models/target.gguf"), Path("/models/drafter.gguf")


def _parsed(spec: ServerSpec, env: dict[str, str] | None = None) -> Namespace:
    return parse_flags(spec.argv(TARGET, DRAFTER if spec.draft_model else None, 8123), env or {})


def test_the_flags_of_a_spec_are_read_back_by_the_host() -> None:
    flags = _parsed(
        ServerSpec(
            n_max=7,
            rates=LAB_RATES,
            slots=2,
            ctx=8192,
            api_key="key",
            slots_endpoint=False,
            draft_backend_sampling=False,
            probabilistic=True,
            verbosity=4,
            sampling={"temp": 0.5, "top_k": 20, "min_p": 0},
        )
    )
    assert (flags.model, flags.spec_draft_model, flags.port) == (str(TARGET), str(DRAFTER), 8123)
    assert flags.spec_type == ["draft-dflash"]
    assert flags.spec_synth_rates == list(LAB_RATES[:7])
    assert (flags.parallel, flags.ctx_size, flags.api_key) == (2, 8192, ["key"])
    assert (flags.metrics, flags.slots, flags.spec_draft_backend_sampling) == (True, False, False)
    assert (flags.spec_draft_sampling, flags.verbosity) == ("probabilistic", 4)
    assert (flags.temp, flags.top_k, flags.min_p, flags.top_p) == (0.5, 20, 0.0, None)


def test_the_cache_of_a_spec() -> None:
    flags = _parsed(
        ServerSpec(
            cache_type_k="q8_0",
            cache_type_v="q4_0",
            draft_cache_type_k="bf16",
            draft_cache_type_v="f32",
            kv_unified=True,
            extra=("--swa-full", "-fa", "on", "--no-repack", "--context-shift", "--ctx-checkpoints", "0"),
        )
    )
    assert (flags.context_shift, flags.ctx_checkpoints) == (True, 0)
    assert (flags.cache_type_k, flags.cache_type_v, flags.kv_unified) == ("q8_0", "q4_0", True)
    assert (flags.spec_draft_type_k, flags.spec_draft_type_v) == ("bf16", "f32")
    assert (flags.swa_full, flags.flash_attn, flags.no_repack) == (True, "on", True)
    plain = _parsed(ServerSpec())
    assert (plain.cache_type_k, plain.spec_draft_type_v, plain.flash_attn) == (None, None, None)
    assert (plain.context_shift, plain.ctx_checkpoints, plain.backend_sampling) == (None, None, False)
    assert not plain.kv_unified


def test_types_of_the_environment_and_of_every_flag_add_up() -> None:
    spec = ServerSpec(types=("ngram-simple",), extra=("--spec-type", "ngram-mod,ngram-cache"))
    flags = _parsed(spec, {"LLAMA_ARG_SPEC_TYPE": "ngram-map-k"})
    assert flags.spec_type == ["ngram-map-k", "ngram-simple", "ngram-mod", "ngram-cache"]


def test_metrics_are_off_unless_asked_for() -> None:
    assert not parse_flags(["-m", "x"], {}).metrics
    assert not _parsed(ServerSpec(metrics=False)).metrics


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["-m", "x", "--bogus"], "--bogus"),
        (["-m", "x", "--spec-type", "draft-magic"], "unknown speculative type: draft-magic"),
        (["-m", "x", "--spec-synth-rates", "0.9,often"], "--spec-synth-rates"),
        (["--metrics"], "--model"),
    ],
)
def test_flags_that_no_server_knows_end_the_host_with_one_line(
    argv: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        parse_flags(argv, {})
    assert ended.value.code == 1
    printed = capsys.readouterr().err
    assert printed.startswith("error: ")
    assert message in printed
    assert printed.count("\n") == 1


@pytest.mark.parametrize(
    ("spec", "width"),
    [
        (ServerSpec(), 3),
        (ServerSpec(n_max=20), 15),
        (ServerSpec(types=("draft-simple",), n_max=20), 20),
        (ServerSpec(types=("ngram-simple",), n_max=2, ngram=NgramSizes(draft=9)), 9),
        (ServerSpec(types=("ngram-cache",)), 8),
        (ServerSpec(types=("dflash", "ngram-mod"), n_max=15), 15),
        (ServerSpec(types=("dflash2",), n_max=20), 7),
        (ServerSpec(types=("dspark",), n_max=20), 8),
        (ServerSpec(types=("eagle3",), n_max=20), 20),
        (ServerSpec(types=("mtp",), n_max=20), 20),
        (ServerSpec(types=("mtp3",), n_max=20), 3),
        (ServerSpec(types=("mtp3", "ngram-mod"), n_max=20), 12),
        (ServerSpec(types=("none",)), 0),
        (ServerSpec(types=()), 0),
    ],
)
def test_the_width_is_what_the_server_clamps_it_to(spec: ServerSpec, width: int) -> None:
    assert spec.width == width


@pytest.mark.parametrize(
    ("name", "server_type", "target", "drafter"),
    [
        ("dflash2", "draft-dflash", "target", "dflash2"),
        ("draft-dspark", "draft-dspark", "target", "dspark"),
        ("eagle3", "draft-eagle3", "target", "eagle3"),
        ("draft-mtp", "draft-mtp", "mtp", None),
        ("mtp3", "draft-mtp", "mtp3", None),
    ],
)
def test_a_method_has_its_models_and_the_servers_name(
    name: str, server_type: str, target: str, drafter: str | None
) -> None:
    spec = ServerSpec(types=(name,))
    assert spec.server_types == (server_type,)
    assert spec.target_model.family == target
    assert (spec.draft_model and spec.draft_model.family) == drafter
    assert _parsed(spec).spec_type == [server_type]


def test_there_are_as_many_rates_as_the_width_in_force() -> None:
    assert ServerSpec(n_max=20, rates=LAB_RATES).rates_in_force == LAB_RATES
    assert ServerSpec(n_max=2, rates=LAB_RATES).rates_in_force == (0.9, 0.8)
    assert ServerSpec(n_max=4, rates=(0.5, 0.25)).rates_in_force == (0.5, 0.25, 0.0, 0.0)
    assert ServerSpec().rates_in_force == ()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"types": ("magic",)}, "unknown method magic"),
        ({"types": ("draft-mtp",), "target": "mamba"}, "mamba has none"),
        ({"types": ("mtp", "dspark")}, "one draft model at a time"),
        ({"types": ("dflash", "draft-simple")}, "one draft model at a time"),
        ({"n_max": -1}, "negative"),
        ({"rates": (0.5, 0.6)}, "cannot rise"),
        ({"rates": (1.5,)}, "from 0 to 1"),
        ({"rates": ()}, "from 0 to 1"),
        ({"types": (), "rates": (0.5,)}, "need a method"),
    ],
)
def test_a_spec_that_no_server_could_run_is_refused(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        ServerSpec(**fields)
