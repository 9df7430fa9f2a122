"""What the log says of a request beside its figures: why it got its slot."""

from __future__ import annotations

import pytest

from specscope.events import RequestLaunched
from specscope.sources.log_lines import LineParser


def similarities(*lines: str) -> list[float | None]:
    parser = LineParser()
    facts = [fact for line in lines for fact in parser.parse(line, 1.0)]
    return [fact.similarity for fact in facts if isinstance(fact, RequestLaunched)]


def chosen(how: str, slot: int = 0) -> str:
    return f"0.01.000.000 I slot get_availabl: id  {slot} | task -1 | selected slot by {how}"


def launch(task: int, slot: int = 0) -> str:
    return f"0.01.000.001 I slot launch_slot_: id  {slot} | task {task} | processing task, is_child = 0"


SIMILAR = chosen("LCP similarity, f_sim_best = 0.953 (> 0.100 thold), f_keep = 1.000")


@pytest.mark.parametrize(
    "how",
    [
        "LCP similarity, f_sim_best = 0.953 (> 0.100 thold), f_keep = 1.000",
        "LCP similarity, sim_best = 0.953 (> 0.100 thold), f_keep = 1.000",
        "lcs similarity, lcs_len = 12, similarity = 0.953 (> 0.100 thold)",
    ],
    ids=["b11434", "b9xxx", "2024"],
)
def test_each_wording(how: str) -> None:
    assert similarities(chosen(how), launch(1)) == [0.953]


def test_it_is_of_the_next_request_of_its_slot_and_of_no_other() -> None:
    assert similarities(SIMILAR, launch(1, slot=1), launch(2), launch(3)) == [None, 0.953, None]


def test_a_slot_chosen_otherwise_is_not_said_to_hold_anything() -> None:
    assert similarities(SIMILAR, chosen("LRU, t_last = 82754643"), launch(1)) == [None]
    assert similarities(chosen("id (0)"), launch(1)) == [None]
