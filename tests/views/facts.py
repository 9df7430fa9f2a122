"""Facts of made-up watches, at fixed times, for the real fold. Every builder returns a list of events."""

from __future__ import annotations

import random

from specscope import events as ev

T0 = 1_780_000_000.0  # 2026-05-28 20:26:40 UTC
START, RESTART = "17", "18"
RATES = (0.90, 0.82, 0.75, 0.68, 0.62, 0.57, 0.52, 0.48, 0.44, 0.40, 0.37, 0.34, 0.31, 0.29, 0.27)
ARGV = ["llama-server", "-m", "/models/granite-30b-Q5_K_M.gguf", "-md", "/models/granite-dflash.gguf"]
SPEC = [*ARGV, "--spec-type", "draft-dflash", "--spec-draft-n-max", "16"]


def found(target: str = "t0", port: int = 8080, at: float = T0) -> list[ev.Event]:
    """A server that is ready and says what it is."""
    return [
        ev.TargetFound(at=at, target=target, url=f"http://127.0.0.1:{port}", pid=4242, how="process"),
        ev.ServerChanged(at=at, target=target, state="ready"),
        ev.ServerStarted(at=at, target=target, by="http", token=START),
        ev.PropsRead(
            at=at, target=target, build="b11434", model_alias="granite-30b-Q5_K_M", n_ctx=262_144, total_slots=1
        ),
        ev.ProcessSeen(at=at, target=target, pid=4242, argv=SPEC),
        ev.ModelRead(at=at, target=target, role="drafter", path="/models/granite-dflash.gguf", block_size=16),
    ]


def sources(*, traced: bool = True, target: str = "t0", at: float = T0) -> list[ev.Event]:
    """HTTP and, when ``traced``, the log's cycle lines."""
    hint = "" if traced else "start the server with LLAMA_TRACE=1 to see widths"
    facts: list[ev.Event] = [
        ev.SourceAttached(at=at, target=target, source="http", tier="polled", detail="/slots, /metrics", hint=hint),
        ev.OwnCostSampled(at=at, cpu_pct=0.8, rss_bytes=61_000_000, requests_per_s=3.2),
    ]
    if traced:
        detail = "/var/log/llama-server.log"
        facts.append(ev.SourceAttached(at=at, target=target, source="log", tier="cycles", detail=detail))
        facts.append(
            ev.SourceLost(
                at=at, target=target, source="trace", reason="not permitted", hint="run as root, or setcap bpftrace"
            )
        )
    return facts


def counters(at: float, drafts: int, drafted: int, accepted: int, generated: int, *, target: str = "t0") -> ev.Event:
    """A read of /metrics with all slots idle."""
    return ev.CountersRead(
        at=at,
        target=target,
        idle=True,
        drafts=drafts,
        drafted=drafted,
        accepted=accepted,
        generated=generated,
        prompt=0,
    )


class Load:
    """Requests with cycles drawn from fixed rates by a fixed seed."""

    def __init__(self, seed: int = 1, target: str = "t0", width: int = 15, cycle_s: float = 0.0755) -> None:
        self.random = random.Random(seed)  # noqa: S311  a fixed sequence, not a secret
        self.target, self.width, self.cycle_s = target, width, cycle_s
        self.drafts = self.drafted = self.accepted = self.generated = 0

    def accepted_length(self, width: int) -> int:
        """How many of a draft's tokens survive."""
        length = 0
        while length < width and self.random.random() < RATES[length] / (RATES[length - 1] if length else 1.0):
            length += 1
        return length

    def begin(self, at: float, slot: int, task: int, prompt: int = 812) -> list[ev.Event]:
        """A request starts and has its first token."""
        return [
            ev.SlotChanged(
                at=at,
                target=self.target,
                slot=slot,
                n_ctx=262_144,
                speculative=True,
                busy=True,
                task=task,
                fill_tokens=prompt,
                processed_tokens=prompt,
                cached_tokens=0,
                decoded=0,
                params={"speculative.types": "draft-dflash", "temperature": 1.0},
            ),
            ev.RequestLaunched(at=at, target=self.target, slot=slot, task=task),
            ev.SlotChanged(
                at=at + 0.31,
                target=self.target,
                slot=slot,
                busy=True,
                task=task,
                fill_tokens=prompt + 1,
                processed_tokens=prompt,
                cached_tokens=40_000,
                decoded=1,
            ),
        ]

    def cycles(self, at: float, slot: int, task: int, count: int) -> list[ev.Event]:
        """Cycle lines of the log; every ninth draft is cut short."""
        facts: list[ev.Event] = []
        for number in range(count):
            width = self.width if number % 9 else max(1, self.width - 1 - self.random.randrange(self.width))
            length = self.accepted_length(width)
            when = (facts[-1].at if facts else at) + self.cycle_s * (0.9 + 0.2 * self.random.random())
            facts.append(
                ev.CycleLogged(at=when, target=self.target, slot=slot, task=task, drafted=width, accepted=length)
            )
            self.drafts, self.drafted, self.accepted = self.drafts + 1, self.drafted + width, self.accepted + length
            self.generated += length + 1
        decoded = 1 + sum(f.accepted + 1 for f in facts if isinstance(f, ev.CycleLogged))
        facts.append(
            ev.SlotStepped(
                at=facts[-1].at + 0.01,
                target=self.target,
                slot=slot,
                task=task,
                decoded=decoded,
                fill_tokens=40_812 + decoded,
            )
        )
        return facts

    def end(self, at: float, slot: int, task: int, facts: list[ev.Event], prompt: int = 812) -> list[ev.Event]:
        """The server's totals of a request, and its slot idle again."""
        mine = [f for f in facts if isinstance(f, ev.CycleLogged) and f.task == task]
        generated = 1 + sum(f.accepted + 1 for f in mine)
        self.generated += 1
        return [
            ev.RequestLogged(
                at=at,
                target=self.target,
                slot=slot,
                task=task,
                prompt_tokens=prompt,
                prompt_ms=310.0,
                generated=generated,
                generated_ms=1000 * self.cycle_s * len(mine),
                drafted=sum(f.drafted for f in mine),
                accepted=sum(f.accepted for f in mine),
            ),
            ev.SlotReleased(at=at, target=self.target, slot=slot, task=task, fill_tokens=prompt + generated),
            ev.SlotChanged(
                at=at,
                target=self.target,
                slot=slot,
                busy=False,
                task=task,
                fill_tokens=40_000 + prompt + generated,
                decoded=0,
            ),
        ]

    def requests(self, at: float, count: int, cycles: int, slot: int = 0, task: int = 100) -> list[ev.Event]:
        """Requests one after another on a slot."""
        facts: list[ev.Event] = []
        for number in range(count):
            mine = self.begin(at, slot, task + number) + self.cycles(at + 0.31, slot, task + number, cycles)
            at = mine[-1].at + 0.01
            facts += mine + self.end(at, slot, task + number, mine)
            at += 0.4
        return facts

    def count(self, at: float) -> ev.Event:
        """The server's counters, as they would be."""
        return counters(at, self.drafts, self.drafted, self.accepted, self.generated, target=self.target)


