"""The HTTP source against servers that are well, broken, hung, asleep, restarted, or none at all."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import ssl
import subprocess
from typing import TYPE_CHECKING

import fake_server as fake
import pytest
from fake_server import FakeServer, Llama, slot
from http_watch import PATIENCE_S, pollers, watch

from specscope import events as ev
from specscope.sources import address, counters, http_get, llama_http, slot_poller, slot_polling
from specscope.sources.answers import Verdict
from specscope.sources.llama_http import HttpSource
from specscope.sources.source import Clock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from http_watch import Watched


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Time limits that a test can wait for."""
    monkeypatch.setattr(http_get, "TIMEOUT_S", 0.4)
    monkeypatch.setattr(slot_poller, "TIMEOUT_S", 0.3)
    monkeypatch.setattr(slot_poller, "LATE_S", 0.5)
    monkeypatch.setattr(llama_http, "RETRY_S", 0.05)
    monkeypatch.setattr(llama_http, "FINISH_LOOK_S", 0.02)
    monkeypatch.setattr(counters, "IDLE_BEFORE_SCRAPE_S", 0.1)
    monkeypatch.setattr(slot_polling, "LOOK_S", 0.02)
    monkeypatch.setattr(llama_http, "ASLEEP_RETRY_S", 0.05)
    monkeypatch.setattr(slot_polling, "FIRST_RETRY_S", 0.1)
    monkeypatch.setattr(slot_polling, "LONGEST_RETRY_S", 0.2)
    monkeypatch.setattr(slot_polling, "HEALTH_S", 0.05)
    yield
    assert pollers() == []


async def some_rounds(watched: Watched, server: FakeServer, path: str = "/health", count: int = 4) -> None:
    """Wait until the server was asked so many more times."""
    before = server.seen[path]
    await watched.until(lambda: server.seen[path] >= before + count)


# --- a healthy server -------------------------------------------------------------------------------------------


async def test_a_healthy_server() -> None:
    llama = Llama()
    with FakeServer(llama.routes()) as server:
        async with watch(server.url) as watched:
            await watched.until_attached("http", "slots", "metrics")
            assert watched.state == "ready"
            assert watched.of(ev.PropsRead)[0].build == "b11434-1a2b3c4"
            await watched.until(lambda: watched.of(ev.CountersRead))
            assert watched.of(ev.CountersRead)[0].idle
            assert [s.id for s in watched.target.slots] == [0, 1]
            assert watched.fold.targets["t0"].sources["slots"].tier == "polled"
            assert watched.source.requests >= 4
        assert watched.target.epoch == 1
        assert server.seen["/metrics"] == 1, "each read resets the server's rate gauges"


async def test_the_counters_are_read_again_when_a_request_has_ended() -> None:
    llama = Llama()
    with FakeServer(llama.routes()) as server:
        async with watch(server.url) as watched:
            await watched.until(lambda: watched.of(ev.CountersRead))
            llama.slots = [slot(0, task=1, decoded=3), slot(1)]
            await watched.until(lambda: watched.target.slots[0].busy)
            llama.slots = [slot(0, task=1, busy=False), slot(1)]
            llama.drafts, llama.generated = 2, 9
            await watched.until(lambda: len(watched.of(ev.CountersRead)) == 2)
            last = watched.of(ev.CountersRead)[-1]
            assert (last.drafts, last.generated, last.idle) == (2, 9, True)


async def test_the_counters_are_not_called_idle_just_after_another_source_told_of_a_request() -> None:
    """What it told of that request may not all have been read: the read is repeated when the slots were idle longer."""
    llama = Llama()
    with FakeServer(llama.routes()) as server:
        async with watch(server.url) as watched:
            watched.source.wake()
            await watched.until(lambda: len(watched.of(ev.CountersRead)) == 2)
            first, second = watched.of(ev.CountersRead)
            assert (first.idle, second.idle) == (False, True)


