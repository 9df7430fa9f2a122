"""The facts: a closed union whose every member can be written down and read back."""

from __future__ import annotations

import inspect
from typing import get_args

import msgspec
import pytest
from hypothesis import given, settings
from samples import ANY_FACT, EVERY_KIND

from specscope import events as ev

KINDS = get_args(ev.Event)
DECODER = msgspec.json.Decoder(ev.Event)


def test_every_fact_is_in_the_union() -> None:
    defined = {kind for _, kind in inspect.getmembers(ev, inspect.isclass) if issubclass(kind, ev.Fact)} - {ev.Fact}
    assert set(KINDS) == defined


def test_every_kind_has_a_sample_with_every_field_set() -> None:
    # A new kind or field without a sample would be in no test that goes over all of them.
    assert [type(sample) for sample in EVERY_KIND] == list(KINDS)
    for sample in EVERY_KIND:
        assert set(msgspec.to_builtins(sample)) == {"k", *type(sample).__struct_fields__}, type(sample).__name__


def test_names_on_disk_are_short_and_their_own() -> None:
    tags = [kind.__struct_config__.tag for kind in KINDS]
    assert len(set(tags)) == len(tags)
    assert all(isinstance(tag, str) and tag.isidentifier() and len(tag) <= 10 for tag in tags)


def test_names_on_disk_never_change() -> None:
    # Recordings of earlier versions hold them: a kind that is renamed in the program keeps its tag.
    assert " ".join(kind.__struct_config__.tag for kind in KINDS) == (
        "target attached lost missed cost mark ended server started props slot step poll counters launch cycle progress"
        " request release statistics log buffer stream streamed tracing began traced dropped turn copies stalls stacks"
        " model process usage gpu gpu_now gpu_memory gpu_link gpu_lost"
    )


@pytest.mark.parametrize("sample", EVERY_KIND, ids=lambda sample: type(sample).__name__)
def test_a_fact_comes_back_as_it_was_written(sample: ev.Event) -> None:
    assert DECODER.decode(msgspec.json.encode(sample)) == sample


@settings(deadline=None)
@given(fact=ANY_FACT)
def test_any_fact_comes_back_as_it_was_written(fact: ev.Event) -> None:
    assert DECODER.decode(msgspec.json.encode(fact)) == fact


@pytest.mark.parametrize("sample", EVERY_KIND, ids=lambda sample: type(sample).__name__)
def test_a_number_whose_square_is_no_number_is_refused(sample: ev.Event) -> None:
    # Only a damaged recording has one, and sums and products of it would be infinite.
    fields = msgspec.to_builtins(sample)
    for name in [name for name, value in fields.items() if isinstance(value, float)]:
        with pytest.raises(msgspec.ValidationError):
            DECODER.decode(msgspec.json.encode(fields | {name: 1e200}))


def test_what_was_not_seen_is_not_written() -> None:
    line = msgspec.json.encode(ev.CycleLogged(at=1.5, slot=0, task=7, drafted=15, accepted=5))
    assert line == b'{"k":"cycle","at":1.5,"slot":0,"task":7,"drafted":15,"accepted":5}'
    assert msgspec.json.decode(msgspec.json.encode(ev.SlotChanged(at=1.5, slot=0))) == {
        "k": "slot",
        "at": 1.5,
        "slot": 0,
    }


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_what_was_not_seen_is_none_and_never_nought(kind: type[ev.Fact]) -> None:
    defaults = dict(zip(reversed(kind.__struct_fields__), reversed(kind.__struct_defaults__), strict=False))
    numbers = [v for v in defaults.values() if isinstance(v, (int, float)) and not isinstance(v, bool)]
    assert numbers == []


@pytest.mark.parametrize("sample", EVERY_KIND, ids=lambda sample: type(sample).__name__)
def test_a_fact_does_not_change(sample: ev.Event) -> None:
    with pytest.raises(AttributeError):
        sample.at = 0.0  # type: ignore[misc]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_a_fact_without_its_time_is_none(kind: type[ev.Fact]) -> None:
    with pytest.raises(msgspec.ValidationError):
        DECODER.decode(msgspec.json.encode({"k": kind.__struct_config__.tag}))


def test_the_tiers_rise() -> None:
    assert ev.TIERS == get_args(ev.Tier) == ("none", "totals", "log", "polled", "cycles", "trace")


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_kind_says_what_it_is(kind: type[ev.Fact]) -> None:
    assert kind.__doc__
    assert kind.__doc__ != ev.Fact.__doc__
