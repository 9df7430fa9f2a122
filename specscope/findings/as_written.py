"""Flags in advice, by the names that the user of a server knows them by: builds differ, and most flags have several."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from specscope.session.state import Target


def as_written(target: Target, field: str, usual: str, value: str = "") -> str:
    """A flag with its value, as the server was given it: ``-ctkd q8_0``, ``LLAMA_ARG_N_GPU_LAYERS_DRAFT=99``.

    Args:
        target: the server.
        field: of :class:`specscope.flags.ServerFlags`.
        usual: the flag's name where the server was not given it, or its command line is not known.
        value: what to set it to; empty for the name alone.
    """
    told = target.flags.told if target.flags is not None else ()
    name = next((given.name for given in reversed(told) if given.field == field), usual)
    if not value:
        return name
    return f"{name} {value}" if name.startswith("-") else f"{name}={value}"
