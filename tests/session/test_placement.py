"""Whether a server's models lie on a device at all."""

from __future__ import annotations

import pytest

from specscope import events as ev
from specscope.flags import parse_flags
from specscope.session.placement import has_device, on_device

HELD = ev.ProcessSampled(at=1.0, accelerated=True)
NONE_HELD = ev.ProcessSampled(at=1.0, accelerated=False)
ALL = {"layers_offloaded": {"offloaded": "9", "layers": "9"}}
ONLY_CPU = {"device_total": {"CPU.name": "a CPU", "CPU.total_mib": "16000"}}
CUDA = {"device_total": {"CUDA0.name": "NVIDIA H200", "CPU.name": "a CPU"}}


@pytest.mark.parametrize(
    ("usage", "said", "there"),
    [
        (None, {}, None),
        (HELD, {}, None),  # CUDA opens its files on a machine whose devices it may not use, too
        (NONE_HELD, {}, False),
        (None, ONLY_CPU, False),
        (HELD, ONLY_CPU, False),
        (None, CUDA, True),
    ],
)
def test_a_device_is_there(
    usage: ev.ProcessSampled | None, said: dict[str, dict[str, str]], there: bool | None
) -> None:
    assert has_device(usage, said) is there


@pytest.mark.parametrize(
    ("line", "usage", "said", "lies"),
    [
        ("", None, {}, None),
        ("", None, ALL, True),
        ("", NONE_HELD, ALL, False),  # a build with a GPU backend says so without a GPU
        ("", None, ALL | ONLY_CPU, False),
        ("-ngl 0", None, {}, False),
        ("-ngl 99", None, {}, None),
        ("", None, {"layers_offloaded": {"offloaded": "0", "layers": "9"}}, False),
    ],
)
def test_layers_lie_on_it(
    line: str, usage: ev.ProcessSampled | None, said: dict[str, dict[str, str]], lies: bool | None
) -> None:
    assert on_device(parse_flags(["llama-server", *line.split()], {}), said, usage) is lies
