"""What the server was started with: its command line and its environment, and what of them it cannot have read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

from specscope.views.widgets.panel import Panel

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.strip import Strip

    from specscope.flags import ServerFlags
    from specscope.session.state import Target
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

INDENT: Final = 3


class Started(Panel):
    """The words as they were given, a flag never parted from its value."""

    def watched(self, frame: Frame) -> object:
        """The process, and what was read of its flags."""
        return (frame.target.process, frame.target.flags) if frame.target is not None else None

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """The command line, then the environment, then what is odd in them."""
        del height
        process = frame.target.process if frame.target is not None else None
        if process is None:
            return [ink.rule("started with", width, "its process cannot be seen from here")]
        rows: list[Line | Strip] = [ink.rule("started with", width, f"pid {process.pid}")]
        rows += [ink.line().add(" " * INDENT + text, ink.text) for text in _wrapped(_pairs(process.argv), width)]
        if process.env is None:
            rows.append(ink.line().add("   its environment cannot be read from here", ink.muted))
        else:
            rows += [ink.line().add(f"   {name}={value}", ink.muted) for name, value in sorted(process.env.items())]
        return rows + [ink.line().add(f" ! {text}", ink.warn) for text in _odd(frame.target)]


def _pairs(words: Iterable[str]) -> list[str]:
    """The words, each flag with the value that follows it."""
    pairs: list[str] = []
    for word in words:
        if pairs and not word.startswith("-") and pairs[-1].startswith("-") and " " not in pairs[-1]:
            pairs[-1] = f"{pairs[-1]} {word}"
        else:
            pairs.append(word)
    return pairs


def _wrapped(words: Iterable[str], width: int) -> list[str]:
    rows: list[str] = [""]
    for word in words:
        if rows[-1] and INDENT + cell_len(rows[-1]) + 2 + cell_len(word) > width:
            rows.append("")
        rows[-1] += f"  {word}" if rows[-1] else word
    return rows


def _odd(target: Target | None) -> list[str]:
    """What this server refuses, ignores or cannot have understood."""
    flags: ServerFlags | None = target.flags if target is not None else None
    if flags is None:
        return []
    return [
        *(f"{name} is of older builds" for name in flags.removed),
        *(f"{name}: its value is missing or cannot be read" for name in flags.malformed),
        *(f"{name}=.. is no form that a server takes" for name in flags.equals_form),
        *(f"{name} is no flag of any build known here" for name in flags.unknown),
    ]
