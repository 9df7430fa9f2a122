"""SPC506: the drafter runs on the CPU while the target runs on the GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from driver_says import PID, reading, served
from judged import evidence, found, look, said, state
from nvml_standin import busy_h200

from specscope.findings.host.drafter_on_cpu import RULE
from specscope.findings.rule import Collecting

if TYPE_CHECKING:
    from nvml_standin import Gpus

    from specscope import events as ev

OFFLOADED = b.said("layers_offloaded", offloaded="33", layers="33")
ON_GPU = [OFFLOADED, b.said("device_total", **{"CUDA0.name": "H200", "CUDA0.total_mib": "143771"})]
DRAFT = "-m m.gguf -ngl 99 -md d.gguf --spec-type draft-simple"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"{DRAFT} -ngld 0", "-ngld 0"),
        (f"{DRAFT} --spec-draft-ngl 0", "--spec-draft-ngl 0"),
        (f"{DRAFT} -devd none", "-devd none"),
    ],
)
def test_flags_that_keep_it_there(line: str, said: str) -> None:
    finding = found(RULE, b.process(line), *ON_GPU)
    assert (finding.severity, finding.settled, finding.cost_ms) == ("critical", True, None)
    assert finding.summary == "the drafter runs on the CPU"
    assert evidence(finding) == {"flag": said}
    assert ("-ngld 99" if "-ngld" in line else "--spec-draft-ngl 99") in finding.advice


def test_the_logs_own_count() -> None:
    said = b.said("draft_layers_offloaded", offloaded="0", layers="5")
    turns = [b.turn(1 + i / 20, 50_000, draft_us=38_000) for i in range(60)]
    finding = found(RULE, b.process(DRAFT), *ON_GPU, said, b.tracing(asynchronous=True), *turns)
    assert evidence(finding) == {
        "log": "drafter: offloaded 0/5 layers to GPU",
        "drafting takes": "38.0 of 50.0 ms a turn",
    }


@pytest.mark.parametrize(
    "facts",
    [
        [b.process(f"{DRAFT} -ngld 0")],
        [b.process("-m m.gguf -ngl 0 -md d.gguf --spec-type draft-simple -ngld 0")],
        [b.process(f"{DRAFT} -ngld 0"), b.said("device_total", **{"CPU.name": "a CPU"})],
        [b.process(f"{DRAFT} -ngld 99"), *ON_GPU],
        [b.process(DRAFT), *ON_GPU],
        [b.process("-m m.gguf --spec-type ngram-mod -ngld 0"), *ON_GPU],
        [b.process("-m m.gguf -md d.gguf -ngld 0"), *ON_GPU, b.idle(0.1, task=None, speculative=False)],
    ],
    ids=["where the target is, is not known", "both on the CPU", "no device", "on it", "default", "no drafter", "off"],
)
def test_it_does_not_apply(facts: list[ev.Event]) -> None:
    assert state(look(RULE, *facts)) == "does not apply"


async def decoding(gpus: Gpus, busy_pct: int, threads: list[float], seconds: float = 12) -> list[ev.Event]:
    gpus.remove_all()
    gpus.add(busy_h200(PID))
    gpus.set(0, "DeviceGetUtilizationRates", busy_pct, 10)
    host = b.usage(5.0, threads=[("llama-server", pct) for pct in threads])
    return [b.process(DRAFT), *ON_GPU, *served((await reading(gpus), seconds)), host]


async def test_what_a_server_does_tells_it_too(gpus: Gpus) -> None:
    finding = found(RULE, *await decoding(gpus, 40, [99.0, 98.0, 97.0, 96.0, 2.0]))
    assert (finding.severity, finding.settled) == ("warning", False)
    assert finding.summary == "the drafter seems to run on the CPU"
    assert evidence(finding) == {
        "busy threads of the server": "4 at 50% of a core or more",
        "the target": "all 33 layers on the device",
        "the device": "busy 40% of 12 s of decoding",
    }


async def test_once_raised_it_stays_until_the_device_is_at_work(gpus: Gpus) -> None:
    threads = [99.0, 98.0, 97.0, 96.0]
    assert found(RULE, *await decoding(gpus, 65, threads), raised=["t0"])
    assert look(RULE, *await decoding(gpus, 75, threads), raised=["t0"]) == ()
    pause = [b.idle(20.0), b.gpu_now(20.1, 450.0)]
    assert look(RULE, *await decoding(gpus, 40, threads), *pause) == Collecting("a server that decodes")
    assert look(RULE, *await decoding(gpus, 40, threads), *pause, raised=["t0"]) == Collecting("a server that decodes")


async def test_what_is_no_sign_of_it(gpus: Gpus) -> None:
    threads = [99.0, 98.0, 97.0, 96.0]
    assert look(RULE, *await decoding(gpus, 40, [99.0, 60.0, 2.0])) == ()  # the loop and an answer under way
    assert look(RULE, *await decoding(gpus, 65, threads)) == ()
    assert said(look(RULE, *await decoding(gpus, 40, threads, seconds=5))) == "waits: 10 s of decoding (5 so far)"
    many = b.process(f"{DRAFT} -t 16")
    assert look(RULE, *await decoding(gpus, 40, threads), many) == ()
    part = b.said("layers_offloaded", offloaded="20", layers="33")
    says = said(look(RULE, *await decoding(gpus, 40, threads), part))
    assert says == "does not apply: layers of the target itself are on the CPU"
    there = b.said("draft_layers_offloaded", offloaded="5", layers="5")
    assert look(RULE, *await decoding(gpus, 40, threads), there) == ()