async def test_a_request_that_no_look_at_the_slots_met_is_a_request_all_the_same() -> None:
    llama = Llama(slots=[slot(0, task=1, busy=False), slot(1)])
    with FakeServer(llama.routes()) as server:
        async with watch(server.url) as watched:
            await watched.until(lambda: watched.of(ev.CountersRead))
            llama.slots, llama.drafts = [slot(0, task=2, busy=False), slot(1)], 3
            await watched.until(lambda: len(watched.of(ev.CountersRead)) == 2)
            assert [(c.drafts, c.idle) for c in watched.of(ev.CountersRead)][-1] == (3, True)


async def test_the_end_of_a_watch_reads_what_the_last_request_counted() -> None:
    llama = Llama()
    with FakeServer(llama.routes()) as server:
        async with watch(server.url) as watched:
            await watched.until(lambda: watched.of(ev.CountersRead))
            watched.source.wake()
            await watched.source.finish()
            assert len(watched.of(ev.CountersRead)) == 2
            await watched.source.finish()
            assert len(watched.of(ev.CountersRead)) == 2, "nothing happened since"


@pytest.mark.parametrize("tls", ["/llama", "/a%20b/c"])
async def test_a_path_prefix(tls: str) -> None:
    routes = {f"{tls}{path}": route for path, route in Llama().routes().items()}
    with FakeServer(routes) as server:
        async with watch(f"{server.url}{tls}/") as watched:
            await watched.until_attached("http", "slots", "metrics")
        assert set(server.seen) == set(routes)


async def test_ipv6() -> None:
    try:
        server = FakeServer(Llama().routes(), host="::1").__enter__()
    except OSError:
        pytest.skip("no IPv6 here")
    with contextlib.ExitStack() as stack:
        stack.push(server)
        async with watch(server.url) as watched:
            await watched.until_attached("http", "slots", "metrics")


