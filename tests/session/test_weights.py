"""Where weights lie: figures of an H200's log, the rules of placement by hand, and what cannot be told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import builders as b
import pytest

from specscope.flags import parse_flags
from specscope.session.memory.state import Unknown, WeightsSplit
from specscope.session.memory.weights import weights_split

if TYPE_CHECKING:
    from specscope.events import ModelRead
    from specscope.flags import ServerFlags
    from specscope.session.memory.state import Role

MIB = 1 << 20
EMBEDDINGS = 49_152 * 4096 * 18 // 32  # Q4_0
NORM = 4096 * 4
# attention: two square matrices and two of 8 heads; feed-forward: three of 14,336; two norms
LAYER = (2 * 4096 * 4096 + 2 * 4096 * 1024 + 3 * 4096 * 14_336) * 18 // 32 + 2 * NORM


def llama(n_layer: int = 32, **more: object) -> ModelRead:
    """The 290 tensors of the model that the H200 served: 65 of F32 and 225 of Q4_0, the output tied."""
    fields: dict[str, Any] = {
        "arch": "llama",
        "n_layer": n_layer,
        "input_bytes": EMBEDDINGS,
        "embedding_bytes": EMBEDDINGS,
        "output_bytes": NORM,
        "tied": True,
        "layer_bytes": [LAYER] * n_layer,
        "layer_expert_bytes": [0] * n_layer,
    }
    return b.model("target", **(fields | more))


def told(line: str) -> ServerFlags:
    return parse_flags(["llama-server", *line.split()])


def split(
    read: ModelRead,
    line: str = "-ngl 99",
    *,
    role: Role = "target",
    offloaded: int | None = None,
    gpu: bool | None = True,
    predicts: bool = False,
) -> WeightsSplit:
    made = weights_split(read, told(line), role=role, offloaded=offloaded, gpu=gpu, predicts=predicts)
    assert isinstance(made, WeightsSplit), made
    return made


def mib(n_bytes: int) -> float:
    return round(n_bytes / MIB, 2)


# --- what an H200 printed ---------------------------------------------------------------------------------------------


def test_the_target_of_an_h200() -> None:
    made = split(llama(), "-ngl 99", offloaded=33)
    assert (mib(made.device_bytes), mib(made.host_bytes)) == (3853.02, 108.0)
    assert (made.first_device_layer, made.device_layers, made.output_on_device, made.certain) == (0, 32, True, True)
    assert made.basis == "33 of 33 layers on devices, as the log says"


def test_its_drafter() -> None:
    """Five layers with two more norms of a head, an input matrix of five features, no embeddings of its own."""
    drafter = llama(
        5,
        arch="dflash",
        input_bytes=0,
        tied=False,
        output_bytes=5 * 4096 * 4096 * 18 // 32 + 2 * NORM,
        layer_bytes=[LAYER + 2 * 128 * 4] * 5,
    )
    made = split(drafter, "-ngl 0", role="drafter", offloaded=6)
    assert (mib(made.device_bytes), made.host_bytes) == (630.19, 0)


# --- how many layers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "first", "output", "certain"),
    [
        ("-ngl 99", 0, True, True),
        ("-ngl 33", 0, True, True),
        ("-ngl all", 0, True, True),
        ("-ngl 32", 1, True, True),
        ("-ngl 10", 23, True, True),
        ("-ngl 1", 32, True, True),
        ("-ngl 0", 32, False, True),
        ("-dev none", 32, False, True),
        ("", 0, True, False),
        ("-ngl auto", 0, True, False),
        ("-ngl -1", 0, True, False),
        ("-fit off", 0, True, True),
    ],
)
def test_layers_go_to_devices_from_the_last_one_after_the_output(
    line: str, first: int, *, output: bool, certain: bool
) -> None:
    made = split(llama(), line)
    assert (made.first_device_layer, made.output_on_device, made.certain) == (first, output, certain)
    on_device = (32 - first) * LAYER + (NORM + EMBEDDINGS if output else 0)
    assert made.device_bytes == on_device
    assert made.host_bytes == EMBEDDINGS + first * LAYER + (0 if output else NORM)


def test_the_log_knows_better_than_the_flags() -> None:
    assert split(llama(), "", offloaded=20).device_layers == 19
    assert split(llama(), "-ngl 99", offloaded=20).device_layers == 19
    made = weights_split(llama(), None, offloaded=20, gpu=True)
    assert isinstance(made, WeightsSplit)
    assert made.certain


def test_without_a_device_all_is_on_the_host() -> None:
    made = split(llama(), "-ngl 99", offloaded=33, gpu=False)
    assert (made.device_bytes, made.host_bytes) == (0, EMBEDDINGS + NORM + 32 * LAYER)
    assert (made.basis, made.certain) == ("the server has no device", True)


def test_what_is_not_known_of_the_machine_is_not_certain() -> None:
    """A build for GPUs prints how many layers it offloads on a machine that has none, too."""
    assert not split(llama(), "-ngl 99", offloaded=33, gpu=None).certain
    assert not split(llama(), "-ngl 99", gpu=None).certain


def test_an_output_of_its_own_is_not_copied() -> None:
    made = split(llama(tied=False, output_bytes=NORM + 7 * MIB))
    assert made.device_bytes == 32 * LAYER + NORM + 7 * MIB


# --- experts ----------------------------------------------------------------------------------------------------------

EXPERTS = {"arch": "qwen3moe", "layer_expert_bytes": [LAYER // 2] * 32}


@pytest.mark.parametrize(
    ("line", "role", "layers_held_back"),
    [
        ("-ngl 99 -cmoe", "target", 32),
        ("-ngl 99 -ncmoe 10", "target", 10),
        ("-ngl 13 -ncmoe 25", "target", 5),
        ("-ngl 99 -ncmoe 10 -ngld 99", "drafter", 0),
        ("-ngld 99 -ncmoed 3", "drafter", 3),
        ("-ngld 99 -cmoed", "drafter", 32),
    ],
)
def test_experts_that_stay_on_the_host(line: str, role: Role, layers_held_back: int) -> None:
    made = split(llama(**EXPERTS), line, role=role)
    layers = made.device_layers * LAYER - layers_held_back * (LAYER // 2)
    assert made.device_bytes == layers + NORM + EMBEDDINGS
    assert made.device_bytes + made.host_bytes == 32 * LAYER + NORM + 2 * EMBEDDINGS
    assert made.certain


def test_fitting_may_have_moved_experts_unseen() -> None:
    made = split(llama(**EXPERTS), "", offloaded=33)
    assert not made.certain
    assert "experts that were moved" in made.basis
    assert split(llama(**EXPERTS), "-fit off", offloaded=33).certain
    assert split(llama(**EXPERTS), "-ngl 99", offloaded=33).certain


# --- prediction layers ------------------------------------------------------------------------------------------------


def test_prediction_layers_are_loaded_only_to_draft() -> None:
    read = llama(33, arch="glm4moe", hparams={"nextn_predict_layers": 1})
    assert split(read).device_bytes == 32 * LAYER + NORM + EMBEDDINGS
    assert split(read, predicts=True).device_bytes == 33 * LAYER + NORM + EMBEDDINGS
    never = llama(33, arch="bailingmoe2", hparams={"nextn_predict_layers": 1})
    assert split(never, predicts=True).device_bytes == 32 * LAYER + NORM + EMBEDDINGS
    always = llama(4, arch="gemma4-assistant", hparams={"nextn_predict_layers": 4})
    assert split(always, role="drafter").device_layers == 4


def test_only_the_token_embeddings_are_copied_for_an_output_that_reuses_them() -> None:
    more = 40 * MIB  # position or per-layer embeddings
    made, alone = split(llama(input_bytes=EMBEDDINGS + more)), split(llama())
    assert made.device_bytes == alone.device_bytes
    assert made.host_bytes == alone.host_bytes + more


# --- unknown ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("read", "line", "reason"),
    [
        (llama(arch="deepseek4"), "", "unknown architecture deepseek4"),
        (llama(arch="bert"), "", "bert is no model that generates"),
        (llama(input_bytes=None), "", "the header does not tell the size of every tensor"),
        (llama(layer_bytes=[]), "", "the header does not tell the size of every tensor"),
        (llama(), "-ot exps=CPU", "--override-tensor places tensors"),
        (llama(), "-ncffn 3", "--n-cpu-ffn places tensors"),
        (llama(), "-sm tensor", "--split-mode tensor places tensors"),
        (llama(embedding_bytes=None), "", "the output reuses the token embeddings"),
    ],
)
def test_what_cannot_be_told_is_said(read: ModelRead, line: str, reason: str) -> None:
    made = weights_split(read, told(line), gpu=True)
    assert isinstance(made, Unknown)
    assert made.reason.startswith(reason)


def test_a_drafters_flags_are_its_own() -> None:
    assert isinstance(weights_split(llama(), told("-ot exps=CPU"), role="drafter"), WeightsSplit)
    assert isinstance(weights_split(llama(), told("-otd exps=CPU"), role="drafter"), Unknown)
    assert split(llama(), "-ngl 99 -ngld 5", role="drafter").device_layers == 4


def test_without_flags_and_log() -> None:
    made = weights_split(llama(), None)
    assert isinstance(made, Unknown)
    assert made.reason == "neither flags nor log say how many layers are on devices"
