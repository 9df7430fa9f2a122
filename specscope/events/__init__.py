"""Every fact a source can report: frozen, timed, a closed tagged union.

Facts are what was seen, never what follows from it. ``at`` is seconds since the Unix epoch on a clock that
never goes backwards within one watch (wall time at its start plus the monotonic time since). ``target`` names
the watched server (``t0``, ``t1``, ...). A field that is ``None`` was not seen; it is never a zero.
"""

from __future__ import annotations

from typing import TypeAlias

from specscope.events.fact import TIERS, Fact, Json, ServerState, Tier
from specscope.events.gpu import MACHINE, GpuFound, GpuLinkRead, GpuLost, GpuMemoryRead, GpuSampled
from specscope.events.host import ModelRead, ProcessSampled, ProcessSeen
from specscope.events.log import (
    BufferLogged,
    CycleLogged,
    LogSaid,
    RequestLaunched,
    RequestLogged,
    RequestProgressed,
    SlotReleased,
    StatisticsLogged,
)
from specscope.events.server import (
    CountersRead,
    PollSampled,
    PropsRead,
    ServerChanged,
    ServerStarted,
    SlotChanged,
    SlotStepped,
)
from specscope.events.stream import StreamEnded, StreamStepped
from specscope.events.trace import (
    CopiesTraced,
    CycleTraced,
    DraftDropped,
    RequestBegan,
    StacksSampled,
    StallsSampled,
    TraceStarted,
    TurnTraced,
)
from specscope.events.watch import (
    EventsMissed,
    Marked,
    OwnCostSampled,
    SourceAttached,
    SourceLost,
    TargetFound,
    WatchEnded,
)

Event: TypeAlias = (
    TargetFound
    | SourceAttached
    | SourceLost
    | EventsMissed
    | OwnCostSampled
    | Marked
    | WatchEnded
    | ServerChanged
    | ServerStarted
    | PropsRead
    | SlotChanged
    | SlotStepped
    | PollSampled
    | CountersRead
    | RequestLaunched
    | CycleLogged
    | RequestProgressed
    | RequestLogged
    | SlotReleased
    | StatisticsLogged
    | LogSaid
    | BufferLogged
    | StreamStepped
    | StreamEnded
    | TraceStarted
    | RequestBegan
    | CycleTraced
    | DraftDropped
    | TurnTraced
    | CopiesTraced
    | StallsSampled
    | StacksSampled
    | ModelRead
    | ProcessSeen
    | ProcessSampled
    | GpuFound
    | GpuSampled
    | GpuMemoryRead
    | GpuLinkRead
    | GpuLost
)

__all__ = [
    "MACHINE",
    "TIERS",
    "BufferLogged",
    "CopiesTraced",
    "CountersRead",
    "CycleLogged",
    "CycleTraced",
    "DraftDropped",
    "Event",
    "EventsMissed",
    "Fact",
    "GpuFound",
    "GpuLinkRead",
    "GpuLost",
    "GpuMemoryRead",
    "GpuSampled",
    "Json",
    "LogSaid",
    "Marked",
    "ModelRead",
    "OwnCostSampled",
    "PollSampled",
    "ProcessSampled",
    "ProcessSeen",
    "PropsRead",
    "RequestBegan",
    "RequestLaunched",
    "RequestLogged",
    "RequestProgressed",
    "ServerChanged",
    "ServerStarted",
    "ServerState",
    "SlotChanged",
    "SlotReleased",
    "SlotStepped",
    "SourceAttached",
    "SourceLost",
    "StacksSampled",
    "StallsSampled",
    "StatisticsLogged",
    "StreamEnded",
    "StreamStepped",
    "TargetFound",
    "Tier",
    "TraceStarted",
    "TurnTraced",
    "WatchEnded",
]
