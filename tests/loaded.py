"""A server of the lab that has loaded its models: what its log said of memory, beside what the arithmetic needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from specscope.events import BufferLogged, LogSaid
from specscope.flags import parse_flags
from specscope.lab.models import model_path
from specscope.lab.server import LabServer
from specscope.session.memory.buffers import buffers_of
from specscope.session.memory.kv import drafter_kv, target_kv
from specscope.session.memory.state import KvLayout, Served
from specscope.sources.gguf import model_read, read_header
from specscope.sources.log_lines import LineParser

if TYPE_CHECKING:
    from pathlib import Path

    from specscope.events import Event, ModelRead
    from specscope.flags import ServerFlags
    from specscope.lab.spec import ServerSpec
    from specscope.session.memory.state import BufferKind, Buffers, Role

_MIB = 1 << 20


def as_printed(n_bytes: int | None) -> str:
    """Bytes as a server prints them: MiB with two decimals."""
    return "none" if n_bytes is None else f"{n_bytes / _MIB:.2f}"


@dataclass(frozen=True)
class Loaded:
    """A server after it has loaded."""

    facts: list[Event]
    flags: ServerFlags
    served: Served
    target: ModelRead
    drafter: ModelRead | None

    @property
    def buffers(self) -> Buffers:
        """What its log told."""
        return buffers_of(fact for fact in self.facts if isinstance(fact, BufferLogged))

    def said(self, code: str) -> dict[str, str]:
        """The fields of a line of the log, the last of its kind."""
        return [fact.fields for fact in self.facts if isinstance(fact, LogSaid) and fact.code == code][-1]

    def logged(self, model: Role, *kinds: BufferKind) -> str:
        """What the log says that a model's buffers take, as printed."""
        return as_printed(self.buffers.bytes_of(*kinds, model=model))

    def facts_of(self, model: Role, *kinds: BufferKind) -> list[str]:
        """The same for each buffer, in the order of the log; those of no size left out."""
        buffers = (fact for fact in self.facts if isinstance(fact, BufferLogged))
        return [as_printed(fact.bytes) for fact in buffers if fact.model == model and fact.kind in kinds and fact.bytes]

    def layout(self, role: Role = "target") -> KvLayout:
        """What the arithmetic says of a context's caches."""
        told = (
            target_kv(self.target, self.flags, self.served)
            if role == "target"
            else drafter_kv(self.target, self.drafter, self.flags, self.served)
        )
        assert isinstance(told, KvLayout), told
        return told

    def reckoned(self, role: Role = "target") -> list[str]:
        """What each of a context's caches takes, by the arithmetic; those of no size left out."""
        return [as_printed(part.reserved_bytes) for part in self.layout(role).parts if part.reserved_bytes]


def _facts(log: Path) -> list[Event]:
    parser = LineParser()
    return [fact for line in log.read_bytes().split(b"\n") for fact in parser.parse(line, 1.0)] + parser.flush()


async def load(
    spec: ServerSpec, log: Path, *, model: Path | None = None, drafter: Path | None = None, method: str | None = None
) -> Loaded:
    """Start a server at -lv 4, wait until it answers, end it, and read its log.

    Args:
        spec: what to run.
        log: where its log goes.
        model: a target to load instead of the spec's.
        drafter: a drafter to load.
        method: a drafting method that the lab has no model for.
    """
    more = {"-m": model, "-md": drafter, "--spec-type": method}
    words = [word for name, value in more.items() if value is not None for word in (name, str(value))]
    spec = replace(spec, extra=(*spec.extra, *words), verbosity=spec.verbosity or 4)
    async with LabServer(spec, log_path=log):
        pass
    facts = _facts(log)
    path = model or model_path(spec.target_model)
    draft = drafter or (model_path(spec.draft_model) if spec.draft_model else None)
    slots = [fact.fields for fact in facts if isinstance(fact, LogSaid) and fact.code == "n_slots"][-1]
    return Loaded(
        facts=facts,
        flags=parse_flags(["llama-server", *spec.argv(path, draft, 0)]),
        served=Served(
            n_ctx_slot=int(slots["n_ctx_slot"]), slots=int(slots["n_slots"]), unified=slots["kv_unified"] == "true"
        ),
        target=model_read(read_header(str(path)), "target", str(path), 0.0),
        drafter=model_read(read_header(str(draft)), "drafter", str(draft), 0.0) if draft else None,
    )
