"""What the Config screen says: values, where they come from, what is recommended, claims, and requests' drift."""

from __future__ import annotations

from typing import TYPE_CHECKING

import configured
import facts
import pytest
from configured import AdvisedFeed
from feeds import StillFeed
from replayed import recording
from screens import painted, rows, running, text

from specscope import events as ev
from specscope.session.provenance.recommend import Advice
from specscope.views.frame import Frame, activity_of
from specscope.views.screens.config_plan import plan

if TYPE_CHECKING:
    from textual.pilot import Pilot

SIZES = [(80, 24), (120, 40), (200, 60)]


async def fifth(pilot: Pilot[None], *keys: str) -> str:
    """Show the Config screen and press keys on it."""
    await pilot.press("5", *keys)
    await painted(pilot)
    return text(pilot)


def row_of(pilot: Pilot[None], name: str) -> list[str]:
    """The words of a setting's row in the list."""
    return next(words for words in (row.split() for row in rows(pilot)) if name in words[:3])


@pytest.mark.parametrize("size", SIZES)
async def test_every_size_shows_who_won_and_why(size: tuple[int, int]) -> None:
    async with running(configured.many_ways(), size=size) as pilot:
        shown = await fifth(pilot, "j")
        for words in (
            "! 3 not as recommended",
            "!> top_k",
            "─ top_k 30+ from the latest request (slot 0, task 184), shown by /slots ─",
            "the request set its own",
            "the environment goes before it",
            "64 by the model file (general.sampling.top_k)",
            "64 by the card of Gemma 4 (https://huggingface.co/",
            "─ requests 5 requests sampled in 3 ways, 3 changes ─",
            "min_p 0, temperature 1, top_k 64",
            "20:26:49 slot 0 task 184  min_p 0 to 0.05, temperature 1 to 1.5, top_k 64 to 30",
        ):
            assert words in shown, words
        told = [" ".join(row.split()) for row in rows(pilot)]
        assert any('✓ request "top_k" 30 in force' in row for row in told)
        assert any("environment LLAMA_ARG_TOP_K 50 the request set its own" in row for row in told)
        assert any("GGUF general.sampling.to" in row and " 64 the environment goes" in row for row in told)


@pytest.mark.parametrize("size", SIZES)
async def test_file_environment_and_request_of_a_recorded_server(size: tuple[int, int]) -> None:
    # A real b10434 server whose file says 70, whose environment says 50, and whose last request said 30.
    async with running(AdvisedFeed(list(recording("settings").events())), size=size) as pilot:
        await fifth(pilot, "j")
        told = [" ".join(row.split()) for row in rows(pilot)]
        for words in (
            "!> top_k 30+ request 70",
            '✓ request "top_k" 30 in force',
            "environment LLAMA_ARG_TOP_K 50 the request set its own",
            "70 the environment goes before it",
        ):
            assert any(words in row for row in told), words


async def test_rows_say_value_origin_and_recommendation() -> None:
    async with running(configured.many_ways(), size=(200, 60)) as pilot:
        await fifth(pilot)
        assert row_of(pilot, "min_p")[:7] == ["!", "min_p", "0.05+", "server", "default", "0", "model"]
        assert row_of(pilot, "top_p")[:5] == ["top_p", "0.95+", "GGUF", "0.95", "GGUF"]
        assert row_of(pilot, "cache_reuse")[:3] == ["cache_reuse", "256~", "environment"]
        assert row_of(pilot, "spec_draft_n_max")[:5] == ["spec_draft_n_max", "15+", "command", "line", "clamped:"]
        assert row_of(pilot, "model")[1].startswith("gemma-4-31B")
        shown = text(pilot)
        assert "─ started with pid 4242 ─" in shown
        assert "--spec-draft-n-max 20" in shown
        assert "LLAMA_ARG_TOP_K=50" in shown
        assert "chat, streamed" not in shown  # no room beside the list


async def test_keys_pick_rows_and_the_claims_follow() -> None:
    async with running(configured.many_ways(), size=(80, 24)) as pilot:
        await fifth(pilot)
        picked = []
        for key in ("j", "down", "k", "up", "up", "end", "home", "n", "n", "n", "pagedown", "pageup"):
            await pilot.press(key)
            await painted(pilot)
            (mark,) = (row for row in rows(pilot) if row[1:2] == ">")
            name = mark.split(">")[1].split()[0]
            assert f"─ {name} " in text(pilot), key
            picked.append(name)
        assert picked == [
            *("top_k", "top_p", "top_k", "temperature", "temperature", "slots", "temperature"),
            *("top_k", "min_p", "temperature", "frequency_penalty", "temperature"),
        ]


async def test_all_settings_and_back() -> None:
    async with running(configured.many_ways(), size=(200, 60)) as pilot:
        assert "dry_base" not in await fifth(pilot)
        assert "43 of 87 settings" in text(pilot)
        await pilot.press("a")
        await painted(pilot)
        assert "dry_base" in text(pilot)
        assert " 87 settings" in text(pilot)
        await pilot.press("A")
        await painted(pilot)
        assert "dry_base" not in text(pilot)


async def test_the_picked_setting_stays_picked_when_facts_come() -> None:
    feed = AdvisedFeed(configured.alike())
    async with running(feed) as pilot:
        await fifth(pilot, "j", "j", "j")
        assert "─ min_p 0.05+ by the server's default, shown by /slots ─" in text(pilot)
        feed.tell(configured.request(300, 20, 6, min_p=0.0))
        await painted(pilot)
        assert "─ min_p 0+ from the latest request (slot 0, task 300), shown by /slots ─" in text(pilot)
        assert "sampled in 2 ways, 1 change" in text(pilot)