def exact(cycle_s: float = 0.0755) -> list[ev.Event]:
    """Four requests whose cycles equal the server's count, a mark, and a fifth that runs."""
    load = Load(cycle_s=cycle_s)
    facts = [*found(), *sources(), counters(T0 + 0.1, 0, 0, 0, 0)]
    facts += load.requests(T0 + 1, 4, 60)
    at = facts[-1].at + 0.3
    facts += [load.count(at), ev.Marked(at=at + 0.1, label="code")]
    facts += load.begin(at + 0.5, 0, 900) + load.cycles(at + 0.9, 0, 900, 70)
    return facts


def parted() -> list[ev.Event]:
    """The server counted more cycles than were seen."""
    load = Load()
    facts = [*found(), *sources(), counters(T0 + 0.1, 0, 0, 0, 0), *load.requests(T0 + 1, 3, 60)]
    load.drafts += 42
    load.drafted += 42 * 15
    return [*facts, load.count(facts[-1].at + 0.3)]


def two_slots() -> list[ev.Event]:
    """Two slots at work at once."""
    first, second = Load(1), Load(2)
    facts = first.begin(T0 + 1, 0, 7) + first.cycles(T0 + 1.4, 0, 7, 90)
    facts += second.begin(T0 + 2, 1, 8) + second.cycles(T0 + 2.4, 1, 8, 77)
    return [*found(), *sources(), *sorted(facts, key=lambda f: f.at)]


def polled(*, ended: bool = True) -> list[ev.Event]:
    """Cycles seen by polling alone: their widths are not known; two were missed."""
    load = Load(3)
    facts = [*found(), *sources(traced=False), counters(T0 + 0.1, 0, 0, 0, 0), *load.begin(T0 + 1, 0, 5)]
    decoded, at = 1, T0 + 1.4
    for number in range(110):
        length = load.accepted_length(15)
        load.drafts, load.drafted, load.accepted = load.drafts + 1, load.drafted + 15, load.accepted + length
        load.generated += length + 1
        decoded, at = decoded + length + 1, at + 0.075
        if number not in (40, 80):
            facts.append(
                ev.SlotStepped(at=at, slot=0, task=5, decoded=decoded, fill_tokens=812 + decoded, held_ms=20.0)
            )
    facts.append(ev.PollSampled(at=at, polls=165, steps=110, cycle_ms=75.0))
    load.generated += 1
    if ended:
        facts += [
            ev.SlotChanged(at=at + 0.1, slot=0, busy=False, task=5, fill_tokens=812 + decoded, decoded=0),
            load.count(at + 0.3),
        ]
    return facts


def plain() -> list[ev.Event]:
    """A server without speculation."""
    facts: list[ev.Event] = [
        *found(),
        *sources(traced=False),
        ev.SlotChanged(
            at=T0 + 1, slot=0, n_ctx=8192, speculative=False, busy=True, task=3, fill_tokens=100, processed_tokens=100
        ),
        ev.SlotChanged(at=T0 + 1.2, slot=0, busy=True, task=3, fill_tokens=101, decoded=1),
    ]
    facts[4] = ev.ProcessSeen(at=T0, pid=4242, argv=ARGV[:3])
    del facts[5]
    facts += [ev.SlotStepped(at=T0 + 1.2 + 0.016 * n, slot=0, task=3, decoded=1 + n) for n in range(1, 300)]
    return facts


def down() -> list[ev.Event]:
    """The server goes away in the middle of a request."""
    facts = exact()
    at = facts[-1].at + 1.0
    return [*facts, ev.ServerChanged(at=at, state="down", detail="connection refused")]


def restarted() -> list[ev.Event]:
    """The server comes back as another process and works again."""
    facts = down()
    at = facts[-1].at + 8.0
    facts += [ev.ServerChanged(at=at, state="ready"), ev.ServerStarted(at=at, by="http", token=RESTART)]
    load = Load(4)
    return facts + load.begin(at + 1, 0, 2) + load.cycles(at + 1.4, 0, 2, 30)


def two_targets() -> list[ev.Event]:
    """Two servers."""
    second = Load(5, target="t1")
    facts = second.begin(T0 + 1, 0, 2) + second.cycles(T0 + 1.4, 0, 2, 20)
    return [*exact(), *found("t1", 9931), *sources(target="t1"), *facts]
