"""The server's functions that tell of a cycle, by role, under the names that builds of llama.cpp gave them.

Verified against b10434 and b11549 (exports of libllama-common.so, libllama.so, libggml-base.so) and the source of
b11434. Old and new names stand side by side: what a build has is probed, what it lacks is said.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Collection


class Role(NamedTuple):
    """One thing to see. ``names`` match mangled names, the best first; of each file the first match counts.

    A name with a dot (``.cold``, ``.part.0``) is a piece that the compiler split off a function, and matches none.

    ``tier``: ``cheap`` probes fire about a dozen times a cycle, ``dear`` ones dozens to hundreds of times (11 % of a
    cycle on an H200) and only in bursts. ``step`` ones fire once a token, so that they are armed all the time where
    nothing is drafted, and in bursts elsewhere.
    """

    name: str
    tier: str
    names: tuple[str, ...]
    each: bool = False


SPEC: Final = "P18common_speculative"

ROLES: Final = (
    Role("begin", "cheap", (rf"_Z24common_speculative_begin{SPEC}i[^.]*",)),
    Role("draft", "cheap", (rf"_Z24common_speculative_draft{SPEC}",)),
    Role(
        "method",
        "cheap",
        (r"_ZN\d+common_speculative_impl_(\w+?)5draftERSt6vectorI31common_speculative_draft_params[^.]*",),
        each=True,
    ),
    Role("features", "cheap", (rf"_Z26common_speculative_process{SPEC}[^.]*",)),
    Role("accept", "cheap", (rf"_Z25common_speculative_accept{SPEC}it",)),
    Role("forward", "cheap", ("llama_process", "llama_decode")),
    Role("restore", "cheap", ("llama_state_seq_set_data_ext",)),
    Role("sample", "step", (r"_Z21common_sampler_sampleP14common_samplerP13llama_contextib",)),
    Role("copy_async", "dear", ("ggml_backend_tensor_get_async",)),
    Role("copy_2d_async", "dear", ("ggml_backend_tensor_get_2d_async",)),
    Role("copy", "dear", ("ggml_backend_tensor_get",)),
    Role("wait", "dear", ("ggml_backend_sched_synchronize",)),
    Role("submit", "dear", ("ggml_backend_sched_graph_compute_async",)),
    Role("device_wait", "dear", ("cudaStreamSynchronize", "hipStreamSynchronize")),
    Role("launch", "dear", ("cudaGraphLaunch", "hipGraphLaunch")),
)

NEEDED: Final = ("draft", "method", "accept", "forward")
"""Without these no cycle can be counted."""

MARKS: Final = (b"common_speculative_draft", b"llama_decode", b"ggml_backend_sched_synchronize", b"StreamSynchronize")
"""One of these is among the symbol names of every file that may hold a role."""

_PATTERNS: Final = tuple((role, tuple(re.compile(p + r"\Z") for p in role.names)) for role in ROLES)
_METHOD: Final = next(patterns[0] for role, patterns in _PATTERNS if role.name == "method")
_ANY: Final = re.compile(rf"(?:{'|'.join(p for role in ROLES for p in role.names)})\Z")


def wanted(name: str) -> bool:
    """Whether a function has any role."""
    return _ANY.match(name) is not None


def by_role(names: list[str]) -> dict[str, list[str]]:
    """The functions of one file by role; of most roles one, its best name."""
    found: dict[str, list[str]] = {}
    for role, patterns in _PATTERNS:
        for pattern in patterns:
            matches = sorted(n for n in names if pattern.match(n))
            if matches:
                found[role.name] = matches if role.each else matches[:1]
                break
    return found


_SHARED: Final = {"draft-dflash": "draft-dspark", "ngram-map-k": "ngram-map-k4v"}
"""Implementations that serve a second method (``common_speculative_init`` in common/speculative.cpp), asked after the
first where both are in use."""


def served_by(implementation: str) -> tuple[str, ...]:
    """The methods that an implementation serves."""
    second = _SHARED.get(implementation)
    return (implementation,) if second is None else (implementation, second)


def told_by(address: int, implementation: str, in_use: Collection[str]) -> dict[int, str]:
    """The method by the address that a line of the program gives for a draft of an implementation.

    The program adds one for the second of two that share it. Where the methods in use are not known, as when the server
    detects its drafter's kind by itself, it is one or the other.
    """
    serves = served_by(implementation)
    used = [method for method in serves if method in in_use]
    names = used if len(used) == len(serves) else [used[0] if used else " or ".join(serves)] * len(serves)
    return {address + i: name for i, name in enumerate(names)}


def method_of(name: str) -> str:
    """The drafting method of an implementation, in the words of --spec-type: ``draft-dflash``, ``ngram-mod``."""
    match = _METHOD.match(name)
    return match[1].replace("_", "-") if match else ""


def roles_of(tier: str, *, drafts: bool) -> tuple[str, ...]:
    """The roles that are probed all the time: on a server that drafts, or may, those that ``cheap`` names."""
    kept = ("cheap",) if drafts or tier == "cheap" else ("cheap", "step")
    return tuple(role.name for role in ROLES if role.tier in kept)


DEAR: Final = tuple(role.name for role in ROLES if role.tier == "dear")
