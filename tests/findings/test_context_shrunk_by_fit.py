"""SPC403: the context was reduced to fit into memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import builders as b
import pytest
from judged import evidence, found, look, state

from specscope.findings.memory.context_shrunk_by_fit import RULE

if TYPE_CHECKING:
    from specscope import events as ev

SAID = b.said("context_reduced", requested="262144", effective="48384", mib_saved="9120")
MODEL = b.model(n_ctx_train=262_144)
NEW = b.props(build="b11434-abc1234", total_slots=1)


def slots(n_ctx: int, count: int = 1) -> list[ev.Event]:
    return [b.idle(0.2, slot=i, task=None, n_ctx=n_ctx) for i in range(count)]


def test_the_logs_words() -> None:
    finding = found(RULE, SAID)
    assert (finding.severity, finding.settled) == ("info", True)
    assert finding.summary == "the context was reduced from 262,144 to 48,384 tokens to fit into memory"
    assert evidence(finding) == {
        "log": "context size reduced from 262,144 to 48,384",
        "saved": "9,120 MiB",
    }
    assert "--cache-type-k q8_0" in finding.advice


def test_sizes_tell_it_where_the_log_does_not() -> None:
    finding = found(RULE, b.process("-m m.gguf -np 1"), MODEL, NEW, *slots(48_384))
    assert evidence(finding) == {"the model's context": "262,144 (GGUF)", "in force": "48,384 (/slots)"}


def test_slots_that_share_the_context_each_show_all_of_it() -> None:
    shared = b.said("n_slots", n_slots="4", n_ctx_slot="48384", kv_unified="true")
    finding = found(RULE, b.process("-m m.gguf"), MODEL, NEW, shared, *slots(48_384, 4))
    assert evidence(finding)["in force"] == "48,384 (/slots)"
    assert evidence(finding)["slots"] == "4, which share it"


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ([], "waits"),
        ([MODEL, NEW, *slots(48_384)], "waits"),
        ([b.process("-m m.gguf -c 48384"), MODEL, NEW, *slots(48_384)], "does not apply"),
        ([b.process("-m m.gguf --fit off"), MODEL, NEW, *slots(48_384)], "does not apply"),
        ([b.process("-m m.gguf"), MODEL, NEW, *slots(262_144)], "nothing"),
        ([b.process("-m m.gguf"), NEW, *slots(48_384)], "waits"),
        ([b.process("-m m.gguf"), MODEL, NEW], "waits"),
        ([b.process("-m m.gguf"), MODEL, b.props(build="b6800-abc1234"), *slots(4096)], "does not apply"),
        ([b.process("-m m.gguf"), MODEL, b.props(build="b1-1234567"), *slots(4096)], "does not apply"),
        ([b.process("-m m.gguf"), MODEL, b.props(kind="ik_llama.cpp"), *slots(32_768)], "does not apply"),
        ([b.process("-m m.gguf -np 4 --no-kv-unified"), MODEL, NEW, *slots(65_536, 4)], "nothing"),
        ([b.process("-m m.gguf --kv-unified-per-slot 8192"), MODEL, NEW, *slots(8192)], "does not apply"),
        ([b.said("context_reduced", requested="4096", effective="4096")], "nothing"),
    ],
    ids=[
        "nothing",
        "command line not known",
        "asked for",
        "fit is off",
        "the model's own",
        "no header",
        "no slots",
        "an old build's default",
        "an unknown build at the old default",
        "ik_llama",
        "each slot has its part",
        "capped by a flag",
        "not reduced",
    ],
)
def test_it_does_not_apply(facts: list[ev.Event], says: str) -> None:
    assert state(look(RULE, *facts)) == says
