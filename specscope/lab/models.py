"""Where the lab's models are, built on first use.

Files live in ``$XDG_CACHE_HOME`` (else ``~/.cache``) under ``specscope/lab-<format>``. They are deterministic
and appear under their final name only when complete, so any number of builders may run at once. Where that
directory cannot be written (a read-only home, one of another user), they live in a temporary one for as long as
this process.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from specscope.lab.errors import UnwritableError
from specscope.lab.families import architecture, fill
from specscope.lab.gguf_writer import GgufFile, written_atomically
from specscope.lab.shapes import SHAPES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from specscope.lab.shapes import Family, Size

FORMAT = 2
"""Raised whenever a model's content changes, so that a cache of an earlier version is never reused."""


@dataclass(frozen=True)
class ModelSpec:
    """A lab model. ``sampling`` becomes its ``general.sampling.*`` keys: the server's defaults for it."""

    family: Family
    size: Size = "quick"
    sampling: Mapping[str, float] = field(default_factory=dict[str, float])

    @property
    def file_name(self) -> str:
        """The file's name, which tells all variants apart."""
        variant = "".join(f"+{key}={value:g}" for key, value in sorted(self.sampling.items()))
        return f"{self.size}-{self.family}{variant}.gguf"


def cache_dir() -> Path:
    """Returns the directory of the models, which may not exist yet."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "specscope" / f"lab-{FORMAT}"


def model_path(spec: ModelSpec) -> Path:
    """Returns the path of a model, building it first if it is not there (well under a second each).

    Raises:
        DemoMissingError: It has to be built, and ``gguf`` or ``numpy`` is not installed.
        UnwritableError: It can be written neither to the cache nor to a temporary directory.
    """
    try:
        return _built(cache_dir(), spec)
    except (OSError, RuntimeError) as error:  # RuntimeError: a user without a home
        first = error
    try:
        return _built(_temporary_dir(), spec)
    except OSError as error:
        raise UnwritableError(first, error) from error


@cache
def _temporary_dir() -> Path:
    """Returns a directory that is removed when this process ends."""
    path = tempfile.mkdtemp(prefix="specscope-models-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    return Path(path)


def _built(directory: Path, spec: ModelSpec) -> Path:
    path = directory / spec.file_name
    if not path.exists():
        with written_atomically(path) as part:
            file = GgufFile(part, architecture(spec.family), SHAPES[spec.size].weights)
            file.put_all({f"general.sampling.{key}": value for key, value in sorted(spec.sampling.items())})
            fill(file, spec.family, spec.size)
            file.write()
    return path
