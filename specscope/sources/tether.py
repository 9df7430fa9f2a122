"""Becomes another program that the kernel kills when specscope ends, however it ends.

Run by its path, ``python -I -S tether.py PARENT_PID PROGRAM ARGS...``: without site-packages it takes 12 ms of CPU.
In specscope itself the wish could not be made between fork and exec, because it has threads.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import Final

PR_SET_PDEATHSIG: Final = 1  # linux/prctl.h


def tethered(program: str) -> list[str]:
    """The beginning of a command line that runs a program tied to this process (to the thread that starts it)."""
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), program]


def main() -> None:
    """Ask for SIGKILL when the parent ends, and become the program; end at once if the parent is gone already."""
    parent, program = int(sys.argv[1]), sys.argv[2]
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:
        sys.exit(1)
    try:
        os.execv(program, sys.argv[2:])  # noqa: S606  specscope names the program
    except OSError as error:
        sys.exit(f"Error: {program} does not start: {error.strerror}")


if __name__ == "__main__":
    main()
