"""Facts for tests, one short call each. Times are seconds after :data:`T0`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specscope import events as ev
from specscope.session.fold import folded

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from specscope.events.trace import CopyOwner
    from specscope.session.fold import Fold
    from specscope.session.state import Target

T0 = 1_780_000_000.0


def found(at: float = 0.0, url: str | None = "http://127.0.0.1:8080", **fields: object) -> ev.TargetFound:
    return ev.TargetFound(at=T0 + at, url=url, **fields)


def attached(source: str, tier: ev.Tier, at: float = 0.0, **fields: object) -> ev.SourceAttached:
    return ev.SourceAttached(at=T0 + at, source=source, tier=tier, **fields)


def lost(source: str, at: float = 0.0, reason: str = "gone") -> ev.SourceLost:
    return ev.SourceLost(at=T0 + at, source=source, reason=reason)


def missed(source: str, count: int = 1, at: float = 0.0) -> ev.EventsMissed:
    return ev.EventsMissed(at=T0 + at, source=source, count=count)


def mark(label: str, at: float = 0.0) -> ev.Marked:
    return ev.Marked(at=T0 + at, label=label)


def server(state: ev.ServerState, at: float = 0.0) -> ev.ServerChanged:
    return ev.ServerChanged(at=T0 + at, state=state)


def started(token: str, by: str = "http", at: float = 0.0) -> ev.ServerStarted:
    return ev.ServerStarted(at=T0 + at, token=token, by=by)


def props(at: float = 0.0, **fields: object) -> ev.PropsRead:
    return ev.PropsRead(at=T0 + at, **fields)


def said(code: str, at: float = 0.0, **fields: str) -> ev.LogSaid:
    return ev.LogSaid(at=T0 + at, code=code, fields=fields)


def process(line: str, env: dict[str, str] | None = None, at: float = 0.0) -> ev.ProcessSeen:
    return ev.ProcessSeen(at=T0 + at, pid=4242, argv=["llama-server", *line.split()], env=env)


def model(role: str = "target", **fields: object) -> ev.ModelRead:
    return ev.ModelRead(at=T0, role=role, path=f"/models/{role}.gguf", **fields)  # type: ignore[arg-type]


# --- a request as each source tells it -----------------------------------------------------------------------------


def cycle(
    at: float = 1.0, w: int = 15, a: int = 5, *, slot: int = 0, task: int = 1, **fields: object
) -> ev.CycleLogged:
    return ev.CycleLogged(at=T0 + at, slot=slot, task=task, drafted=w, accepted=a, **fields)


def launched(at: float = 0.5, *, slot: int = 0, task: int = 1, **fields: object) -> ev.RequestLaunched:
    return ev.RequestLaunched(at=T0 + at, slot=slot, task=task, **fields)


def logged(at: float = 9.0, *, slot: int = 0, task: int = 1, **fields: object) -> ev.RequestLogged:
    return ev.RequestLogged(at=T0 + at, slot=slot, task=task, **fields)


def released(at: float = 9.0, *, slot: int = 0, task: int = 1, **fields: object) -> ev.SlotReleased:
    return ev.SlotReleased(at=T0 + at, slot=slot, task=task, **fields)


def busy(at: float = 0.5, *, slot: int = 0, task: int = 1, decoded: int = 0, **fields: object) -> ev.SlotChanged:
    return ev.SlotChanged(at=T0 + at, slot=slot, busy=True, task=task, decoded=decoded, **fields)


def idle(at: float = 9.0, *, slot: int = 0, task: int | None = 1, **fields: object) -> ev.SlotChanged:
    return ev.SlotChanged(at=T0 + at, slot=slot, busy=False, task=task, decoded=0, **fields)


def step(
    at: float, decoded: int, *, slot: int = 0, task: int = 1, held_ms: float | None = 5.0, **fields: object
) -> ev.SlotStepped:
    return ev.SlotStepped(at=T0 + at, slot=slot, task=task, decoded=decoded, held_ms=held_ms, **fields)


def chunk(
    at: float, generated: int, drafted: int | None = None, accepted: int | None = None, **fields: object
) -> ev.StreamStepped:
    fields = {"request": "r1", "slot": 0} | fields
    return ev.StreamStepped(at=T0 + at, generated=generated, drafted=drafted, accepted=accepted, **fields)


def streamed(at: float = 9.0, **fields: object) -> ev.StreamEnded:
    return ev.StreamEnded(at=T0 + at, **({"request": "r1", "slot": 0} | fields))


def counters(
    at: float, drafts: int | None, drafted: int | None, accepted: int | None, *, idle: bool = True, **fields: object
) -> ev.CountersRead:
    return ev.CountersRead(at=T0 + at, idle=idle, drafts=drafts, drafted=drafted, accepted=accepted, **fields)


def sampled(at: float = 9.0, *, polls: int, steps: int) -> ev.PollSampled:
    return ev.PollSampled(at=T0 + at, polls=polls, steps=steps)


def statistics(
    at: float, drafts: int, generate_ms: float | None, *, method: str = "draft-dflash", **fields: object
) -> ev.StatisticsLogged:
    fields = {"drafts_accepted": 0, "drafted": 0, "accepted": 0} | fields
    return ev.StatisticsLogged(at=T0 + at, method=method, drafts=drafts, generate_ms=generate_ms, **fields)


def usage(
    at: float = 5.0,
    *,
    threads: Sequence[tuple[str, float]] = (),
    cpu_pct: float | None = None,
    accelerated: bool | None = None,
) -> ev.ProcessSampled:
    return ev.ProcessSampled(at=T0 + at, cpu_pct=cpu_pct, threads=list(threads), accelerated=accelerated)


# --- what a trace tells ---------------------------------------------------------------------------------------------


def tracing(mode: str = "auto", at: float = 0.0, **fields: object) -> ev.TraceStarted:
    return ev.TraceStarted(at=T0 + at, mode=mode, **fields)  # type: ignore[arg-type]


def began(at: float = 0.6, *, slot: int = 0) -> ev.RequestBegan:
    return ev.RequestBegan(at=T0 + at, slot=slot)


def traced(at: float = 1.0, w: int = 15, a: int = 5, *, slot: int = 0, **fields: object) -> ev.CycleTraced:
    return ev.CycleTraced(at=T0 + at, slot=slot, drafted=w, accepted=a, **fields)


def dropped(at: float = 1.0, w: int = 15, *, slot: int = 0) -> ev.DraftDropped:
    return ev.DraftDropped(at=T0 + at, slot=slot, drafted=w)


def turn(at: float = 1.0, whole_us: int = 13_000, *, cycles: int = 1, **fields: object) -> ev.TurnTraced:
    return ev.TurnTraced(at=T0 + at, whole_us=whole_us, cycles=cycles, **fields)


def copies(
    at: float,
    rows: list[tuple[CopyOwner, int, int]],
    *,
    turns: int,
    span_s: float = 1.0,
    apart: list[tuple[int, int]] | None = None,
) -> ev.CopiesTraced:
    return ev.CopiesTraced(at=T0 + at, span_s=span_s, turns=turns, rows=rows, apart=apart)


def stalls(at: float, waiting: float, idle: float, *, span_s: float = 0.25, cycles: int = 17) -> ev.StallsSampled:
    """A burst in which these shares of the time were waited and idle."""
    us = span_s * 1e6
    return ev.StallsSampled(
        at=T0 + at,
        span_s=span_s,
        cycles=cycles,
        wait_us=round(waiting * us),
        idle_us=round(idle * us),
        waits=2 * cycles,
        submits=3 * cycles,
    )


# --- the machine's GPUs ---------------------------------------------------------------------------------------------


def gpu(index: int = 0, at: float = 0.0, **fields: object) -> ev.GpuFound:
    return ev.GpuFound(at=T0 + at, target=ev.MACHINE, index=index, **fields)


def gpu_now(at: float, power_w: float | None = None, *, index: int = 0, **fields: object) -> ev.GpuSampled:
    return ev.GpuSampled(at=T0 + at, target=ev.MACHINE, index=index, power_w=power_w, **fields)


def gpu_memory(
    at: float, used_bytes: int | None = None, *, index: int = 0, pids: object = None, **fields: object
) -> ev.GpuMemoryRead:
    return ev.GpuMemoryRead(at=T0 + at, target=ev.MACHINE, index=index, used_bytes=used_bytes, processes=pids, **fields)


def gpu_link(at: float, energy_j: float | None = None, *, index: int = 0, **fields: object) -> ev.GpuLinkRead:
    return ev.GpuLinkRead(at=T0 + at, target=ev.MACHINE, index=index, energy_j=energy_j, **fields)


def gpu_lost(at: float, reason: str = "fallen off the bus", *, index: int = 0) -> ev.GpuLost:
    return ev.GpuLost(at=T0 + at, target=ev.MACHINE, index=index, reason=reason)


# --- what comes of them ---------------------------------------------------------------------------------------------


def fold(*facts: ev.Event) -> Fold:
    """A fold that has taken all facts."""
    return folded(facts)


def seen(*facts: ev.Event) -> Target:
    """The one target's state after all facts."""
    (target,) = fold(*facts).view().targets
    return target


def by_method(target: Target) -> tuple[tuple[object, ...], ...]:
    """(method, cycles, drafted, accepted) of each row."""
    return tuple((row.name, row.cycles, row.drafted, row.accepted) for row in target.by_method)


def of_log(cycles: Iterable[tuple[int, int]], *, slot: int = 0, task: int = 1, at: float = 1.0) -> list[ev.Event]:
    """A request as the log tells it: launched, its cycles 20 ms apart."""
    lines: list[ev.Event] = [launched(at - 0.1, slot=slot, task=task)]
    return lines + [cycle(at + 0.02 * i, w, a, slot=slot, task=task) for i, (w, a) in enumerate(cycles)]
