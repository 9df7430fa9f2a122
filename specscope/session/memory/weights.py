"""Where a model's weights lie: on devices and on the host, by its header, the flags and the log.

From ``load_tensors`` of src/llama-model.cpp and ``create_tensor`` of src/llama-model-loader.cpp, llama.cpp b11434: the
input layer stays on the host; repeating layers go to devices from the last one backwards, and the output layer, which
counts as one more, goes first. An output that reuses the token embeddings is copied to its device. Patterns of
``--cpu-moe`` and ``--n-cpu-moe`` (common/arg.cpp, common/common.h) keep experts on the host. Layers of multi-token
prediction are not loaded unless ``draft-mtp`` drafts.

Host bytes are the weights used there. What a log calls CPU_Mapped spans the file from the first to the last of them,
and a CPU that repacks some types keeps those as CPU_REPACK besides.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from specscope.session.memory.architectures import ARCHITECTURES
from specscope.session.memory.state import Unknown, WeightsSplit

if TYPE_CHECKING:
    from specscope.events import ModelRead
    from specscope.flags import ServerFlags
    from specscope.session.memory.state import Role

_COUNT: Final = re.compile(r"\s*([+-]?\d+)")
_NEVER_LOADS_PREDICTION: Final = frozenset({"bailingmoe2", "exaone4", "exaone-moe", "glm4"})
_ALWAYS_LOADS_PREDICTION: Final = frozenset({"gemma4-assistant"})


class _Told(NamedTuple):
    """What the flags say of one model's placement."""

    gpu_layers: str | None
    cpu_moe: bool
    n_cpu_moe: int
    scattered: str  # the flag that places tensors in a way that is not followed here
    fits: bool


def weights_split(
    model: ModelRead,
    flags: ServerFlags | None,
    *,
    role: Role = "target",
    offloaded: int | None = None,
    gpu: bool | None = None,
    predicts: bool = False,
) -> WeightsSplit | Unknown:
    """Where a model's weights lie.

    Args:
        model: its header.
        flags: what the server was told; None: not known.
        role: target or drafter, which has placement flags of its own.
        offloaded: how many layers the log says are on devices, the output layer counted (``layers_offloaded``).
            A build for GPUs says so on a machine without any as well.
        gpu: whether the server has a device to put weights on; None: not known.
        predicts: ``draft-mtp`` is among the drafting methods, so that prediction layers are loaded.
    """
    rule = ARCHITECTURES.get(model.arch or "")
    if rule is None:
        return Unknown(f"unknown architecture {model.arch}")
    if not rule.caches:
        return Unknown(f"{model.arch} is no model that generates")
    if model.input_bytes is None or model.output_bytes is None or not model.layer_bytes:
        return Unknown("the header does not tell the size of every tensor")
    told = _told(flags, role)
    if told is not None and told.scattered:
        return Unknown(f"{told.scattered} places tensors in a way that is not followed here")
    layers, experts = _loaded(model, predicts=predicts)
    count = _on_device(told, len(model.layer_bytes), offloaded, gpu, moe=any(experts))
    if isinstance(count, Unknown):
        return count
    return _split(model, told, layers, experts, count)


def _told(flags: ServerFlags | None, role: Role) -> _Told | None:
    if flags is None:
        return None
    scattered = "--split-mode tensor" if flags.split_mode == "tensor" else ""
    fits = flags.fit not in ("off", "disabled", "false", "0")
    if role == "drafter":
        scattered = "--override-tensor-draft" if flags.draft_override_tensor else scattered
        layers = "0" if (flags.draft_device or flags.device) == "none" else flags.draft_gpu_layers
        return _Told(layers, bool(flags.draft_cpu_moe), flags.draft_n_cpu_moe or 0, scattered, fits)
    scattered = "--override-tensor" if flags.override_tensor else "--n-cpu-ffn" if flags.n_cpu_ffn else scattered
    layers = "0" if flags.device == "none" else flags.gpu_layers
    return _Told(layers, bool(flags.cpu_moe), flags.n_cpu_moe or 0, scattered, fits)


def _loaded(model: ModelRead, *, predicts: bool) -> tuple[list[int], list[int]]:
    """Bytes, and experts' bytes, of each layer that is loaded: 0 for prediction layers that are not."""
    said = model.hparams.get("nextn_predict_layers", 0)
    prediction = said if isinstance(said, int) else 0
    keeps = model.arch in _ALWAYS_LOADS_PREDICTION or (predicts and model.arch not in _NEVER_LOADS_PREDICTION)
    trunk = len(model.layer_bytes) - (0 if keeps else prediction)
    layers = [n if layer < trunk else 0 for layer, n in enumerate(model.layer_bytes)]
    return layers, [n if layer < trunk else 0 for layer, n in enumerate(model.layer_expert_bytes)]


class _Count(NamedTuple):
    """How many layers are on devices, the output layer counted; whether that is certain; and why."""

    layers: int
    certain: bool
    basis: str


def _on_device(
    told: _Told | None, n_layer: int, offloaded: int | None, gpu: bool | None, *, moe: bool
) -> _Count | Unknown:
    """How many layers went to devices. The log's word comes first, then the flags', then the server's default."""
    if gpu is False:
        return _Count(0, certain=True, basis="the server has no device")
    asked = None if told is None else told.gpu_layers
    found = _COUNT.match(asked) if asked is not None else None
    number = int(found[1]) if found is not None else -1  # as the server has it: -1 is `auto`
    automatic = told is not None and told.fits and number == -1 and asked != "all"
    if number == 0:
        return _Count(0, certain=True, basis="no layers on devices, by the flags")
    if offloaded is not None:
        moved = automatic and moe
        basis = f"{offloaded} of {n_layer + 1} layers on devices, as the log says"
        if moved:
            basis += "; experts that were moved to the host to make the model fit are not seen"
        return _Count(min(offloaded, n_layer + 1), certain=gpu is True and not moved, basis=basis)
    if told is None:
        return Unknown("neither flags nor log say how many layers are on devices")
    if number > 0:
        count = min(number, n_layer + 1)
        return _Count(count, certain=gpu is True, basis=f"{count} of {n_layer + 1} layers on devices, by the flags")
    basis = "all layers on devices, by the flags"
    if automatic:
        basis = "all layers assumed on devices: the default is as many as fit"
    return _Count(n_layer + 1, certain=gpu is True and not automatic, basis=basis)


def _split(
    model: ModelRead, told: _Told | None, layers: list[int], experts: list[int], count: _Count
) -> WeightsSplit | Unknown:
    input_bytes, output_bytes = model.input_bytes or 0, model.output_bytes or 0
    first = min(max(len(layers) + 1 - count.layers, 0), len(layers))
    output_on_device = count.layers > 0
    kept = 0 if told is None else len(experts) if told.cpu_moe else told.n_cpu_moe
    held_back = sum(experts[first:kept])
    device_bytes = sum(layers[first:]) - held_back
    host_bytes = input_bytes + sum(layers[:first]) + held_back
    if not output_on_device:
        host_bytes += output_bytes
    elif model.tied and model.embedding_bytes is None:
        return Unknown("the output reuses the token embeddings, whose size the header did not tell")
    else:
        device_bytes += output_bytes + ((model.embedding_bytes or 0) if model.tied else 0)
    return WeightsSplit(
        device_bytes=device_bytes,
        host_bytes=host_bytes,
        first_device_layer=first,
        device_layers=len(layers) - first,
        output_on_device=output_on_device,
        certain=count.certain,
        basis=count.basis,
    )
