"""What ``py-spy record --format raw --threads`` prints, as frames with the samples in which they were at work.

One line is one stack: ``thread (4711): NAME;outermost (file:line);...;innermost (file:line) SAMPLES``; an unnamed
thread lacks ``: NAME``. Lines of py-spy's own begin with ``py-spy>`` or ``Error:`` (0.4.3, src/main.rs).
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Final, NamedTuple

MAX_FRAMES: Final = 50

_STACK: Final = re.compile(r"thread \((?P<id>\w+)\)(?:: (?P<name>[^;]*))?;(?P<frames>.*) (?P<samples>\d+)")
_FRAME: Final = re.compile(r"(?P<function>.*) \((?P<file>.*?)(?::(?P<line>\d+))?\)")
_HOME: Final = re.compile(r"(?:/home/[^/]+|/Users/[^/]+|/root)/")
_ENDED: Final = re.compile(r"py-spy> Wrote .* Errors: (?P<errors>\d+)")


class Stack(NamedTuple):
    """A thread's innermost Python frame, and in how many samples it was at work there."""

    thread_id: str
    thread: str
    function: str
    file: str
    line: int
    samples: int


def read_stack(text: str) -> Stack | None:
    """One line of the raw format; None for any other line."""
    stack = _STACK.fullmatch(text)
    if stack is None:
        return None
    innermost = stack["frames"].rpartition(";")[2]
    frame = _FRAME.fullmatch(innermost)
    thread = stack["name"] or f"thread {stack['id']}"
    function, file, line = (frame["function"], frame["file"], frame["line"]) if frame else (innermost, "", None)
    return Stack(stack["id"], thread, function, short_path(file), int(line or 0), int(stack["samples"]))


def short_path(path: str) -> str:
    """The last two parts of a path, the name of a home folder never among them."""
    return "/".join(_HOME.sub("", path, count=1).split("/")[-2:])


def read_errors(text: str) -> int | None:
    """How many samples could not be taken, from the line that py-spy ends with; None for any other line."""
    ended = _ENDED.fullmatch(text)
    return int(ended["errors"]) if ended else None


class StackCount:
    """Samples by thread, function and file.

    The lines of one function are counted together, so that a loop of several lines is one row; it is named with the
    line that was seen most.
    """

    def __init__(self) -> None:
        self._lines: dict[tuple[str, str, str, str], Counter[int]] = {}

    def add(self, stack: Stack) -> None:
        """Count one in."""
        key = (stack.thread_id, stack.thread, stack.function, stack.file)
        self._lines.setdefault(key, Counter())[stack.line] += stack.samples

    @property
    def busiest(self) -> int:
        """The samples of the thread that was at work most: no fewer were taken."""
        threads = Counter[str]()
        for (thread_id, *_), lines in self._lines.items():
            threads[thread_id] += lines.total()
        return max(threads.values(), default=0)

    def rows(self) -> list[tuple[str, str, int]]:
        """(frame, thread, samples), most often first."""
        rows = [
            (_named(function, file, lines.most_common(1)[0][0]), thread, lines.total())
            for (_, thread, function, file), lines in self._lines.items()
        ]
        return sorted(rows, key=lambda row: (-row[2], row[:2]))[:MAX_FRAMES]


def _named(function: str, file: str, line: int) -> str:
    place = f"{file}:{line}" if line else file
    return f"{function} ({place})" if place else function
