"""What a recurrent layer keeps for each sequence: ``n_embd_r`` and ``n_embd_s`` of src/llama-hparams.cpp, b11434."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from specscope.session.memory.shape import Shape

_DEFAULT_SHIFTS: Final = 2


def state_widths(shape: Shape) -> tuple[int, int]:
    """How many float32 values one row of R (convolution, token shift) and one of S (state) holds.

    Raises:
        UnknownLayoutError: the header lacks a key.
    """
    keys, (head, _) = shape.hparams, shape.head
    match shape.rule.state:
        case "rwkv":
            width = keys.number("embedding_length")
            return keys.number("token_shift_count", _DEFAULT_SHIFTS) * width, width * keys.number("wkv.head_size")
        case "short convolution":
            return keys.number("embedding_length") * (keys.number("shortconv.l_cache") - 1), 0
        case "kda":
            size, kernel = keys.number("kda.head_dim"), keys.number("ssm.conv_kernel")
            return 3 * (kernel - 1 if kernel else 3) * shape.heads * size, size * size * shape.heads
        case "linear attention":
            return 0, head * head * shape.heads
        case "ssm" | "ssm without groups":
            groups = keys.number("ssm.group_count") if shape.rule.state == "ssm" else 0
            inner, state = keys.number("ssm.inner_size"), keys.number("ssm.state_size")
            kernel = keys.number("ssm.conv_kernel")
            return max(kernel - 1, 0) * (inner + 2 * groups * state), state * inner
