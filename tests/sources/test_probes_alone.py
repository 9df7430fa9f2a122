"""What may run as root stays small: the standard library and the probes' own modules, in its text and when it runs."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import specscope.sources.probes
from specscope.sources.trace.access import HELPER

OWN = "specscope.sources.probes"
FILES = sorted(Path(specscope.sources.probes.__file__).parent.glob("*.py"))


def imported(path: Path) -> set[str]:
    """All modules that a file imports, wherever in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            assert node.module is not None
            names.add(node.module)
    return names


def test_there_is_something_to_look_at() -> None:
    assert {"helper", "burst", "program"} <= {path.stem for path in FILES}
    assert any(name.startswith(OWN) for path in FILES for name in imported(path))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_file_imports_the_standard_library_and_its_own(path: Path) -> None:
    foreign = {n for n in imported(path) if not n.startswith(f"{OWN}.")}
    assert {name.partition(".")[0] for name in foreign} <= set(sys.stdlib_module_names)


def test_the_running_helper_has_loaded_nothing_else() -> None:
    script = f"""
import sys
before = set(sys.modules)
import {HELPER}
print(*sorted(set(sys.modules) - before))
"""
    done = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    ours = {name for name in loaded if name.partition(".")[0] not in sys.stdlib_module_names}
    assert {"specscope", "specscope.sources", OWN, HELPER} <= ours
    assert {name for name in ours if not name.startswith(OWN)} == {"specscope", "specscope.sources"}
