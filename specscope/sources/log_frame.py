"""What stands around a line of a log, and whether the line is worth a look. Pure: text in, text out.

What may be in a log is never trusted: a line is read only up to where prose of a request may begin.
"""

from __future__ import annotations

import re
from typing import Annotated, Final, NamedTuple

import msgspec

HEAD_CHARS: Final = 4096
"""How much of a line is read."""

_PREFIX_CHARS: Final = 200
_STAMP = re.compile(r"(?<![\d.])(\d{1,9})\.(\d\d)\.(\d{3})\.(\d{3}) +[IWED] ")
_PORT = re.compile(r"(?:^|(?<=\s))\[ *(\d{1,5})\] ")
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_PROSE_MARKS: Final = ("{", '_text="', 'to_send="', "example_format: ", "Parsing ")


class _JsonLine(msgspec.Struct):
    """A line of --log-jsonl (``msg``, ``time`` in microseconds), or of Docker's json-file driver (``log``)."""

    msg: str | None = None
    log: str | None = None
    time: Annotated[int, msgspec.Meta(ge=0, le=2**53)] | str | None = None


_JSON: Final = msgspec.json.Decoder(_JsonLine)


class Framed(NamedTuple):
    """What a line says, freed of what stands around it."""

    text: str
    child: int | None
    stamp_us: int | None


def frame(text: str) -> Framed:
    """Take a line apart: JSON, colours, a router's ``[PORT]``, the server's stamp, and prose cut off.

    A stamp ``M.SS.mmm.uuu`` is minutes (growing past 60), seconds, milliseconds, microseconds since the start.
    """
    stamp_us: int | None = None
    start = text.find('{"')
    if start >= 0 and ('"msg"' in text or '"log"' in text):
        try:
            entry = _JSON.decode(text[start:])
        except msgspec.DecodeError:
            pass
        else:
            stamp_us = entry.time if isinstance(entry.time, int) else None
            text = text[:start] + (entry.msg or entry.log or "")[:HEAD_CHARS]
    if "\x1b" in text:
        text = _COLOUR.sub("", text)
    for mark in _PROSE_MARKS:
        if mark in text:
            text = text[: text.index(mark)]
    port = _PORT.search(text, 0, _PREFIX_CHARS) if "] " in text else None
    if port:
        text = text[port.end() :]
    if stamp_us is None:
        stamp = _STAMP.match(text) or _STAMP.search(text, 0, _PREFIX_CHARS)
        if stamp:
            minutes, seconds, millis, micros = stamp.groups()
            stamp_us = (int(minutes) * 60 + int(seconds)) * 1_000_000 + int(millis) * 1_000 + int(micros)
    return Framed(text, int(port[1]) if port else None, stamp_us)


def worth_reading(text: str) -> bool:
    """Whether any pattern can be in the line: substring tests only, the hottest lines' first."""
    if "| task " in text:
        return (
            "draft tokens" in text
            or "print_timing" in text
            or "processing" in text
            or "context shift" in text
            or "selected slot" in text
        )
    if "draft candidate" in text:  # at -lv 5 several a cycle
        return False
    return (
        "draft" in text
        or "eval time" in text
        or "is processing" in text
        or "specu" in text
        or "model" in text
        or "released" in text
        or "_TRACE" in text
        or "listening" in text
        or "initializing" in text
        or " to GPU" in text
        or "size" in text
        or "slot context" in text
        or "backend " in text
        or "argument" in text
        or "nauthorized" in text
        or "build" in text
        or "verbosity" in text
        or "sleeping" in text
        or "cleaning" in text
        or "cancel task" in text
        or "n_parallel" in text
        or "CUDA graphs" in text
        or "graph reuse" in text
        or "partial " in text
        or "MiB free" in text
        or "memory" in text
        or ("graph" in text and "nodes" in text)
    )
