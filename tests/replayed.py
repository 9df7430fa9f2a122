"""The recordings that lie beside the tests, and what the fold makes of one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from specscope.recording import Recording
from specscope.session import fold

if TYPE_CHECKING:
    from specscope.session.fold import Fold
    from specscope.session.state import Session

RECORDINGS = Path(__file__).parent / "recordings"


def recording(name: str) -> Recording:
    """The recording of that name."""
    return Recording(RECORDINGS / f"{name}.jsonl.gz")


def folded(name: str) -> Fold:
    """A fold that has taken in the whole recording."""
    return fold.folded(recording(name).events())


def replayed(name: str) -> Session:
    """The state at the recording's end."""
    return folded(name).view()
