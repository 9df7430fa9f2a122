"""Reads a llama-server command line and environment the way the server does.

Grammar: common_params_parse_ex() of common/arg.cpp in llama.cpp b11434. The environment is applied first,
then the command line; the last one wins, except that ``--spec-type`` adds up (``none`` switches nothing off).
``_`` stands for ``-`` in names that begin with two dashes.
"""

from __future__ import annotations

import math
import re
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from specscope.flags import table
from specscope.flags.samplers import samplers_lettered, samplers_named
from specscope.flags.server_flags import VERBOSITY_ALL, Given, ServerFlags, Told

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from specscope.flags.server_flags import Origin

_TRUE, _FALSE = ("on", "enabled", "true", "1"), ("off", "disabled", "false", "0")
_BARE_KINDS = ("yes", "yes_no", "all", "default")
_INT = re.compile(r"\s*([+-]?\d+)")  # std::stoi takes the number that leads and drops the rest
_FLOAT = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)")
_NUMBER = re.compile(r"-\.?\d")
_INTERPRETER = re.compile(r"python[\d.]*(\.exe)?$")


class _Flag(NamedTuple):
    field: str
    kind: str
    env: str
    sampling: bool


def _tables() -> tuple[dict[str, tuple[_Flag, bool]], list[_Flag]]:
    """Every name that is read, with whether it switches on; and the flags that have a variable."""
    names: dict[str, tuple[_Flag, bool]] = {}
    variables: list[_Flag] = []
    for text, sampling in ((table.FLAGS, False), (table.SAMPLING, True)):
        for line in text.strip().splitlines():
            field, kind, on, env, off = ([part.strip() for part in line.split("|")] + ["", ""])[:5]
            flag = _Flag(field, kind, env, sampling)
            names |= dict.fromkeys(on.split(), (flag, True)) | dict.fromkeys(off.split(), (flag, False))
            variables += [flag] if env else []
    return names, variables


NAMES, _VARIABLES = _tables()
WORDS: dict[str, int] = {n: k for k, names in ((1, table.ONE_VALUE), (0, table.NO_VALUE)) for n in names.split()}
WORDS[table.TWO_VALUES] = 2
REMOVED = frozenset(table.REMOVED_FLAGS)


def parse_flags(argv: Sequence[str], env: Mapping[str, str] | None = None) -> ServerFlags:
    """What a server was told.

    Args:
        argv: the whole command line, the program first (a subcommand or a Python interpreter is passed over).
        env: its environment, or None where that is not known.

    Returns:
        The flags. What cannot be read is listed in ``malformed``, ``unknown`` and ``equals_form``.
    """
    found = _Found()
    found.read_environment(env or {})
    found.read_arguments(server_arguments(argv))
    return ServerFlags(**found.values, **found.lists())


def server_arguments(argv: Sequence[str]) -> Sequence[str]:
    """The arguments of the server itself: without the program, and without what a Python interpreter takes."""
    if not argv or not _INTERPRETER.match(argv[0].replace("\\", "/").rpartition("/")[2]):
        return argv[1:]
    at = 1
    while at < len(argv) and argv[at].startswith("-"):
        if argv[at][:2] in ("-m", "-c"):
            return argv[at + 1 + (len(argv[at]) == len("-m")) :]
        at += 2 if argv[at] in ("-X", "-W", "--check-hash-based-pycs") else 1
    return argv[at + 1 :]


