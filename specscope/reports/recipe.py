"""The commands of a run to compare with, made from the running server's own command line: shell text, to be read first.

Every line is a command or a comment. Keys, tokens and prompts are not in it, for the facts do not have them.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from specscope.flags import rewrite, server_arguments
from specscope.flags.rewrite import SPEC_TYPE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from specscope.events import ProcessSeen
    from specscope.session.state import Target

MASK: Final = "***"
"""What stands in a command line for what is not told (sources/process.py)."""

OWN: Final = ("target weights", "projector", "target KV", "recurrent state", "compute buffers", "output buffers")
DRAFTERS: Final = ("drafter weights", "drafter KV")
"""Parts of the memory map that the other run has too, the drafter's where it drafts."""

GIB: Final = 2**30
REQUESTS: Final = (8, 64)
"""How many requests the load has at least, for a verdict on hundreds of steps, and at most."""

TOKENS: Final = 256

WORDS_LEFT_OUT: Final = "-md, -hfd and their like, --spec-type, --spec-default, --spec-draft-*, --spec-ngram-*"


@dataclass(frozen=True)
class Around:
    """What the target's state does not tell.

    Attributes:
        port: a free one beside the server's.
        cwd: the directory that the server was started in; None: not seen.
        key: requests must carry a key.
        label: what the server does, as the user named it.
        local: the server is on this machine.
    """

    port: int
    cwd: str | None = None
    key: bool = False
    label: str | None = None
    local: bool = True


