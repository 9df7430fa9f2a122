"""Today's names of flags, and those from before they were renamed."""

from __future__ import annotations

import pytest

from specscope.flags import name_before
from specscope.flags.parse import NAMES, REMOVED


@pytest.mark.parametrize(
    ("flag", "old"),
    [
        ("--spec-draft-n-max", "--draft-max"),
        ("--spec-draft-n-min", "--draft-min"),
        ("--spec-draft-p-min", "--draft-p-min"),
        ("--spec-draft-model", "--model-draft"),
        ("--spec-ngram-mod-n-max", "--draft-max"),
        ("--spec-ngram-mod-n-match", "--spec-ngram-size-n"),
        ("--spec-ngram-map-k4v-size-m", "--spec-ngram-size-m"),
        ("--spec-ngram-simple-size-n", "--spec-ngram-size-n"),
        ("--spec-ngram-map-k-min-hits", "--spec-ngram-min-hits"),
        ("--ctx-size", "--ctx-size"),
        ("--some-size-n", "--some-size-n"),
    ],
)
def test_what_a_flag_was_called(flag: str, old: str) -> None:
    assert name_before(flag) == old


def test_an_old_name_is_one_that_builds_have_or_had() -> None:
    renamed = {name: name_before(name) for name in NAMES if name.startswith("--spec-") and name_before(name) != name}
    assert len(renamed) > 15
    assert set(renamed.values()) <= REMOVED | set(NAMES)
