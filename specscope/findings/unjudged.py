"""What rules say alike where they cannot judge: what they wait for, and how to get it, or why they do not apply.

A rule asks these only once it has nothing to find: facts that were seen are judged, whatever became of the server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from specscope.findings.rule import Collecting, Inapplicable
from specscope.session.endpoint_off import told_by_props

if TYPE_CHECKING:
    from specscope.findings.rule import Seen, Unjudged
    from specscope.session.endpoint_off import Name
    from specscope.session.state import Session, Target

COMMAND_LINE: Final = Collecting("the server's command line (watch it on its own machine)")
ENVIRONMENT: Final = Collecting("the server's environment (on its own machine, as its user or root)")
LOG: Final = Collecting("the server's log (--log FILE)")
SLOTS: Final = Collecting("a look at /slots")
PLAIN: Final = Collecting("plain decode time (specscope recipe plain, then --runs FILE)")
DRAFTS: Final = Collecting("a count of drafts: --metrics, or LLAMA_TRACE=1 in the server's environment")
WIDTHS: Final = Collecting("the widths of the drafts: --metrics, or LLAMA_TRACE=1 in the server's environment")
HEADER: Final = Collecting("the header of the model file (watch the server on its own machine)")

SPECULATION_OFF: Final = Inapplicable("speculation is off")
TABLES_ALONE: Final = Inapplicable("only n-gram tables draft")
ON_CPU: Final = Inapplicable("graphs run on the CPU: there is no device that could wait")
SHARED_MEMORY: Final = Inapplicable("the GPU computes in the system's memory, or is cut into instances")
SYNTHETIC: Final = Inapplicable("drafts are accepted by chance (--spec-synth-rates)")

_ROUTER: Final = Inapplicable("a router decodes nothing itself")
_KEY: Final = Collecting("the server's key (--api-key-file FILE or LLAMA_API_KEY)")
_UP: Final = Collecting("the server to be up")
_METHODS: Final = Collecting("to know which methods draft (/slots, the log or the command line)")


def out_of_sight(target: Target) -> Unjudged | None:
    """Why nothing can be seen of a server's work; None: nothing keeps it from being seen."""
    match target.server:
        case "router":
            return _ROUTER
        case "needs_key":
            return _KEY
        case "down":
            return _UP
        case _:
            return None


def wait(target: Target, needs: str | Collecting) -> Unjudged:
    """A wait for something of the server, unless it keeps all from being seen."""
    return out_of_sight(target) or (needs if isinstance(needs, Collecting) else Collecting(needs))


def no_method(target: Target) -> Unjudged | None:
    """Why nothing can be said of drafts: none are made, or what makes them is not known; None: a method is in force."""
    types = target.config.types
    if types is None:
        return wait(target, _METHODS)
    return None if types else out_of_sight(target) or SPECULATION_OFF


def no_log(target: Target) -> Collecting | None:
    """A wait for the log of a server; None: it is read."""
    return None if any(source.name == "log" for source in target.sources) or target.log_said else LOG


def no_advice(target: Target) -> Unjudged:
    """Why no sampling parameter is compared with what is recommended."""
    if "target" in target.models or target.props is not None:
        return out_of_sight(target) or Inapplicable("nobody recommends a value: no profile, model file or card")
    return wait(target, "the model's name (/props or the header of its file)")


def not_off(target: Target, name: Name) -> Seen:
    """What a rule says of an endpoint that is not known to be off: nothing only where it is known to be on."""
    answers = any(source.name == name and source.state == "attached" for source in target.sources)
    return () if told_by_props(name, target.props) or answers else wait(target, f"an answer of /props or /{name}")


def no_gpu(target: Target, session: Session) -> Unjudged | None:
    """Why no GPU of a server can be judged; None: at least one that answers is known."""
    if any(use.gpu.lost is None for use in target.gpus):
        return None
    if target.gpus:
        return Inapplicable("the GPU does not answer any more")
    seen = bool(session.machine.gpus)
    return out_of_sight(target) or Inapplicable("this server is not seen on a GPU" if seen else "no GPU seen")


def untraced(target: Target) -> Unjudged | None:
    """Why nothing of a turn's parts is known; None: it is traced."""
    if target.trace is not None:
        return None
    lost = next((s for s in target.sources if s.name == "trace" and s.state == "lost"), None)
    if lost is not None:
        return out_of_sight(target) or Inapplicable(f"it is not traced: {lost.detail}")
    return wait(target, "a trace (--trace auto, as root)")