def grouped(arguments: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Each argument by its name, with ``-`` for ``_``, and as the words it was written with: itself, and its values."""
    words = iter(arguments)
    for word in words:
        name = word.replace("_", "-") if word.startswith("--") else word
        yield name, [word, *islice(words, _values(name))]


def _values(name: str) -> int:
    """How many words follow an argument."""
    if name in NAMES:
        return int(NAMES[name][0].kind not in _BARE_KINDS)
    return 1 if name in REMOVED else WORDS.get(name, 0)


class _Found:
    """What has been read so far."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.sampling: dict[str, Given] = {}
        self.origins: dict[str, Origin] = {}
        self.told: list[Told] = []
        self.removed: dict[str, str] = {}
        self.equals_form: list[str] = []
        self.malformed: list[str] = []
        self.unknown: list[str] = []

    def lists(self) -> dict[str, Any]:
        return {
            "sampling": self.sampling,
            "origins": self.origins,
            "told": tuple(self.told),
            "removed": self.removed,
            "equals_form": tuple(self.equals_form),
            "malformed": tuple(self.malformed),
            "unknown": tuple(self.unknown),
        }

    def read_environment(self, env: Mapping[str, str]) -> None:
        for flag in _VARIABLES:
            no = flag.env.replace("LLAMA_ARG_", "LLAMA_ARG_NO_")
            if flag.kind == "yes_no" and no in env:
                self.take(flag, no, "0", "environment")  # present is enough, whatever its value
            elif flag.env in env:
                self.take(flag, flag.env, env[flag.env], "environment")
        self.removed |= {name: env[name] for name in table.REMOVED_VARIABLES if name in env}
        self.values["spec_types_environment"] = self.values.get("spec_types", ())

    def read_arguments(self, arguments: Sequence[str]) -> None:
        for name, (word, *values) in grouped(arguments):
            if name in NAMES:
                flag, on = NAMES[name]
                value = ("1" if on else "0") if flag.kind in _BARE_KINDS else next(iter(values), None)
                self.take(flag, name, value, "command line")
            elif name in REMOVED:
                self.removed[name] = next(iter(values), "")
            elif name in WORDS:
                pass
            elif word.startswith("-") and not _NUMBER.match(word):
                head, equals, _ = name.partition("=")
                known = head in NAMES or head in WORDS or head in REMOVED
                (self.equals_form if equals and known else self.unknown).append(head)

    def take(self, flag: _Flag, name: str, text: str | None, origin: Origin) -> None:
        """Set a flag from its text; a missing or unreadable one is malformed and changes nothing."""
        try:
            value = _value(flag.kind, text)
        except ValueError:
            self.malformed.append(name)
            return
        if value is None:
            return
        self.told.append(Told(flag.field, value, origin, name))
        if flag.sampling:
            self.sampling[flag.field] = Given(value, origin)
            return
        self.origins[flag.field] = origin
        if flag.field == "spec_types":
            value = (*self.values.get("spec_types", ()), *value)
        self.values[flag.field] = value


def _value(kind: str, text: str | None) -> Any:  # noqa: ANN401 - one of the types of the fields of ServerFlags
    """The value of a flag; None for a bare flag whose variable says no, which the server passes over.

    Raises:
        ValueError: the text is missing or is not of that kind.
    """
    if text is None:
        raise ValueError("no value")
    if kind in _BARE_KINDS:
        if kind == "yes_no" and text not in _TRUE + _FALSE:
            raise ValueError("neither yes nor no")
        off = False if kind == "yes_no" else None
        return _STANDS_FOR.get(kind, True) if text in _TRUE else off
    return _READERS[kind](text)


def _int(text: str) -> int:
    return int(_number(_INT, text))


def _float(text: str) -> float:
    value = float(_number(_FLOAT, text))
    if not math.isfinite(value):
        raise ValueError("out of range")
    return value


def _number(form: re.Pattern[str], text: str) -> str:
    found = form.match(text)
    if found is None:
        raise ValueError("not a number")
    return found[1]


_STANDS_FOR: dict[str, Any] = {"all": VERBOSITY_ALL, "default": ("ngram-mod",)}
_READERS: dict[str, Callable[[str], Any]] = {
    "text": str,
    "int": _int,
    "float": _float,
    "floats": lambda text: tuple(_float(part) for part in text.split(",")),
    "types": lambda text: tuple(part for part in text.split(",") if part),
    "key": bool,
    "samplers": samplers_named,
    "sampler_letters": samplers_lettered,
}
