"""A library for servers whose code is looked at in memory."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import specscope


@pytest.fixture(scope="session")
def own_library(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a server whose library no other server has mapped.

    A probe may stand in every process that has mapped the same file.
    """
    import xllamacpp  # noqa: PLC0415  a module of 100 MB

    folder = tmp_path_factory.mktemp("library")
    shutil.copytree(Path(xllamacpp.__file__).parent, folder / "xllamacpp")
    return {"PYTHONPATH": os.pathsep.join([str(folder), str(Path(specscope.__file__).parent.parent)])}