@dataclass(frozen=True)
class Recipe:
    """One run: ``width`` tokens at most in a draft, 0 for none; the recording has this ``name``."""

    target: Target
    around: Around
    width: int

    @property
    def name(self) -> str:
        """The recording's file."""
        return f"width{self.width}.jsonl.gz" if self.width else "plain.jsonl.gz"

    def text(self) -> str:
        """The whole recipe."""
        run = f"drafts of at most {self.width} tokens" if self.width else "speculation off"
        lines = [f"# A run of {self._url} with {run}, to compare with how it runs now.", ""]
        if not self.width and self.target.config.types == ():
            lines += [f"# It does not speculate (by {self.target.config.types_from}): record it as it is.", ""]
            use = f"# 2. Then, for the server that speculates: specscope http://HOST:PORT --runs {self.name}"
            return "\n".join([*lines, *self._record(1, self._url), use]) + "\n"
        process = self.target.process
        if process is None or not _is_visible(process, self.target):
            lines += [*self._missing(process), ""]
            return "\n".join([*lines, *self._record(2, self._url), *self._use(3, again=True)]) + "\n"
        beside = self._fits() is not False
        lines += [*self._start(process, beside=beside), ""]
        there = self._there(beside=beside)
        return "\n".join([*lines, *self._record(2, there), *self._use(3, again=not beside)]) + "\n"

    @property
    def _url(self) -> str:
        url = urlsplit(self.target.url or "http://HOST:PORT")
        return url._replace(netloc=url.netloc.rpartition("@")[2]).geturl()

    def _there(self, *, beside: bool) -> str:
        """The other run's address: another port, or the running server's, whose place it takes."""
        if not beside:
            return self._url
        url = urlsplit(self._url)
        host = f"[{url.hostname}]" if url.hostname and ":" in url.hostname else url.hostname or "127.0.0.1"
        return url._replace(netloc=f"{host}:{self.around.port}").geturl()

    # --- the server -----------------------------------------------------------------------------------------------

    def _start(self, process: ProcessSeen, *, beside: bool) -> Iterator[str]:
        """The command, and what has to be known before it is run."""
        what = f"with at most {self.width} tokens in a draft" if self.width else "without speculation"
        where = f"beside it, on port {self.around.port}" if beside else "in its place: stop the running one first"
        yield f"# 1. In a terminal of its own, the same server {what}, {where}."
        yield from (f"#    {line}" for line in self._memory())
        arguments = list(server_arguments(process.argv))
        program = process.argv[: len(process.argv) - len(arguments)]
        if not program[1:] and "/" in program[0] and not program[0].startswith("/") and process.exe:
            program = [process.exe]
        made = self._arguments(arguments)
        final = rewrite.with_value(made.arguments, "--port", str(self.around.port)) if beside else made.arguments
        yield from (f"#    {line}" for line in self._notes(process, made.left_out, final))
        if self.around.cwd is not None:
            yield f"cd {shlex.quote(self.around.cwd)}"
        yield _command(process, [*program, *final], self._unset(process))

    def _arguments(self, arguments: Sequence[str]) -> rewrite.Rewritten:
        """The other run's arguments: a key in them comes from the environment, the log goes to a file of its own."""
        keyless = rewrite.without(arguments, lambda name: name == "--api-key").arguments
        made = rewrite.without(keyless, lambda name: not self.width and _unwanted(name))
        kept = made.arguments
        flags = self.target.flags
        if flags is not None and self.width:
            kept = rewrite.with_width(kept, flags, self.target.config.types or flags.spec_types, self.width)
        if flags is not None and flags.log_file is not None:
            kept = rewrite.with_value(kept, "--log-file", f"{flags.log_file}.{self.name.partition('.')[0]}")
        return rewrite.Rewritten(kept, made.left_out)

    def _unset(self, process: ProcessSeen) -> list[str]:
        """The variables that would draft: without them in the command, a shell's own would do."""
        if self.width:
            return []
        return list(dict.fromkeys([SPEC_TYPE, *rewrite.speculative_variables(process.env or {})]))

    def _notes(self, process: ProcessSeen, left_out: list[list[str]], final: list[str]) -> Iterator[str]:
        if left_out:
            yield f"Left out: {' '.join(shlex.join(words) for words in left_out)}"
        if process.env is None:
            yield "Its environment may not be read: LLAMA_ARG_* variables, if it has any, are missing here."
        elif SPEC_TYPE in process.env and not self.width:
            yield f"{SPEC_TYPE} is unset, because --spec-type none does not clear it."
        if self.around.key:
            yield "It wants a key, which is not shown: export LLAMA_API_KEY=... first, in both terminals."
        if any(MASK in word for word in final):
            yield f"{MASK} stands for what is not shown (a token, a password or a prompt): put it in."
        if not self.around.local:
            yield "It runs on another machine: so must this."
        for preset in (name for name in rewrite.PRESETS if name in final and not self.width):
            yield f"{preset} brings its own drafter: name its model alone instead (-hf)."

    def _missing(self, process: ProcessSeen | None) -> Iterator[str]:
        """What to do where the command line cannot be seen."""
        why = "it runs inside Python" if process is not None and process.host == "python" else "no process was found"
        if not self.around.local:
            why = "it is on another machine"
        yield f"# 1. Its command line is not visible here ({why}): start it again yourself, with the same flags"
        if self.width:
            yield f"#    but {rewrite.DRAFT_WIDTH} {self.width} (for n-gram methods the flag of their own width)."
        else:
            yield f"#    less the speculative ones: {WORDS_LEFT_OUT};"
            yield f"#    and with {SPEC_TYPE} unset, because --spec-type none does not clear it."
        if self.around.key:
            yield "#    It wants a key: export LLAMA_API_KEY=... first."

    # --- memory ---------------------------------------------------------------------------------------------------

    def _needed(self) -> int | None:
        """Bytes of device memory that the other run takes; None where that is not known."""
        known = self.target.memory.device
        if known is None or "target weights" not in {part.name for part in known.parts}:
            return None
        names = (*OWN, *DRAFTERS) if self.width else OWN
        return sum(part.bytes for part in known.parts if part.name in names)

    def _fits(self) -> bool | None:
        known, needed = self.target.memory.device, self._needed()
        return None if known is None or known.free_bytes is None or needed is None else needed < known.free_bytes

    def _memory(self) -> Iterator[str]:
        known, needed = self.target.memory.device, self._needed()
        if known is not None and known.free_bytes is not None and needed is not None:
            yield f"It takes about {needed / GIB:.1f} GiB of device memory; {known.free_bytes / GIB:.1f} are free."
        else:
            yield "If memory does not suffice for both, stop the running one first."

    # --- recording and using it -----------------------------------------------------------------------------------

    def _record(self, number: int, url: str) -> Iterator[str]:
        label = f" --label {shlex.quote(self.around.label)}" if self.around.label else ""
        yield f"# {number}. When it answers: record it under the same load as now, while nothing else works there."
        if not label:
            yield "#    (--label code, prose, ... says in the recording what the work was)"
        yield f"specscope record {shlex.quote(url)} -o {self.name}{label} &"
        yield "sleep 3"
        yield f"{self._load(url)}  # or your own prompts, the same for both"
        yield "kill $!; wait"
        yield ""

    def _load(self, url: str) -> str:
        lengths = sorted(r.generated for r in self.target.requests if r.generated and r.ended_at is not None)
        least, most = REQUESTS
        requests, tokens = min(most, max(least, len(lengths))), lengths[len(lengths) // 2] if lengths else TOKENS
        words = f"--requests {requests} --tokens {tokens} --concurrency {self.target.economics.slots}"
        return f"specscope lab load {shlex.quote(url)} {words}"

    def _use(self, number: int, *, again: bool) -> Iterator[str]:
        start = "Start the server again as it was, and compare" if again else "Compare"
        yield f"# {number}. {start} with it (snapshot and check do so too)."
        yield f"specscope {shlex.quote(self._url)} --runs {self.name}"


def _is_visible(process: ProcessSeen, target: Target) -> bool:
    """Whether the command line is a server's: it names a model, or says where to take one from."""
    flags = target.flags
    if not process.argv or flags is None:
        return False
    env = process.env or {}
    named = flags.model or flags.model_repo or {"LLAMA_ARG_MODEL_URL", "LLAMA_ARG_DOCKER_REPO"} & set(env)
    others = ("-mu", "--model-url", "-dr", "--docker-repo", *rewrite.PRESETS)
    return bool(named) or any(word in others or word.endswith("-default") for word in process.argv)


def _unwanted(name: str) -> bool:
    return rewrite.is_speculative(name) and name not in rewrite.PRESETS


def _command(process: ProcessSeen, argv: list[str], unset: list[str]) -> str:
    """The command with the variables that the server was started with."""
    kept = {name: value for name, value in (process.env or {}).items() if name not in unset}
    words = [*(word for name in unset for word in ("-u", name)), *(f"{name}={value}" for name, value in kept.items())]
    return shlex.join([*(["env", *words] if words else []), *argv])
