"""CUDA graphs are not used: each kernel of a forward is launched by itself.

Looks at: GGML_CUDA_DISABLE_GRAPHS in the server's environment, the log's ``disabling CUDA graphs due to ..`` (-lv 5),
and the compute capability of the device, on a server that computes with CUDA.

Why it matters: a forward is hundreds of small kernels. Launched one by one they keep the host busy and leave gaps on
the device; a graph launches them all at once. A developer measured 8.8 % more speed under speculation by graphs, which
no benchmark of prompts shows (llama.cpp pull request 25784).

What to do: take GGML_CUDA_DISABLE_GRAPHS out of the environment: it counts whatever its value is.

Evidence: the variable, the line, or a compute capability below 7.0, for which b11434 never uses graphs
(ggml/src/ggml-cuda/ggml-cuda.cu; older builds want 8.0). What it costs here was not measured.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.rule import Rule
from specscope.findings.unjudged import ENVIRONMENT, no_gpu, wait

if TYPE_CHECKING:
    from specscope.findings.rule import Case, Finding, Seen
    from specscope.session.state import Target

LINK: Final = "https://github.com/ggml-org/llama.cpp/pull/25784"
VARIABLE: Final = "GGML_CUDA_DISABLE_GRAPHS"
CODE: Final = "cuda_graphs_disabled"

LEAST_CAPABILITY: Final = 7.0

BATCH: Final = "batch size"
"""Older builds use graphs for single tokens only: prompts say so on any server, and matter only where drafts do."""

ARCHITECTURE: Final = "GPU architecture"

DEVICES: Final = ("device_total", "device_used")
"""Lines of the log (-lv 4) whose fields begin with ggml's name of a device: ``CUDA0.name``."""


def look(case: Case) -> Seen:
    """Judge one server."""
    target = case.target
    by_cuda = any(key.startswith("CUDA") for code in DEVICES for key in target.log_said.get(code, {}))
    env = target.process.env if target.process is not None else None
    if env is not None and VARIABLE in env and (by_cuda or target.gpus):
        told = ("environment", f"{VARIABLE}={env[VARIABLE]}".removesuffix("="))
        advice = f"take {VARIABLE} out of the server's environment: it counts whatever its value is"
        return (_found(case, told, advice),)
    reason = target.log_said.get(CODE, {}).get("reason", "").strip()
    if reason and (BATCH not in reason or target.config.types):
        return (_found(case, ("log", f"disabling CUDA graphs due to {reason}"), _by_reason(reason), reason),)
    old = _too_old(target) if by_cuda else None
    if old is None:
        none = None if by_cuda or reason else no_gpu(target, case.session)
        return none or (wait(target, ENVIRONMENT) if env is None and not reason else ())
    advice = (
        "no flag changes it on this GPU: fewer kernels (--flash-attn on) and a faster core of the host help a little"
    )
    return (_found(case, ("compute capability", old), advice, ARCHITECTURE),)


def _by_reason(reason: str) -> str:
    if BATCH in reason:
        return "newer builds keep graphs for the batches that verify drafts"
    return "a newer build may support it; --flash-attn on leaves fewer kernels to launch"


def _too_old(target: Target) -> str | None:
    for use in target.gpus:
        major, _, minor = (use.gpu.found.compute or "").partition(".")
        if not major.isdecimal() or not (minor or "0").isdecimal():
            continue
        if float(f"{major}.{minor or 0}") < LEAST_CAPABILITY:
            return f"{use.gpu.found.compute} ({use.gpu.found.name or f'GPU {use.gpu.index}'})"
    return None


def _found(case: Case, told: tuple[str, str], advice: str, reason: str = "") -> Finding:
    return RULE.found(
        case,
        "CUDA graphs are not used: each kernel is launched by itself",
        (told, ("cost", "not measured here")),
        advice,
        severity="info" if reason == ARCHITECTURE else None,
        settled=True,
        link=LINK,
    )


RULE = Rule("SPC507", "cuda_graphs_lost", "warning", look)
