"""What is handed in: everything seen of a server that says something of its settings."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from specscope.events import Json, ModelRead, ProcessSeen, PropsRead
    from specscope.flags import ServerFlags
    from specscope.session.state import Config


@dataclass(frozen=True, slots=True)
class Seen:
    """The facts, as they stand.

    Attributes:
        asked: the parameters of the latest request; None: none was seen.
        slot_ctx: context of a slot, by /slots; slots: how many there are.
        build: the build's number, where it is known.
    """

    config: Config
    props: PropsRead | None = None
    process: ProcessSeen | None = None
    flags: ServerFlags | None = None
    models: Mapping[str, ModelRead] = field(default_factory=dict["str", "ModelRead"])
    said: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, "Mapping[str, str]"])
    asked: Mapping[str, Json] | None = None
    slot_ctx: int | None = None
    slots: int | None = None
    build: int | None = None

    @property
    def inside_python(self) -> bool:
        """The server runs inside a Python process, where no LLAMA_ARG_* variable is read (xllamacpp)."""
        return self.process is not None and self.process.host == "python"

    @property
    def under_router(self) -> bool:
        """A router started it, with its preset's options on the command line (tools/server/server-models.cpp)."""
        env = self.process.env if self.process is not None else None
        return bool(env) and "LLAMA_SERVER_ROUTER_PORT" in env

    @property
    def is_ik(self) -> bool:
        """ik_llama.cpp, which has defaults of its own and reads no ``general.sampling.*``."""
        return self.props is not None and self.props.kind == "ik_llama.cpp"