async def test_requests_that_are_all_alike_take_one_row() -> None:
    async with running(AdvisedFeed(configured.alike())) as pilot:
        assert "─ requests 2 requests, all sampled alike ─" in await fifth(pilot)


async def test_clients_are_told_apart_by_what_they_ask_for() -> None:
    async with running(configured.many_ways()) as pilot:
        await fifth(pilot)
        assert any("completion, at once" in row and row.split()[0] == "1" for row in rows(pilot))
        assert any("chat, streamed" in row and row.split()[0] == "3" for row in rows(pilot))


async def test_a_server_whose_process_cannot_be_seen() -> None:
    async with running(AdvisedFeed(configured.hidden()), size=(200, 60)) as pilot:
        shown = await fifth(pilot, "j", "j", "j")
        assert row_of(pilot, "min_p")[:6] == ["!>", "min_p", "0.05+", "server", "default", "?"]
        assert "cannot be read from here, may say the same" in shown
        assert "─ started with its process cannot be seen from here ─" in shown
        await pilot.press("home")
        await painted(pilot)
        assert row_of(pilot, "temperature")[:4] == [">", "temperature", "1+", "—"]
        assert "cannot be read from here, may set it" in text(pilot)


async def test_a_profile_goes_before_the_file_and_the_card() -> None:
    async with running(AdvisedFeed(configured.alike(), configured.PROFILE)) as pilot:
        shown = await fifth(pilot, "j", "j", "j")
        assert "! 2 not as recommended by " in shown
        assert ' ! recommended    0 by profile "house" (our sweep)' in shown


async def test_modes_of_a_card_are_named() -> None:
    qwen = [
        *configured.started()[:4],
        ev.ModelRead(at=facts.T0, role="target", path="/models/q.gguf", name="Qwen3 8B"),
    ]
    async with running(AdvisedFeed(qwen)) as pilot:
        shown = await fifth(pilot)
        assert row_of(pilot, "temperature")[-4:-1] == ["or", "0.7", "model"]
        assert "0.6 (thinking), 0.7 (not thinking) by the card of Qwen3" in shown


async def test_nobody_recommends_anything() -> None:
    async with running(AdvisedFeed(configured.hidden(), Advice())) as pilot:
        assert "nothing is recommended for this model: a profile in config.toml" in await fifth(pilot)


async def test_a_server_as_recommended() -> None:
    async with running(
        AdvisedFeed([*configured.started(), *configured.request(1, 1, 6, top_k=64, min_p=0.0)])
    ) as pilot:
        assert ", all as recommended by the model file and the card of Gemma 4" in await fifth(pilot)


async def test_long_values_are_told_whole_below() -> None:
    async with running(configured.many_ways(), size=(80, 24)) as pilot:
        await fifth(pilot, *["j"] * 11)
        assert "penalties, dry, top_n_sigma, top_k, typ_p, top_p, min_p, xtc, temperature" in text(pilot)


async def test_what_a_server_cannot_have_read() -> None:
    line = f"{configured.LINE} --draft-max 16 --no-such-thing --port=99 --top-k many"
    async with running(AdvisedFeed(configured.started(line)), size=(200, 60)) as pilot:
        shown = await fifth(pilot)
        for words in (
            "! --draft-max is of older builds",
            "! --no-such-thing is no flag of any build known here",
            "! --port=.. is no form that a server takes",
            "! --top-k: its value is missing or cannot be read",
        ):
            assert words in shown, words


async def test_nothing_known() -> None:
    async with running(StillFeed([]), size=(80, 24)) as pilot:
        assert "no server seen yet" in await fifth(pilot, "j", "n", "end")
    async with running(StillFeed(facts.found()[:3]), size=(80, 24)) as pilot:
        shown = await fifth(pilot, "j")
        assert "no setting is known yet" in shown
        assert "no request with known parameters seen yet" in shown


async def test_ascii_and_colourless() -> None:
    async with running(configured.many_ways(), ascii=True, no_color=True) as pilot:
        shown = await fifth(pilot, "j")
        assert shown.isascii()
        assert any(row.startswith("!> top_k") for row in rows(pilot))
        assert any(row.startswith(" v request") for row in rows(pilot))


def test_parts_do_not_overlap() -> None:
    session = configured.many_ways().session()
    target = session.targets[0]
    frame = Frame(session, target, 0, (), activity_of(target, session.at), session.started_at)
    for width in (40, 80, 110, 169, 170, 240):
        for height in range(3, 70):
            taken: set[tuple[int, int]] = set()
            for name, region in plan(width, height, frame).items():
                assert region.height > 0, name
                assert region.right <= width, name
                assert region.bottom <= height, (name, width, height)
                cells = {(x, y) for y in range(region.y, region.bottom) for x in (region.x, region.right - 1)}
                assert not cells & taken, (name, width, height)
                taken |= cells


async def test_any_size_is_drawn() -> None:
    async with running(configured.many_ways()) as pilot:
        await fifth(pilot)
        for size in [(20, 5), (40, 12), (80, 24), (101, 30), (190, 50), (300, 90)]:
            await pilot.resize_terminal(*size)
            await painted(pilot)
            shown = rows(pilot)
            assert len(shown) == size[1]
            assert all(len(row) == size[0] for row in shown), size


async def test_nothing_is_painted_again_while_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    feed = configured.many_ways()
    async with running(feed) as pilot:
        await fifth(pilot)
        drawn: list[str] = []
        for name in ("panels.claims.Claims", "panels.request_sets.RequestSets", "panels.started.Started"):
            monkeypatch.setattr(f"specscope.views.{name}.draw", lambda *_, name=name: drawn.append(name) or [])
        monkeypatch.setattr("specscope.views.widgets.setting_rows.SettingRows._lay_out", lambda _: drawn.append("rows"))
        feed.now += 1.5
        await painted(pilot)
        assert drawn == []
