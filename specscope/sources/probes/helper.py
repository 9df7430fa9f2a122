"""The program that arms the probes: ``python -m specscope.sources.probes.helper``, as root or through sudo.

It takes requests as JSON lines on stdin, and nothing else:

* ``{"do": "trace", "pid": 123, "tier": "cheap" or "auto", "slots": 4, "drafts": true,
  "methods": ["draft-dflash"]}``, once, first;
* ``{"do": "burst", "threads": [124], "ms": 500}``, any time after.

On stdout come the lines of the bpftrace program (program.py) and its own, which begin with ``#`` and a JSON object:
``armed`` (functions found, missing, addresses), ``burst``, ``failed`` (a sentence, and a command that may help).
It ends when stdin ends, and bpftrace with it, however either of them ends.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any, Final, cast

from specscope.sources.probes.burst import sample_burst
from specscope.sources.probes.functions import DEAR, NEEDED, method_of, roles_of, served_by
from specscope.sources.probes.libraries import NotFoundError, find_functions
from specscope.sources.probes.privileges import RefusedError, caller, check_owner, die_with_parent, give_up_the_rest
from specscope.sources.probes.program import MAX_SLOTS, write_program

if TYPE_CHECKING:
    from specscope.sources.probes.libraries import Found

Request = dict[str, Any]

SAFE_PATH: Final = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
INIT_PID_NAMESPACE: Final = 0xEFFFFFFC
"""The inode of the first pid namespace (linux/proc_ns.h, PROC_PID_INIT_INO): in any other the kernel's pids differ."""

MAX_LINE: Final = 65_536
MAX_BURST_MS: Final = 5000
MAX_THREADS: Final = 8
RING_PAGES: Final = 256
"""Of each CPU's ring for bpftrace's lines: 1 MiB holds 10,000 of them, some ten seconds at 100 cycles/s."""

SPANS_TOLD: Final = 2000


def main() -> int:
    """Serve requests until stdin ends; returns the exit code."""
    die_with_parent()
    try:
        request = _asked(_request(_first_line()), "trace")
        found = _begin(request)
        bpftrace = _start(found, request)
    except (RefusedError, NotFoundError) as error:
        return _fail(str(error))
    except OSError as error:
        return _fail(f"the process cannot be looked into: {error.strerror}")
    try:
        return _serve(bpftrace, found, int(request["pid"]))
    finally:
        bpftrace.kill()
        bpftrace.wait()


def _first_line() -> str:
    """The first line of stdin and no byte more: what follows is read by :func:`_serve`."""
    line = b""
    while len(line) < MAX_LINE and not line.endswith(b"\n"):
        byte = os.read(sys.stdin.fileno(), 1)
        if not byte:
            break
        line += byte
    return line.decode("utf-8", "replace")


def _request(line: str) -> Request:
    try:
        value: object = json.loads(line or "null")
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise RefusedError("requests are JSON objects")
    return cast("Request", value)


def _asked(request: Request, what: str) -> Request:
    if request.get("do") != what:
        raise RefusedError(f"this request must be a {what}")
    return request


def _number(request: Request, name: str, least: int, most: int) -> int:
    value = request.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise RefusedError(f"{name} must be a number from {least} to {most}")
    return value


def _begin(request: Request) -> Found:
    """Check who asks for what, find the functions, and give up what is no longer needed.

    Raises:
        RefusedError: the request is malformed, or not the caller's to make.
        NotFoundError: the process has none of the functions.
        OSError: it is gone.
    """
    pid = _number(request, "pid", 1, 2**22)
    _number(request, "slots", 1, 65_535)
    if request.get("tier") not in ("cheap", "auto"):
        raise RefusedError("tier must be cheap or auto")
    check_owner(pid, caller())
    give_up_the_rest()
    found = find_functions(pid)
    wanted = request.get("methods")
    if isinstance(wanted, list):
        _keep_methods(found, [str(w) for w in cast("list[object]", wanted)])
    return found


def _keep_methods(found: Found, wanted: list[str]) -> None:
    """Probe only the implementations in use, if every method named has one: each costs bpftrace time to compile."""
    places = found.roles.get("method", [])
    kept = [p for p in places if any(w in served_by(method_of(p.function.name)) for w in wanted)]
    if kept and all(any(w in served_by(method_of(p.function.name)) for p in kept) for w in wanted):
        found.roles["method"] = kept


