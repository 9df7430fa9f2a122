"""The top row: which server this is, how it is, and how it is watched."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.session.tiers import compared, evidence_words, tier_of
from specscope.views.figures import clock, span
from specscope.views.server_words import state_style, state_word
from specscope.views.widgets.panel import Panel

if TYPE_CHECKING:
    from rich.style import Style
    from textual.strip import Strip

    from specscope.session.state import Config, Target
    from specscope.views.frame import Frame
    from specscope.views.ink import Ink
    from specscope.views.widgets.line import Line

RESTART_SHOWN_S: Final = 600.0
"""A restart is told this long with its age; the epoch's number stays."""
BLOCK_RANK: Final = 4
"""The drafter's block: it stands behind the limit of the width, and gives way before it."""
COMPARED_RANK: Final = 6
"""Whether the cycles equal the server's count: it stands behind the evidence, and gives way before it."""


class Header(Panel):
    """The top row. Parts of the highest rank give way first when it is too narrow."""

    def draw(self, frame: Frame, ink: Ink, width: int, height: int) -> list[Line | Strip]:
        """One row: the parts to the left, the clock at the right edge."""
        del height
        parts = self._parts(frame, ink)
        right = ink.line().add(f" {clock(frame.now)} ", ink.strong)
        room = width - right.cells
        line = _joined(parts, ink)
        while len(parts) > 1 and line.cells > room:
            parts.remove(max(reversed(parts), key=lambda part: part[0]))
            line = _joined(parts, ink)
        return [line.fill(room, " ", ink.text).append(right)]

    def _parts(self, frame: Frame, ink: Ink) -> list[tuple[int, Line]]:
        parts: list[tuple[int, Line]] = []

        def part(rank: int, text: str, style: Style | None = None) -> None:
            if text:
                parts.append((rank, ink.line().add(text, style or ink.text)))

        part(7, "specscope", ink.title)
        target = frame.target
        if frame.failure:
            part(0, f" WATCH FAILED: {frame.failure} ", ink.alarm)
        if target is None:
            part(1, "looking for a server")
            return parts
        part(2, _where(frame, target), ink.strong)
        word = state_word(target, frame.now)
        part(0, word if target.server == "ready" else f" {word} ", state_style(target.server, ink))
        part(0, " PAUSED " if frame.paused else "", ink.badge)
        part(0, " ENDED " if frame.session.ended else "", ink.badge)
        part(1, _restart(target, frame.now), ink.warn)
        part(5, _model(target))
        part(3, _methods(target))
        part(BLOCK_RANK, _block(target))
        parts.append((3, _evidence(target, ink)))
        word = compared(target)
        part(COMPARED_RANK, "" if _is_parted(target) or not word else f", {word}", ink.text)
        part(8, (target.props.build or "") if target.props is not None else "", ink.muted)
        return parts


def _joined(parts: list[tuple[int, Line]], ink: Ink) -> Line:
    """The parts in one row; the second belongs to the first, the block to the limit before it."""
    line = ink.line().add(" ", ink.text)
    for number, (rank, part) in enumerate(parts):
        close = number == 1 or rank == BLOCK_RANK
        between = "" if not number or rank == COMPARED_RANK else " " if close else " │ "
        line.add(between, ink.faint).append(part)
    return line


def _where(frame: Frame, target: Target) -> str:
    url = (target.url or (f"pid {target.pid}" if target.pid is not None else target.id)).removeprefix("http://")
    several = len(frame.session.targets)
    return f"{target.id} {frame.index + 1}/{several} {url.rstrip('/')}" if several > 1 else url.rstrip("/")


def _model(target: Target) -> str:
    model = target.models.get("target")
    props = target.props
    name = (props.model_alias if props is not None else None) or (model.name if model is not None else None)
    path = (props.model_path if props is not None else None) or (model.path if model is not None else None)
    name = name or (path.rsplit("/", 1)[-1] if path else "")
    return name.rsplit("/", 1)[-1].removesuffix(".gguf")


def _methods(target: Target) -> str:
    config = target.config
    if config.types is None:
        return "method not known"
    if not config.types:
        return "no speculation"
    return " + ".join(t.removeprefix("draft-") for t in config.types) + _limit(config)


def _limit(config: Config) -> str:
    n_max = config.n_max_effective if config.n_max_effective is not None else config.n_max_requested
    return f" n_max {n_max}" if n_max is not None else ""


def _block(target: Target) -> str:
    """The drafter's block, where it is what limits the width, or nothing else is known to."""
    config = target.config
    if not config.types or config.block_size is None:
        return ""
    limit = _limit(config)
    if not limit:
        return f"block {config.block_size}"
    return f"of block {config.block_size}" if limit == f" n_max {config.block_size - 1}" else ""


def _evidence(target: Target, ink: Ink) -> Line:
    """How the figures are known. That cycles parted from the server's count never gives way."""
    line = ink.line().add("evidence: ", ink.text)
    if _is_parted(target):
        return line.add(evidence_words(target), ink.bad)
    return line.add(tier_of(target), ink.good if target.evidence == "exact" else ink.text)


def _is_parted(target: Target) -> bool:
    return target.cycle_evidence == "parted"


def _restart(target: Target, now: float) -> str:
    if not target.restarts:
        return ""
    ago = now - target.restarts[-1]
    if ago < RESTART_SHOWN_S:
        return f"restarted {span(ago)} ago, epoch {target.epoch}"
    return f"epoch {target.epoch}"
