"""The drafter runs on the CPU while the target runs on the GPU: drafting takes longer than it saves.

Looks at: the drafter's layers on the device and its devices (flags, the log at -lv 4); and while the server decodes,
how many of its threads are busy beside a device that is not.

Why it matters: a drafter is only worth its tokens while it costs a fraction of a forward of the target. On a CPU it is
slower than the target on the GPU. It is left there by wrappers that pass a drafter without its layers (home-ops pull
request 9563), by ``-ngld 0`` from an old workaround, and by ``-devd none``.

What to do: ``--spec-draft-ngl 99``, and drop ``--spec-draft-device none``; make room for it if it does not fit.

Evidence: the flag or the log's "offloaded 0 layers" beside a target that has its layers on a device. Without them, as
a warning: 3 or more threads of the server (half of ``--threads``, if that is more) at 50 % of a core or more while it
decodes, all of the target's layers on a device, and that one busy for 60 % of the decoding time or less.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.as_written import as_written
from specscope.findings.rule import Inapplicable, Rule
from specscope.findings.unjudged import COMMAND_LINE, TABLES_ALONE, no_gpu, no_method, wait
from specscope.session.placement import on_device
from specscope.session.unknowns import number_said

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Finding, Seen
    from specscope.session.state import Target

LINK: Final = "https://github.com/joryirving/home-ops/pull/9563"

BUSY_THREADS: Final = 3
"""A server whose models are on a device has one thread that is busy, and one more while it answers."""

BUSY_THREAD_PCT: Final = 50.0
WAITING_PCT: Final = 60.0
AT_WORK_PCT: Final = 70.0
"""Above it, a raised finding is cleared."""

LEAST_S: Final = 10.0
"""Decoding time before the device's use is judged."""

NGL, NGLD, DEVICE = "layers_offloaded", "draft_layers_offloaded", "--spec-draft-device"


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    flags, drafter = target.flags, target.models.get("drafter")
    named = drafter is not None or (flags is not None and bool(flags.draft_model or flags.draft_repo))
    if not any(t.startswith("draft-") for t in target.config.types or ()):
        return no_method(target) or TABLES_ALONE
    if not named:
        return wait(target, COMMAND_LINE) if flags is None else Inapplicable("the drafter has no model of its own")
    if not target.gpus and on_device(flags, target.log_said, target.usage) is not True:
        return no_gpu(target, case.session) or ()
    told = _told(target)
    if told:
        return (_found(case, told, seems=False),)
    offloaded = number_said(target.log_said, NGLD, "offloaded")
    return () if offloaded else _by_threads(case)


def _told(target: Target) -> list[tuple[str, str]]:
    """What says that it is on the CPU."""
    flags, told = target.flags, list[tuple[str, str]]()
    if flags is not None and flags.draft_gpu_layers is not None and flags.draft_gpu_layers.strip() == "0":
        told.append(("flag", as_written(target, "draft_gpu_layers", "--spec-draft-ngl", "0")))
    if flags is not None and (flags.draft_device or "").strip().lower() == "none":
        told.append(("flag", as_written(target, "draft_device", DEVICE, "none")))
    if number_said(target.log_said, NGLD, "offloaded") == 0:
        told.append(("log", f"drafter: offloaded 0/{target.log_said[NGLD].get('layers', '?')} layers to GPU"))
    return told


def _by_threads(case: Case) -> Seen:
    """By what the server does while it decodes."""
    target = case.target
    offloaded, layers = (number_said(target.log_said, NGL, field) for field in ("offloaded", "layers"))
    if offloaded is None or layers is None:
        return wait(target, "the log's word on which layers lie where (-lv 4)")
    if not offloaded or offloaded != layers:
        return Inapplicable("layers of the target itself are on the CPU")
    if len(target.gpus) != 1:
        return no_gpu(target, case.session) or Inapplicable("of several GPUs each waits for the others")
    gpu, decoding = target.gpus[0].gpu, target.gpus[0].gpu.decoding
    used = decoding.busy_pct
    if used is None or decoding.seconds < LEAST_S:
        return wait(target, f"{LEAST_S:.0f} s of decoding ({decoding.seconds:.0f} so far)")
    if target.usage is None or gpu.phase != "decode":
        return wait(target, "a server that decodes")
    if not case.holds(used, raise_at=WAITING_PCT, clear_at=AT_WORK_PCT):
        return ()
    threads = target.flags.threads if target.flags is not None else None
    busy = sum(pct >= BUSY_THREAD_PCT for _, pct in target.usage.threads)
    if busy < max(BUSY_THREADS, (threads or 0) // 2):
        return ()
    evidence = [
        ("busy threads of the server", f"{busy} at {BUSY_THREAD_PCT:.0f}% of a core or more"),
        ("the target", f"all {layers} layers on the device"),
        ("the device", f"busy {used:.0f}% of {decoding.seconds:.0f} s of decoding"),
    ]
    return (_found(case, evidence, seems=True),)


def _found(case: Case, evidence: list[tuple[str, str]], *, seems: bool) -> Finding:
    target, parts = case.target, case.target.anatomy.parts if case.target.anatomy is not None else None
    if parts is not None and parts.draft_ms is not None:
        evidence.append(("drafting takes", f"{parts.draft_ms:.1f} of {parts.whole_ms:.1f} ms a turn"))
    layers = as_written(target, "draft_gpu_layers", "--spec-draft-ngl", "99")
    devices = as_written(target, "draft_device", DEVICE)
    return RULE.found(
        case,
        "the drafter seems to run on the CPU" if seems else "the drafter runs on the CPU",
        tuple(evidence),
        f"set {layers} (and drop {devices} none), or make room for it on the device",
        severity="warning" if seems else None,
        settled=not seems,
        link=LINK,
    )


RULE = Rule("SPC506", "drafter_on_cpu", "critical", look)
