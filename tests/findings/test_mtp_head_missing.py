"""SPC104: draft-mtp without a file that has MTP layers."""

from __future__ import annotations

import builders as b
import pytest
from judged import evidence, found, look, state

from specscope.findings.speculation.mtp_head_missing import RULE

ASKED = b.process("-m m.gguf --spec-type draft-mtp")
OFF = b.idle(0.1, task=None, speculative=False)
DOWN = b.server("down", 1.0)
LINES = [
    b.said("model_loading", path="/models/m.gguf"),
    b.said("mtp_layers_missing"),
    b.said("draft_context_failed", kind="MTP"),
]


def test_a_server_that_ends_while_it_loads() -> None:
    finding = found(RULE, *LINES, DOWN)
    assert finding.severity == "critical"
    assert finding.settled
    assert finding.summary.endswith("the server does not start")
    assert evidence(finding)["file"] == "/models/m.gguf"
    assert "--spec-draft-model" in finding.advice
    separate = b.said("draft_model_loading", path="/models/mtp.gguf")
    assert evidence(found(RULE, *LINES, separate, DOWN))["file"] == "/models/mtp.gguf"


def test_a_build_that_runs_on_without_it() -> None:
    finding = found(RULE, ASKED, OFF, b.model(nextn_layers=0))
    assert evidence(finding) == {
        "file": "/models/target.gguf",
        "MTP layers in it": "none",
        "slots with speculation": "0 of 1",
    }
    # A request's parameters go on listing the method.
    listed = b.busy(1.0, speculative=False, params={"speculative.types": "draft-mtp"})
    assert found(RULE, listed, b.model(nextn_layers=0))


def test_a_separate_file_without_layers() -> None:
    finding = found(RULE, ASKED, OFF, b.model(nextn_layers=1), b.model("drafter", nextn_layers=0))
    assert evidence(finding)["file"] == "/models/drafter.gguf"


def test_an_old_build_is_told_its_own_flag() -> None:
    assert "--model-draft" in found(RULE, ASKED, OFF, b.model(nextn_layers=0), b.props(build="b8955-abcdef0")).advice


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ([], "waits"),
        (LINES, "waits"),
        ([*LINES, b.server("ready", 1.0)], "waits"),
        ([DOWN, b.said("draft_context_failed", kind="MTP")], "nothing"),
        ([ASKED, b.model(nextn_layers=0)], "waits"),
        ([ASKED, b.model(nextn_layers=0), b.idle(0.1, task=None, speculative=True)], "nothing"),
        ([ASKED, OFF, b.model(nextn_layers=1)], "nothing"),
        ([ASKED, OFF, b.model()], "nothing"),
        ([ASKED, OFF], "nothing"),
        ([ASKED, OFF, b.model("drafter", arch="gemma4-assistant", nextn_layers=0)], "nothing"),
        ([ASKED, OFF, b.model(nextn_layers=0), b.model("drafter", nextn_layers=3)], "nothing"),
        ([ASKED, OFF, b.model(nextn_layers=0), b.said("speculation_failed", reason="out of memory")], "nothing"),
        ([b.process("-m m.gguf --spec-type draft-dflash"), OFF, b.model(nextn_layers=0)], "does not apply"),
        ([b.process("-m m.gguf"), OFF, b.model(nextn_layers=0)], "does not apply"),
    ],
    ids=[
        "nothing",
        "it may have started again: its state is not known",
        "it has started again",
        "another reason",
        "no look at the slots",
        "it speculates all the same",
        "the file has the layers",
        "the file tells nothing of them",
        "no file was read",
        "a drafter told by its architecture",
        "the separate file has them",
        "the log says why it is off",
        "another method",
        "not asked for",
    ],
)
def test_it_does_not_apply(facts: list[object], says: str) -> None:
    assert state(look(RULE, *facts)) == says
