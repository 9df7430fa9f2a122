"""Python frames of a server inside Python, as text and JSON."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from specscope.events import StacksSampled

if TYPE_CHECKING:
    from collections.abc import Iterable

Json = dict[str, Any]


def merged(spans: Iterable[StacksSampled]) -> StacksSampled | None:
    """Several spans as one; None without any.

    A function's rows are one row, named with the line it was seen at in the span that saw it most.
    """
    taken = list(spans)
    if not taken:
        return None
    counts, named = Counter[tuple[str, str]](), dict[tuple[str, str], tuple[int, str]]()
    for span in taken:
        for frame, thread, samples in _rows(span):
            key = (frame.rpartition(":")[0] or frame, thread)
            counts[key] += samples
            named[key] = max(named.get(key, (0, "")), (samples, frame))
    rows = [(named[key][1], key[1], samples) for key, samples in counts.most_common()]
    return StacksSampled(
        at=taken[-1].at,
        target=taken[-1].target,
        span_s=sum(span.span_s for span in taken),
        samples=sum(span.samples for span in taken),
        frames=[(frame, samples) for frame, _, samples in rows],
        threads=[thread for _, thread, _ in rows],
    )


def stacks_json(stacks: StacksSampled | None) -> Json | None:
    """Each frame with the share of the time in which its thread was at work in it; null where nothing was sampled."""
    if stacks is None:
        return None
    return {
        "span_s": stacks.span_s,
        "samples": stacks.samples,
        "frames": [
            {"frame": frame, "share": _share(samples, stacks), "thread": thread or None}
            for frame, thread, samples in _rows(stacks)
        ],
    }


def stacks_text(stacks: StacksSampled) -> str:
    """A table, the greatest share first."""
    said = f"{stacks.samples:,} samples in {stacks.span_s:.1f} s"
    rows = list(_rows(stacks))
    if not rows:
        return f"no Python frame was at work ({said})"
    width = max(len(frame) for frame, _, _ in rows)
    lines = [
        f"{100 * _share(samples, stacks):4.0f} %  {frame:{width}}  {thread}".rstrip() for frame, thread, samples in rows
    ]
    return "\n".join([f"{' share':6}  {'frame':{width}}  thread", *lines, f"of the time of one thread, {said}"])


def _rows(stacks: StacksSampled) -> Iterable[tuple[str, str, int]]:
    threads = stacks.threads or [""] * len(stacks.frames)
    return ((frame, thread, samples) for (frame, samples), thread in zip(stacks.frames, threads, strict=False))


def _share(samples: int, stacks: StacksSampled) -> float:
    return samples / stacks.samples if stacks.samples else 0.0
