"""Which context a compute buffer belongs to, where the log does not say. Pure.

A context reserves its compute buffers when it is made, and anew whenever its graph changes: a drafter's when its
sampler is set up, a target's at the first request with another sampler. Those later lines (``sched_reserve`` of
src/llama-context.cpp, llama.cpp b11434) name no context. They are told apart, in this order:

1. there is one context only, or the slots are being set up, when only the drafter is tried out
   (``common_context_can_seq_rm`` in ``load_model`` of tools/server/server-context.cpp);
2. the graph has exactly as many nodes as one context's last graph, and not the other's;
3. the host's compute buffer is exactly as large as one context's last, and not the other's;
4. the number of nodes is clearly nearer to one's: the other's is off by a factor twice as far from 1, on a log scale.

Else nothing says whose they are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import inf, log
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

Role: TypeAlias = Literal["target", "drafter"]

_NODES = re.compile(r"\bnodes *= *(\d{1,9})(?: / (\d{1,9}))?")
_CLEARLY: Final = 2.0


def graph_nodes(text: str) -> tuple[int, ...] | None:
    """The nodes of a graph, for prompts and for generation where they differ; None in a line that tells none."""
    found = _NODES.search(text) if "graph" in text else None
    return None if found is None else tuple(int(number) for number in found.groups() if number)


@dataclass(slots=True)
class _Context:
    nodes: tuple[int, ...] = ()
    host_bytes: int | None = None


@dataclass(slots=True)
class Reserves:
    """What is known of the contexts of one server. ``setting_up``: models are loaded, slots are not ready."""

    setting_up: bool = False
    _contexts: dict[Role, _Context] = field(default_factory=dict["Role", _Context])

    def learn(self, role: Role, nodes: tuple[int, ...] | None, host_bytes: int | None) -> None:
        """A context reserved: remember its graph and its host buffer, as far as they were told."""
        context = self._contexts.setdefault(role, _Context())
        context.nodes = nodes or context.nodes
        context.host_bytes = context.host_bytes if host_bytes is None else host_bytes

    def whose(self, nodes: tuple[int, ...] | None, host_bytes: int | None) -> Role | None:
        """The context that a later reservation belongs to; None: nothing says."""
        if len(self._contexts) < 2:  # noqa: PLR2004 - target and drafter
            return next(iter(self._contexts), None)
        if self.setting_up:
            return "drafter"
        same_graph = self._only(lambda context: bool(nodes) and context.nodes == nodes)
        same_host = self._only(lambda context: host_bytes is not None and context.host_bytes == host_bytes)
        return same_graph or same_host or self._nearest(nodes or ())

    def _only(self, fits: Callable[[_Context], bool]) -> Role | None:
        found: list[Role] = [role for role, context in self._contexts.items() if fits(context)]
        return found[0] if len(found) == 1 else None

    def _nearest(self, nodes: tuple[int, ...]) -> Role | None:
        far: list[tuple[float, Role]] = sorted((_distance(c.nodes, nodes), role) for role, c in self._contexts.items())
        (near, role), (other, _) = far[:2]
        return role if near * _CLEARLY < other else None


def _distance(one: tuple[int, ...], other: tuple[int, ...]) -> float:
    """How far apart two graphs are: the smallest logarithm of a ratio of their nodes."""
    return min((abs(log(a / b)) for a in one for b in other if a and b), default=inf)
