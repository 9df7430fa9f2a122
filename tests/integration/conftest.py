"""A library for servers whose code is looked at in memory."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path

import pytest

import specscope

LONG = Path(__file__).parent.parent.parent / "scripts" / "long"
if str(LONG) not in sys.path:  # CI runs a short form of what lies there
    sys.path.insert(0, str(LONG))


def _extension_folder() -> Path:
    """Where xllamacpp lies. It is not imported: a process that has it mapped is taken for a server."""
    spec = importlib.util.find_spec("xllamacpp")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent


@pytest.fixture(scope="session")
def own_library(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a server whose library no other server has mapped.

    A probe may stand in every process that has mapped the same file.
    """
    folder = tmp_path_factory.mktemp("library")
    shutil.copytree(_extension_folder(), folder / "xllamacpp")
    return {"PYTHONPATH": os.pathsep.join([str(folder), str(Path(specscope.__file__).parent.parent)])}
