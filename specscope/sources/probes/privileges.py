"""What the helper may do and to whom: checked before anything is armed, and given up where it is not needed."""

from __future__ import annotations

import ctypes
import os
import signal
from typing import Final

_PR_SET_PDEATHSIG: Final = 1
_PR_CAPBSET_DROP: Final = 24
_PR_SET_NO_NEW_PRIVS: Final = 38
_CAPABILITY_VERSION: Final = 0x20080522
_LAST_CAPABILITY: Final = 63

KEPT: Final = {
    "CAP_DAC_OVERRIDE": 1,  # bpftrace writes its temporary files and reads tracefs
    "CAP_DAC_READ_SEARCH": 2,  # files of the server's owner
    "CAP_IPC_LOCK": 14,  # memory of the kernel's rings
    "CAP_SYS_PTRACE": 19,  # /proc/PID/root, /proc/PID/map_files
    "CAP_SYS_ADMIN": 21,  # uprobes and BPF before Linux 5.8
    "CAP_SYS_RESOURCE": 24,  # the limit on locked memory
    "CAP_PERFMON": 38,
    "CAP_BPF": 39,
}
"""What bpftrace and the bursts need (capabilities(7)); all others are given up."""


class RefusedError(Exception):
    """The request is not granted; the message says why in one sentence."""


def caller() -> int:
    """The user on whose behalf this runs: the one who called sudo, else the real user."""
    by_sudo = os.environ.get("SUDO_UID", "")
    return int(by_sudo) if os.geteuid() == 0 and by_sudo.isdigit() else os.getuid()


def check_owner(pid: int, user: int) -> None:
    """A user may look into processes that are wholly his own; root into all.

    Raises:
        RefusedError: the process is gone, or another's.
    """
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file:  # noqa: PTH123
            line = next((text for text in file if text.startswith("Uid:")), "")
    except OSError:
        raise RefusedError(f"process {pid} is gone") from None
    owners = {int(word) for word in line.split()[1:5]}
    if user != 0 and owners != {user}:
        raise RefusedError(f"process {pid} belongs to another user")


def die_with_parent() -> None:
    """Ask for SIGKILL when the parent ends; also for use in a child before exec, which keeps it."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def give_up_the_rest() -> None:
    """Keep only the capabilities of KEPT, here and in every child, and gain none by any program started later.

    Nothing happens where the kernel refuses: then there was less to give up.
    """
    if os.geteuid() != 0:
        return
    os.umask(0o077)
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(_LAST_CAPABILITY + 1):
        if capability not in KEPT.values():
            libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    mask = sum(1 << capability for capability in KEPT.values())
    low, high = mask & 0xFFFFFFFF, mask >> 32
    header = (ctypes.c_uint32 * 2)(_CAPABILITY_VERSION, 0)
    held = (ctypes.c_uint32 * 6)()
    libc.capget(header, held)
    # Asked for one that is not held (in a container), the kernel would take none away.
    data = (held[0] & low, held[1] & low, 0, held[3] & high, held[4] & high, 0)
    libc.capset(header, (ctypes.c_uint32 * 6)(*data))
