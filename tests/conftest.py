"""Fixtures shared by all tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
for folder in (HERE, HERE / "truth"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test reads the settings or keys of whoever runs it."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in (
        "SPECSCOPE_CONFIG",
        "SPECSCOPE_URL",
        "SPECSCOPE_API_KEY",
        "SPECSCOPE_STACKS",
        "LLAMA_API_KEY",
        "NO_COLOR",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPECSCOPE_TRACE", "off")  # what root may see is asked for by the tests of tracing alone
