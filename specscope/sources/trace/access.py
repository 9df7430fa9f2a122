"""What stands in the way of tracing here, in one sentence, and the command that lifts it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import Final, NamedTuple

from specscope.sources.probes.helper import SAFE_PATH

UPROBES: Final = "/sys/bus/event_source/devices/uprobe/type"
HELPER: Final = "specscope.sources.probes.helper"
SUDO_TIMEOUT_S: Final = 5.0
AS_ROOT: Final = "run specscope as root, or `sudo -v` just before it, to see every cycle and where its time goes"


class Obstacle(NamedTuple):
    """Why there is no trace, and what would change that."""

    reason: str
    hint: str


class Way(NamedTuple):
    """How the helper is started."""

    command: tuple[str, ...]


def way_in() -> Way | Obstacle:
    """How tracing can be had here, or what stands in its way. May take seconds: it asks sudo, without a password."""
    if not sys.platform.startswith("linux"):
        return Obstacle("tracing needs Linux", "watch from the machine that runs the server")
    if not os.path.exists(UPROBES):  # noqa: PTH110
        return Obstacle("this kernel has no uprobes (a container runtime such as gVisor, or built without them)", "")
    root = os.geteuid() == 0
    path = os.environ.get("PATH") if root else SAFE_PATH
    if shutil.which("bpftrace", path=path) is None:
        return Obstacle(
            "bpftrace is not installed", "install it: apt install bpftrace (dnf, pacman and zypper have it too)"
        )
    if root:
        return Way((sys.executable, "-m", HELPER))
    if not _sudo_grants():
        return Obstacle("tracing needs root", AS_ROOT)
    return Way(("sudo", "-n", "--", sys.executable, "-I", "-m", HELPER))


def _sudo_grants() -> bool:
    """Whether sudo would run the helper now, without asking for a password."""
    if shutil.which("sudo") is None:
        return False
    command = ["sudo", "-n", "--", sys.executable, "-I", "-c", ""]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=SUDO_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0
