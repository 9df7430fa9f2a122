"""Whether a server's models lie on a device at all: by its open files, its log, its flags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope.session.unknowns import number_said

if TYPE_CHECKING:
    from collections.abc import Mapping

    from specscope.events import ProcessSampled
    from specscope.flags import ServerFlags


def has_device(usage: ProcessSampled | None, said: Mapping[str, Mapping[str, str]]) -> bool | None:
    """Whether the server has a device to put layers on; None: nothing says so.

    A build with a GPU backend says "offloaded 9/9 layers to GPU" on a machine without a GPU as well (b10434), so that
    the device files it holds and the devices its log lists at the start go before that line.
    """
    listed = {key.partition(".")[0] for key in said.get("device_total", {})}
    if listed:
        return any(not name.startswith("CPU") for name in listed)
    if usage is not None and usage.accelerated is False:
        return False
    return None


def on_device(
    flags: ServerFlags | None, said: Mapping[str, Mapping[str, str]], usage: ProcessSampled | None = None
) -> bool | None:
    """Whether the target's layers lie on a device; None: nothing says so."""
    if has_device(usage, said) is False:
        return False
    offloaded = number_said(said, "layers_offloaded", "offloaded")
    if offloaded is not None:
        return offloaded > 0
    return False if flags is not None and flags.gpu_layers == "0" else None
