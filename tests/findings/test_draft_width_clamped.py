"""SPC102: more draft width is asked for than the drafter can give."""

from __future__ import annotations

import builders as b
import pytest
from judged import evidence, found, look, state

from specscope.findings.speculation.draft_width_clamped import RULE

ASKED = b.process("-md d.gguf --spec-draft-n-max 16")
DFLASH = b.busy(params={"speculative.types": "draft-dflash"})
DRAFTER = b.model("drafter", block_size=16)


def test_a_flag_beyond_the_trained_block() -> None:
    finding = found(RULE, ASKED, DFLASH, DRAFTER)
    assert finding.summary == "draft width 16 is clamped to 15"
    assert evidence(finding) == {"asked for": "16", "in force": "15", "trained block": "16"}
    assert finding.advice == "set --spec-draft-n-max 15; values above it change nothing"


def test_the_servers_own_line() -> None:
    line = b.said("draft_width_clamped", n_max="32", clamped_to="7")
    finding = found(RULE, DFLASH, line)
    assert evidence(finding) == {"asked for": "32", "in force": "7", "log": "clamping to 7"}
    assert "--spec-draft-n-max 7" in finding.advice


def test_the_widest_draft_seen_stands_beside_it() -> None:
    finding = found(RULE, ASKED, DFLASH, DRAFTER, b.attached("log", "cycles"), b.cycle(w=15), b.cycle(w=9))
    assert evidence(finding)["widest draft seen"] == "15"


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ([b.process("-md d.gguf --spec-draft-n-max 15"), DFLASH, DRAFTER], "nothing"),
        ([b.process("-md d.gguf --spec-draft-n-max 3"), DFLASH, DRAFTER], "nothing"),
        ([ASKED, DFLASH], "nothing"),
        ([ASKED, DRAFTER, b.busy(params={"speculative.types": "draft-simple"})], "nothing"),
        ([ASKED, DRAFTER, b.busy(params={"speculative.types": "ngram-mod"})], "waits"),
        ([ASKED, DRAFTER, b.idle(0.1, task=None, speculative=False)], "does not apply"),
        ([ASKED, DRAFTER], "waits"),
        ([DFLASH, DRAFTER], "waits"),
        ([], "waits"),
    ],
    ids=[
        "exactly the block",
        "less",
        "block unknown",
        "another drafter",
        "no drafter",
        "off",
        "methods unknown",
        "no flag",
        "nothing",
    ],
)
def test_it_does_not_apply(facts: list[object], says: str) -> None:
    assert state(look(RULE, *facts)) == says
