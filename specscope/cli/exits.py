"""Exit codes, and the errors that end a command with one line and a code."""

from __future__ import annotations

from typing import Final

OK: Final = 0
FINDINGS: Final = 1
"""Findings at or above ``--fail-on``, a failed comparison or load, or nothing to export."""
USAGE: Final = 2
UNREACHABLE: Final = 3
"""No server answers, or the one that does wants another key."""
INTERRUPTED: Final = 130


class CommandError(Exception):
    """Ends a command: ``message`` goes to stderr, ``code`` is the exit status."""

    def __init__(self, message: str, code: int = USAGE) -> None:
        super().__init__(message)
        self.code = code


class KeyWantedError(CommandError):
    """A server is there, and shows nothing without the right key."""

    def __init__(self, message: str) -> None:
        super().__init__(message, UNREACHABLE)