@pytest.fixture
def tls(tmp_path: Path) -> ssl.SSLContext:
    """A certificate of this machine's own making."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl here")
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    words = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=nobody"
    subprocess.run([*words.split(), "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


async def test_https_on_this_machine(tls: ssl.SSLContext) -> None:
    with FakeServer(Llama().routes(), tls=tls) as server:
        async with watch(server.url) as watched:
            await watched.until_attached("http", "slots", "metrics")


async def test_https_with_a_certificate_of_nobody(tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address, "_is_loopback", lambda _: False)
    with FakeServer(Llama().routes(), tls=tls) as server:
        async with watch(server.url, api_key="sk-hidden") as watched:
            await watched.until_state("down")
            assert "CERTIFICATE" in watched.target.server_detail.upper()
            assert not server.authorizations, "no key for whom it is not meant"


async def test_http_to_an_https_port_and_the_other_way_round(tls: ssl.SSLContext) -> None:
    with FakeServer(Llama().routes(), tls=tls) as server:
        async with watch(server.url.replace("https", "http")) as watched:
            await watched.until_state("down")
    with FakeServer(Llama().routes()) as server:
        async with watch(server.url.replace("http", "https")) as watched:
            await watched.until_state("down")


async def test_chunked_answers_and_connections_that_are_not_kept() -> None:
    llama = Llama()
    slots = b'[{"id":0,"n_ctx":8192,"speculative":true,"is_processing":false}]'
    closing = fake.raw(b"HTTP/1.0 200 OK\r\n\r\n" + slots)
    with FakeServer(llama.routes(slots=fake.in_turn(fake.chunked(slots), closing))) as server:
        async with watch(server.url) as watched:
            await watched.until_attached("slots", "metrics")
            await some_rounds(watched, server, "/slots")
            assert not [f for f in watched.of(ev.SourceLost) if f.source == "slots"]


async def test_an_old_shape_at_work_is_not_called_idle() -> None:
    with FakeServer(Llama().routes(slots=fake.reply(fake.body("slots_ik.json")))) as server:
        async with watch(server.url) as watched:
            await watched.until(lambda: watched.of(ev.CountersRead))
            assert not watched.of(ev.CountersRead)[0].idle


# --- keys ---------------------------------------------------------------------------------------------------------


async def test_a_wrong_key_is_tried_once() -> None:
    with FakeServer(Llama().routes(), key="right") as server:
        async with watch(server.url, api_key="wrong-key") as watched:
            await watched.until_state("needs_key")
            await some_rounds(watched, server)
            assert sum(server.refused.values()) == 1
            assert {watched.said(s) for s in ("http", "slots", "metrics")} == {"lost"}
            assert watched.detail("http") == "Invalid API Key"
            assert "LLAMA_API_KEY" in watched.of(ev.SourceLost)[0].hint
            assert "wrong-key" not in str(watched.facts)


async def test_a_key_that_only_slots_wants_is_tried_once() -> None:
    with FakeServer(Llama().routes(slots=fake.INVALID_KEY)) as server:
        async with watch(server.url) as watched:
            await watched.until_state("needs_key")
            await some_rounds(watched, server)
            assert server.seen["/slots"] == 1


async def test_the_right_key() -> None:
    with FakeServer(Llama().routes(), key="right-key") as server:
        async with watch(server.url, api_key="right-key") as watched:
            await watched.until_attached("http", "slots", "metrics")
            assert not server.refused
            assert "right-key" not in str(watched.facts) + repr(watched.source) + repr(watched.source.polling.poller)


async def test_a_key_is_met_again_when_the_server_was_away() -> None:
    llama = Llama()
    with FakeServer(llama.routes(), key="right") as server:
        port = server.port
        async with watch(server.url) as watched:
            await watched.until_state("needs_key")
            server.kill()
            await watched.until_state("down")
            with FakeServer(llama.routes(), port=port):
                await watched.until_attached("http", "slots", "metrics")


async def test_a_key_that_cannot_be_sent() -> None:
    with FakeServer(Llama().routes()) as server:
        async with watch(server.url, api_key="geheim\nschlüssel") as watched:
            await watched.until_state("needs_key")
            assert "geheim" not in str(watched.facts)
            assert not server.seen


async def test_another_source_finds_its_place_although_the_key_is_wrong() -> None:
    met: list[int] = []

    async def on_contact(_: ev.PropsRead | None) -> bool | None:
        met.append(1)
        return None

    with FakeServer(Llama().routes(), key="right") as server:
        async with watch(server.url, on_contact=on_contact) as watched:
            await watched.until_state("needs_key")
            assert met == [1]


async def test_that_it_is_there_is_told_before_the_other_sources_find_their_places() -> None:
    """Arming probes takes seconds, in which the log may tell cycles of it."""
    in_place = asyncio.Event()

    async def on_contact(_: ev.PropsRead | None) -> bool | None:
        await in_place.wait()
        return None

    with FakeServer(Llama().routes()) as server:
        async with watch(server.url, on_contact=on_contact) as watched:
            await watched.until_state("ready")
            assert watched.said("http") is None
            in_place.set()
            await watched.until_attached("http", "slots")
            assert [fact.state for fact in watched.of(ev.ServerChanged)] == ["ready"]


async def test_whoever_finds_the_server_gone_it_is_met_anew() -> None:
    """Polling asks too whether it is there; another process may answer before the next contact does."""
    met: list[int] = []

    async def on_contact(_: ev.PropsRead | None) -> bool | None:
        met.append(1)
        return True

    with FakeServer(Llama().routes()) as server:
        source = HttpSource(server.url, Clock(), on_contact=on_contact)
        for found in (Verdict("ready"), Verdict("down"), Verdict("hung"), Verdict("loading")):
            await source.contact()
            source.say(found)
        await source.contact()
    assert len(met) == 3, "at first, after down, and after loading; a server that hangs is there"


# --- endpoints that are off or broken -------------------------------------------------------------------------


async def test_slots_and_metrics_off() -> None:
    with FakeServer(Llama().routes(slots=fake.NO_SLOTS, metrics=fake.NO_METRICS)) as server:
        async with watch(server.url) as watched:
            await watched.until_lost("slots", "metrics")
            await some_rounds(watched, server)
            assert watched.state == "ready"
            assert "--slots" in watched.detail("slots")
            assert "--metrics" in watched.detail("metrics")
            assert (server.seen["/slots"], server.seen["/metrics"]) == (1, 1)
            await watched.source.finish()
        assert server.seen["/metrics"] == 1


async def test_slots_off_and_metrics_on() -> None:
    llama = Llama()
    with FakeServer(llama.routes(slots=fake.NO_SLOTS)) as server:
        async with watch(server.url) as watched:
            await watched.until_attached("metrics")
            assert not watched.of(ev.CountersRead)[0].idle
            llama.generated = 12
            await watched.source.finish()
            assert watched.of(ev.CountersRead)[-1].generated == 12


@pytest.mark.parametrize(
    ("metrics", "says"),
    [
        (fake.HTML, "no llama-server counter"),
        (fake.hang, "did not answer"),
        (fake.drip, "did not answer"),
        (fake.reset, ""),
        (fake.reply("boom", 500), "answered 500: boom"),
        (fake.reply("no", 403), "no"),
        (fake.INVALID_KEY, "Invalid API Key"),
        (fake.reply(b"x" * (5 << 20)), "more than 4 MiB"),
        (fake.reply("", 302, Location="/login"), "answered 302"),
    ],
)
async def test_broken_metrics_take_nothing_from_the_slots(metrics: fake.Route, says: str) -> None:
    llama = Llama()
    with FakeServer(llama.routes(metrics=metrics)) as server:
        async with watch(server.url) as watched:
            await watched.until_lost("metrics")
            assert says in watched.detail("metrics")
            llama.slots = [slot(0, task=1, decoded=3)]
            await watched.until(lambda: watched.target.slots[0].busy)
            assert watched.state == "ready"
            assert watched.said("slots") == "attached"


@pytest.mark.parametrize(
    ("slots", "says"),
    [
        (fake.HTML, "not JSON: "),
        (fake.reply('[{"id":0,"n_ctx":81'), "not JSON"),
        (fake.reply('{"error":"odd"}'), "not a list of slots"),
        (fake.reply("[" * 100_000), "/slots: "),
        (fake.reset, ""),
        (fake.raw(b"garbage\r\n\r\n"), "garbage"),
        (fake.raw(b""), "without response"),
        (fake.reply("boom", 500), "answered 500: boom"),
        (fake.reply("forbidden", 403), "forbidden"),
        (fake.reply("", 302, Location="/login"), "answered 302"),
        (fake.reply(b"[]" + b" " * (9 << 20)), "more than 8 MiB"),
        (fake.reply('[{"id":0}]', Content_Length="9"), "not JSON"),
        (fake.raw(b'HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\n[{"id":0'), "not JSON"),
        (fake.raw(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n[{"id"'), ""),
    ],
)
async def test_broken_slots_take_nothing_from_the_counters(slots: fake.Route, says: str) -> None:
    with FakeServer(Llama().routes(slots=slots)) as server:
        async with watch(server.url) as watched:
            await watched.until_lost("slots")
            assert says in watched.detail("slots")
            await watched.until_attached("metrics")
            assert watched.state == "ready"


@pytest.mark.parametrize("slots", [fake.hang, fake.drip])
async def test_slots_that_hang_while_health_answers(slots: fake.Route) -> None:
    llama = Llama()
    routes = llama.routes(slots=slots)
    with FakeServer(routes) as server:
        async with watch(server.url) as watched:
            await watched.until_state("hung")
            await watched.until_lost("slots")
            before = len(watched.of(ev.ServerChanged))
            await some_rounds(watched, server, "/slots", 2)
            assert len(watched.of(ev.ServerChanged)) == before, "it stays hung until /slots answers"
            routes["/slots"] = llama.routes()["/slots"]
            await watched.until_state("ready")
            await watched.until_attached("slots")
            assert watched.target.epoch == 1


async def test_slots_that_flip_between_good_and_bad() -> None:
    llama = Llama()
    flip = fake.in_turn(llama.routes()["/slots"], fake.reply("boom", 500))
    with FakeServer(llama.routes(slots=flip)) as server:
        async with watch(server.url) as watched:
            await watched.until_attached("slots", "metrics")
            await some_rounds(watched, server, "/slots", 6)
            assert not [f for f in watched.of(ev.SourceLost) if f.source == "slots"]
            assert watched.fold.targets["t0"].sources["slots"].missed >= 2
            assert server.seen["/metrics"] == 1


async def test_broken_slots_that_recover() -> None:
    llama = Llama()
    routes = llama.routes()
    good = routes["/slots"]
    with FakeServer(routes) as server:
        async with watch(server.url) as watched:
            await watched.until_attached("slots", "metrics")
            routes["/slots"] = fake.reply("boom", 500)
            await watched.until_lost("slots")
            routes["/slots"] = good
            await watched.until_attached("slots")
            assert watched.target.epoch == 1


@pytest.mark.parametrize(
    ("props", "says"),
    [(fake.NOT_FOUND, "404"), (fake.HTML, "no JSON object"), (fake.reset, ""), (fake.hang, "did not answer")],
)
async def test_broken_props_take_nothing_from_the_rest(props: fake.Route, says: str) -> None:
    with FakeServer(Llama().routes(props=props)) as server:
        async with watch(server.url) as watched:
            await watched.until_attached("http", "slots", "metrics")
            assert watched.state == "ready"
            assert says in watched.detail("http")


# --- what is no llama-server ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("routes", "state", "says"),
    [
        ({}, "not_llama", "no /health"),
        ({"/health": fake.HTML}, "not_llama", "Sign in"),
        ({"/health": fake.reply("", 200)}, "not_llama", "empty body"),
        ({"/health": fake.reply("", 302, Location="http://elsewhere/x?k=SECRET")}, "error", "to elsewhere/x"),
        ({"/health": fake.reply("<h1>Bad Gateway</h1>", 502)}, "error", "Bad Gateway"),
        ({"/health": fake.LOADING}, "loading", "Loading model"),
        ({"/health": fake.raw(b"\x00\x01\x02")}, "down", ""),
        ({"/health": fake.hang}, "down", "did not answer"),
        ({"/health": fake.drip}, "down", "did not answer"),
    ],
)
async def test_what_is_no_server_to_watch_is_left_alone(routes: dict[str, fake.Route], state: str, says: str) -> None:
    with FakeServer(routes) as server:
        async with watch(server.url) as watched:
            await watched.until_state(state)
            assert says in watched.target.server_detail
            assert "SECRET" not in str(watched.facts)
            await some_rounds(watched, server, count=2)
            assert watched.said("http") == "lost"
            assert set(server.seen) == {"/health"}


async def test_llama_swap_is_asked_only_for_what_runs() -> None:
    routes = {"/health": fake.reply("OK", 200, "text/plain"), "/running": fake.reply(fake.body("running_swap.json"))}
    with FakeServer(routes) as server:
        async with watch(server.url) as watched:
            await watched.until_state("not_llama")
            assert "a at http://127.0.0.1:5801" in watched.target.server_detail
            await some_rounds(watched, server)
            assert set(server.seen) == {"/health", "/running"}
            assert server.seen["/running"] == 1
            assert len(watched.of(ev.ServerChanged)) == 1


async def test_a_router_is_asked_for_nothing_that_loads_or_evicts_a_model() -> None:
    routes = Llama().routes(props=fake.reply(fake.body("props_router.json")))
    routes["/v1/models"] = fake.reply(fake.body("models_router.json"))
    with FakeServer(routes) as server:
        async with watch(server.url) as watched:
            await watched.until_state("router")
            assert "org/qwen:Q4 at http://127.0.0.1:58783" in watched.target.server_detail
            await some_rounds(watched, server)
            assert set(server.seen) == {"/health", "/props", "/v1/models"}
            assert (server.seen["/props"], server.seen["/v1/models"]) == (1, 1)
            assert watched.said("slots") == "lost"


async def test_a_router_that_only_its_error_gives_away() -> None:
    error = '{"error":{"code":400,"message":"model name is missing from the request","type":"invalid_request_error"}}'
    with FakeServer(Llama().routes(slots=fake.reply(error, 400))) as server:
        async with watch(server.url) as watched:
            await watched.until_state("router")
            await some_rounds(watched, server)
            assert server.seen["/slots"] == 1
            assert watched.state == "router"


# --- restarts ---------------------------------------------------------------------------------------------------


async def test_a_killed_server_comes_back_as_a_new_one() -> None:
    llama = Llama(slots=[slot(0, task=900, decoded=50)], drafts=70, generated=700)
    with FakeServer(llama.routes()) as server:
        port = server.port
        async with watch(server.url) as watched:
            await watched.until_attached("slots", "metrics")
            server.kill()
            await watched.until_state("down")
            assert {watched.said(s) for s in ("http", "slots", "metrics")} == {"lost"}
            assert watched.target.slots[0].busy is not None
            new = Llama(slots=[slot(0)], started="222")
            with FakeServer(new.routes(), port=port):
                await watched.until_attached("http", "slots", "metrics")
                await watched.until(lambda: watched.of(ev.CountersRead)[-1].generated == 0)
                assert watched.target.epoch == 2
                assert len(watched.target.restarts) == 1
                assert watched.target.slots[0].task is None


@pytest.mark.parametrize("token", ["222", None], ids=["token", "no token"])
async def test_a_server_that_is_back_before_the_next_poll_is_a_new_one(token: str | None) -> None:
    llama = Llama(
        slots=[slot(0, task=900, busy=False), slot(1)], drafts=70, generated=700, started="111" if token else None
    )
    with FakeServer(llama.routes()) as server:
        async with watch(server.url) as watched:
            await watched.until_attached("slots", "metrics")
            llama.slots, llama.drafts, llama.generated, llama.started = [slot(0), slot(1)], 0, 0, token
            server.drop_connections()
            await watched.until(lambda: watched.target.epoch == 2)
            await watched.until(lambda: watched.of(ev.CountersRead)[-1].generated == 0)
            assert watched.target.slots[0].task is None
            await some_rounds(watched, server, "/slots")
            assert watched.target.epoch == 2, "one restart, however many told it"


async def test_a_new_connection_to_the_same_server_is_no_restart() -> None:
    llama = Llama(slots=[slot(0, task=900, busy=False)])
    with FakeServer(llama.routes()) as server:
        async with watch(server.url) as watched:
            await watched.until_attached("slots", "metrics")
            for _ in range(3):
                server.drop_connections()
                await some_rounds(watched, server, "/slots")
            assert watched.target.epoch == 1
            assert watched.state == "ready"


async def test_an_unreachable_server_that_proves_to_be_the_same_is_no_restart() -> None:
    llama = Llama(slots=[slot(0, task=900, busy=False)])
    routes = llama.routes()
    with FakeServer(routes) as server:
        port = server.port
        async with watch(server.url) as watched:
            await watched.until_attached("slots", "metrics")
            server.kill()
            await watched.until_state("down")
            with FakeServer(routes, port=port):
                await watched.until_attached("slots", "metrics")
                assert watched.target.epoch == 1


async def test_loading_is_followed_by_ready() -> None:
    llama = Llama()
    routes = llama.routes(health=fake.LOADING)
    with FakeServer(routes) as server:
        async with watch(server.url) as watched:
            await watched.until_state("loading")
            assert "Loading model" in watched.target.server_detail
            routes["/health"] = llama.routes()["/health"]
            await watched.until_attached("http", "slots", "metrics")
            assert watched.target.epoch == 1


async def test_a_health_that_hangs_later_is_no_restart() -> None:
    llama = Llama()
    routes = llama.routes()
    with FakeServer(routes) as server:
        async with watch(server.url) as watched:
            await watched.until_attached("slots", "metrics")
            routes["/health"] = routes["/slots"] = fake.hang
            await watched.until_state("hung")
            routes |= llama.routes()
            await watched.until_state("ready")
            await watched.until_attached("slots")
            assert watched.target.epoch == 1


# --- sleepers -----------------------------------------------------------------------------------------------------


async def test_a_sleeping_server_is_not_woken() -> None:
    llama = Llama(asleep=True)
    with FakeServer(llama.routes()) as server:
        async with watch(server.url) as watched:
            await watched.until_state("sleeping")
            await some_rounds(watched, server)
            assert set(server.seen) == {"/health", "/props"}
            assert "wake" in watched.detail("slots")
            assert len(watched.of(ev.PropsRead)) == 1
            llama.asleep = False
            await watched.until_attached("slots", "metrics")
            assert watched.target.epoch == 1


async def test_a_server_that_wants_to_sleep_is_left_alone_until_something_begins() -> None:
    llama = Llama()
    with FakeServer(llama.routes()) as server:
        async with watch(server.url, sleep_idle_s=0.2) as watched:
            await watched.until(lambda: watched.said("slots") and "paused" in watched.detail("slots"))
            await watched.until(lambda: watched.source.polling.poller and watched.source.polling.poller.paused)
            asked = (server.seen["/slots"], server.seen["/metrics"])
            await some_rounds(watched, server, "/props")
            assert (server.seen["/slots"], server.seen["/metrics"]) == asked
            llama.slots = [slot(0, task=1, decoded=2)]
            watched.source.wake()
            await watched.until(lambda: watched.target.slots[0].busy)
            assert "paused" not in watched.detail("slots")
            llama.slots, llama.asleep = [slot(0, task=1, busy=False)], False
            await watched.until(lambda: "paused" in watched.detail("slots"))
            llama.asleep = True
            await watched.until_state("sleeping")
            asked = (server.seen["/slots"], server.seen["/metrics"])
            await some_rounds(watched, server, "/props")
            assert (server.seen["/slots"], server.seen["/metrics"]) == asked


# --- its life -----------------------------------------------------------------------------------------------------


async def test_who_tells_the_cycles_decides_the_tier() -> None:
    with FakeServer(Llama().routes()) as server:
        async with watch(server.url) as watched:
            await watched.until_attached("slots", "metrics")
            watched.source.relax(relaxed=True)
            watched.source.relax(relaxed=True)
            watched.source.relax(relaxed=False)
            tiers = [f.tier for f in watched.of(ev.SourceAttached) if f.source == "slots"]
            assert tiers == ["polled", "totals", "polled"]


@pytest.mark.parametrize("path", ["health", "props", "slots", "metrics"])
async def test_a_watch_ends_while_an_endpoint_hangs(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_get, "TIMEOUT_S", 1000.0)
    monkeypatch.setattr(slot_poller, "TIMEOUT_S", 1000.0)
    monkeypatch.setattr(slot_poller, "LATE_S", 1000.0)
    with FakeServer(Llama().routes(**{path: fake.hang})) as server:
        async with watch(server.url) as watched:
            await watched.until(lambda: server.seen[f"/{path}"])
            async with asyncio.timeout(PATIENCE_S):
                await watched.source.finish()


async def test_a_mistake_in_on_contact_ends_nothing() -> None:
    async def on_contact(_: ev.PropsRead | None) -> bool | None:
        raise RuntimeError("no such process")

    with FakeServer(Llama().routes()) as server:
        async with watch(server.url, on_contact=on_contact) as watched:
            await watched.until_attached("http", "slots", "metrics")
            assert "no such process" in watched.detail("process")


async def test_nothing_is_reported_after_the_end() -> None:
    llama = Llama()
    with FakeServer(llama.routes()) as server:
        async with watch(server.url) as watched:
            await watched.until_attached("slots")
        count = len(watched.facts)
        await asyncio.sleep(0)
        assert len(watched.facts) == count


async def test_nothing_listens() -> None:
    with FakeServer({}) as server:
        url = server.url
    async with watch(url) as watched:
        await watched.until_state("down")
        assert watched.target.server_detail == "Connection refused"


async def test_a_name_that_nobody_has() -> None:
    async with watch("http://no-such-host.invalid:8080") as watched:
        await watched.until_state("down")
        assert watched.target.server_detail


def test_what_is_no_address_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="HOST"):
        HttpSource("http://", Clock())
