"""Where tokens are chosen, from the traffic on the bus: an estimate for who may not trace.

Logits that cross to the host are the bulk of what a cycle sends there: rows x vocabulary floats of the target when it
is sampled on the host, as many of the drafter's when its argmax is done there. The driver's PCIe counters see their
sum without any right on the process. On an H200 (b11434, vocabulary 49,152) they told 1.18 times the bytes of the
copies for a plain server (69 of 58 MB/s), 0.8 to 1.5 in single readings for a drafting one, and 590 to 657 MB/s
against 257 to 497 with the drafter's logits on the host as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from specscope.session.copies import FLOAT
from specscope.session.estimate import turn_ms
from specscope.session.unknowns import number_said

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from specscope.session.backend_path import Side
    from specscope.session.copies import Shapes
    from specscope.session.gpu_state import GpuUse
    from specscope.session.state import Config, Rates

MIN_READINGS: Final = 10
"""A reading covers 20 ms, one or two cycles, and varies by half; the mean of ten is known to about a seventh."""

OVERHEAD: Final = 1.15
"""What the bus carries over the bytes of the copies: packet headers and reads of small results."""

LEAST: Final = 0.35
MOST: Final = 0.65
"""Of the bytes that a path on the host would add: below the one they are not there, above the other they are."""

LAYERS: Final = 5


class Bus(NamedTuple):
    """Bytes to the host per turn, and from how many readings."""

    bytes_per_turn: float
    readings: int


def bus_of(uses: Sequence[GpuUse], rates: Rates) -> Bus | None:
    """Bytes per turn over the bus while decoding; None where too little was read, or several devices share the work.

    Between devices layers send their activations, so that their sum tells nothing of logits.
    """
    if len(uses) != 1 or uses[0].gpu.to_host_readings < MIN_READINGS:
        return None
    per_s, whole_ms = uses[0].gpu.to_host_bytes_per_s, turn_ms(rates)
    if per_s is None or whole_ms is None:
        return None
    return Bus(per_s * whole_ms / 1000, uses[0].gpu.to_host_readings)


def features_bytes(config: Config, shapes: Shapes, rates: Rates, said: Mapping[str, Mapping[str, str]]) -> float:
    """Hidden states that a drafter reads per turn: extracted layers x rows x width; 0 where it reads none.

    The log at -lv 4 tells how many layers (``n_extract``); where it does not, five are taken, as the published
    block drafters have.
    """
    width = shapes.width["target"]
    if not shapes.extracting or width is None:
        return 0.0
    told = number_said(said, "drafter_params", "n_extract")
    layers = told if told is not None else (LAYERS if "draft-dflash" in (config.types or ()) else 1)
    return layers * max(1.0, rates.busy_slots or 1.0) * ((rates.width_mean or 0.0) + 1) * width * FLOAT


def by_bus(
    bus: Bus, shapes: Shapes, rates: Rates, *, features_bytes: float
) -> tuple[tuple[Side, str], tuple[Side, str]]:
    """The drafter's and the target's path as the bytes tell them, each with its reason.

    Args:
        bus: what crosses.
        shapes: of the models.
        rates: draft width and busy slots.
        features_bytes: hidden states that the drafter reads, per turn; they cross on builds that hand them over by
            the host.
    """
    unknown: tuple[Side, str] = ("unknown", "")
    vocab, slots = shapes.vocab["target"], max(1.0, rates.busy_slots or 1.0)
    if vocab is None:
        return unknown, unknown
    width = rates.width_mean if rates.width_mean is not None else (0.0 if rates.tau == 1.0 else None)
    if width is None:
        return unknown, unknown
    carried = bus.bytes_per_turn / OVERHEAD
    logits = slots * (width + 1) * vocab * FLOAT
    seen = f"about {carried / 1e6:.1f} MB a turn cross to the host (PCIe, {bus.readings} readings)"
    target = _judged(carried, logits, f"{seen}; the target's logits are {logits / 1e6:.1f} MB")
    drafted = slots * width * (shapes.vocab["drafter"] or vocab) * FLOAT
    if not drafted or target[0] == "unknown":
        return unknown, target
    rest = carried - features_bytes - (logits if target[0] == "host" else 0.0)
    return _judged(rest, drafted, f"{seen}; the drafter's logits would be {drafted / 1e6:.1f} MB of it"), target


def _judged(carried: float, whole: float, why: str) -> tuple[Side, str]:
    share = carried / whole
    if share <= LEAST:
        return "device", why
    return ("host", why) if share >= MOST else ("unknown", "")