def _start(found: Found, request: Request) -> subprocess.Popen[bytes]:
    program = shutil.which("bpftrace", path=SAFE_PATH if os.environ.get("SUDO_UID") else None)
    if program is None:
        raise RefusedError("bpftrace is not installed")
    if not os.path.exists("/sys/bus/event_source/devices/uprobe/type"):  # noqa: PTH110
        raise RefusedError("this kernel has no uprobes (a container runtime such as gVisor, or built without them)")
    if not found.machine:
        raise RefusedError("the argument registers of this machine are not known")
    pid, slots, tier = int(request["pid"]), int(request["slots"]), str(request["tier"])
    drafts = request.get("drafts") is not False
    own_namespace = os.stat("/proc/self/ns/pid").st_ino != INIT_PID_NAMESPACE  # noqa: PTH116
    text = write_program(found, pid=None if own_namespace else pid, slots=slots, tier=tier, drafts=drafts)
    told = roles_of(tier, drafts=drafts)
    methods = {str(p.address): method_of(p.function.name) for p in found.roles.get("method", [])}
    _say(
        {
            "armed": [r for r in told if r in found.roles],
            "missing": [r for r in told if r not in found.roles],
            "widths": all(r in found.roles for r in NEEDED) and slots <= MAX_SLOTS,
            "methods": methods,
            "asynchronous": found.asynchronous,
            "explicit_wait": found.roles["forward"][0].function.name == "llama_process",
            "dear": [r for r in DEAR if r in found.roles],
            "filtered": not own_namespace,
            "addresses": [p.address for r in told for p in found.roles.get(r, [])],
        }
    )
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "LD_LIBRARY_PATH") and "SUDO_UID" not in os.environ}
    return subprocess.Popen(
        [program, "-B", "line", "-p", str(pid), "-e", text],
        stdin=subprocess.DEVNULL,
        stdout=sys.stdout.fileno(),
        stderr=sys.stdout.fileno(),
        env={"PATH": SAFE_PATH, **kept, "BPFTRACE_PERF_RB_PAGES": str(RING_PAGES)},
        preexec_fn=die_with_parent,  # noqa: PLW1509  it calls the kernel and nothing of Python's
    )


def _serve(bpftrace: subprocess.Popen[bytes], found: Found, pid: int) -> int:
    """Bursts on request, until stdin or bpftrace ends."""
    pending = b""
    ended = os.pidfd_open(bpftrace.pid)
    stdin = sys.stdin.fileno()
    while True:
        ready, _, _ = select.select([stdin, ended], [], [])
        if ended in ready:
            return bpftrace.wait()
        data = os.read(stdin, 65_536)
        if not data:
            return 0
        *lines, pending = (pending + data).split(b"\n")
        # One burst at a time: of requests that have piled up the newest counts, and none once stdin has ended.
        if lines and not _has_ended(stdin):
            _burst(lines[-1].decode("utf-8", "replace"), found, pid)


def _has_ended(descriptor: int) -> bool:
    """Whether the other end of a pipe has been closed, also while there is still something to read."""
    poll = select.poll()
    poll.register(descriptor, select.POLLHUP)
    return any(event & select.POLLHUP for _, event in poll.poll(0))


def _burst(line: str, found: Found, pid: int) -> None:
    try:
        request = _asked(_request(line), "burst")
        length_ms = _number(request, "ms", 1, MAX_BURST_MS)
        seen = sample_burst(found.roles, _threads(request, pid), length_ms / 1000)
    except (RefusedError, OSError) as error:
        _say({"burst_failed": str(error)})
        return
    _say(
        {
            "burst": [seen.begin_ns, seen.end_ns],
            "waits": seen.waits,
            "wait_ns": seen.wait_ns,
            "submits": seen.submits,
            "idle_ns": seen.idle_ns,
            "lost": seen.lost,
            "forwards": seen.forwards,
            "samples": seen.samples,
            "sampling_ns": seen.sampling_ns,
            "draft_sampling_ns": seen.draft_sampling_ns,
            "copies": [[owner, size, count] for (owner, size), count in sorted(seen.copies.items())],
            "apart": None if seen.apart is None else sorted(seen.apart.items()),
            "spans": [[s.kind, s.start_ns - seen.begin_ns, s.length_ns] for s in seen.spans[:SPANS_TOLD]],
        }
    )


def _threads(request: Request, pid: int) -> list[int]:
    """Those asked for that are the process's own."""
    asked = request.get("threads")
    if not isinstance(asked, list):
        raise RefusedError("threads must be a list")
    numbers = [t for t in cast("list[object]", asked) if isinstance(t, int)][:MAX_THREADS]
    return [t for t in numbers if os.path.exists(f"/proc/{pid}/task/{t}")]  # noqa: PTH110


def _say(what: dict[str, object]) -> None:
    """One line in one write, so that bpftrace's lines and these never mix."""
    with contextlib.suppress(BrokenPipeError):
        os.write(sys.stdout.fileno(), b"#" + json.dumps(what, separators=(",", ":")).encode() + b"\n")


def _fail(why: str) -> int:
    _say({"failed": why})
    return 1


if __name__ == "__main__":
    sys.exit(main())
