"""Ties a process to its parent: the kernel kills it when the parent's thread that started it ends.

Run as ``python -m specscope.lab.tether PROGRAM ARGS...`` it becomes PROGRAM, tied: the setting survives exec.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # linux/prctl.h
PARENT_VARIABLE = "SPECSCOPE_LAB_PARENT"
"""Holds the pid of the parent to be tied to, so that a parent gone before the call is noticed."""


def die_with_parent() -> None:
    """Asks for SIGKILL when the parent dies. Exits at once if it is dead already.

    Raises:
        OSError: The kernel refused.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0):
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    parent = os.environ.get(PARENT_VARIABLE)
    if parent and os.getppid() != int(parent):
        sys.exit(1)


if __name__ == "__main__":
    die_with_parent()
    try:
        os.execv(sys.argv[1], sys.argv[1:])  # noqa: S606 - the lab names the program
    except OSError as error:
        sys.exit(f"cannot run {sys.argv[1]}: {error.strerror}")
