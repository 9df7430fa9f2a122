"""SPC507: CUDA graphs are not used."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import msgspec
import pytest
from driver_says import PID, reading, served
from judged import evidence, found, look, said, state
from nvml_standin import busy_h200

from specscope.events import GpuFound
from specscope.findings.host.cuda_graphs_lost import RULE

if TYPE_CHECKING:
    from nvml_standin import Gpus

    from specscope import events as ev

CUDA = b.said("device_total", **{"CUDA0.name": "NVIDIA H200", "CUDA0.total_mib": "143771"})
DISABLED = b.process("-m m.gguf", env={"GGML_CUDA_DISABLE_GRAPHS": "0"})


def logged(reason: str) -> ev.Event:
    return b.said("cuda_graphs_disabled", reason=reason)


def test_the_variable_counts_whatever_its_value_is() -> None:
    finding = found(RULE, DISABLED, CUDA)
    assert (finding.severity, finding.settled, finding.cost_ms) == ("warning", True, None)
    assert evidence(finding) == {"environment": "GGML_CUDA_DISABLE_GRAPHS=0", "cost": "not measured here"}
    assert "take GGML_CUDA_DISABLE_GRAPHS out" in finding.advice


@pytest.mark.parametrize(
    ("reason", "severity"), [("unsupported node type", "warning"), ("GPU architecture", "info")], ids=str
)
def test_the_logs_line(reason: str, severity: str) -> None:
    finding = found(RULE, logged(reason))
    assert finding.severity == severity
    assert evidence(finding)["log"] == f"disabling CUDA graphs due to {reason}"


def test_an_older_builds_batches_matter_where_drafts_are_verified() -> None:
    assert look(RULE, logged("batch size > 1 ")) == ()
    drafting = b.busy(params={"speculative.types": "draft-simple"})
    assert "newer builds" in found(RULE, logged("batch size > 1 "), drafting).advice


@pytest.mark.parametrize("compute", ["6.x", "x.1", "\N{SUPERSCRIPT SIX}.1", "6.1.2", ""])
async def test_a_capability_that_is_no_number_is_unknown(gpus: Gpus, compute: str) -> None:
    gpus.add(busy_h200(PID))
    facts = [
        msgspec.structs.replace(fact, compute=compute) if isinstance(fact, GpuFound) else fact
        for fact in served((await reading(gpus), 1))
    ]
    assert look(RULE, b.process("-m m.gguf", env={}), CUDA, *facts) == ()


async def test_a_device_that_is_too_old(gpus: Gpus) -> None:
    gpus.add(busy_h200(PID) | {"DeviceGetName": "Tesla P40", "DeviceGetCudaComputeCapability": (6, 1)})
    old = served((await reading(gpus), 1))
    finding = found(RULE, CUDA, *old)
    assert finding.severity == "info"
    assert evidence(finding)["compute capability"] == "6.1 (Tesla P40)"
    assert look(RULE, b.process("-m m.gguf", env={}), *old) == ()  # it may compute with Vulkan
    gpus.set(0, "DeviceGetCudaComputeCapability", 7, 0)


@pytest.mark.parametrize("capability", [(7, 0), (9, 0), (12, 1)])
async def test_a_device_that_has_them(gpus: Gpus, capability: tuple[int, int]) -> None:
    gpus.add(busy_h200(PID) | {"DeviceGetCudaComputeCapability": capability})
    has_them = served((await reading(gpus), 1))
    assert look(RULE, b.process("-m m.gguf", env={}), CUDA, *has_them) == ()
    assert state(look(RULE, CUDA, *has_them)) == "waits"  # a variable may switch them off


def test_on_a_cpu_there_are_none_to_lose() -> None:
    assert said(look(RULE, DISABLED)) == "does not apply: no GPU seen"
    assert look(RULE, b.process("-m m.gguf", env={}), CUDA) == ()
    says = said(look(RULE, b.process("-m m.gguf"), CUDA))
    assert says == "waits: the server's environment (on its own machine, as its user or root)"
