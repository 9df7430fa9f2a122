"""Fixtures shared by all tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
for folder in (HERE, HERE / "truth"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))

import nvml_standin  # noqa: E402  it lies in a folder that is on the path from here on

CLOSE_TIMING = ("test_polling", "test_gpus_on_the_server", "test_economics_on_the_server")
"""Tests that see less on a machine whose cores are all busy: they are last, when nothing else runs any more."""

GROUPS = ("probes", "servers", "", "close timing")
"""What one worker has at a time, in the order in which it begins. The many tests without a group fill up the rest."""


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in the same hook
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests with probes run in one worker, those with servers in one, and both are begun before all others.

    A probe is armed for a file, so that it is hit by every server that has loaded it: two traces at once would slow
    each other down beyond what the tests allow for. Discovery looks at all processes of the machine, so that two tests
    which start servers for it would find each other's.
    """
    for item in items:
        if _group(item):
            item.add_marker(pytest.mark.xdist_group(_group(item)))
    items.sort(key=lambda item: GROUPS.index(_group(item)))


def _group(item: pytest.Item) -> str:
    if item.path.stem in CLOSE_TIMING:
        return "close timing"
    if item.get_closest_marker("trace"):
        return "probes"
    return "servers" if item.get_closest_marker("server") or "discovery" in item.path.stem else ""


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
    monkeypatch.setenv("SPECSCOPE_GPU", "off")  # and the GPUs of whoever runs it by the tests of the GPU source


@pytest.fixture(scope="session")
def nvml_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The NVML stand-in, compiled."""
    return nvml_standin.build(tmp_path_factory.mktemp("nvml"))


@pytest.fixture
def gpus(nvml_library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> nvml_standin.Gpus:
    """A machine without GPUs yet, in the way of this process and named to those it starts (nvml_standin)."""
    made = nvml_standin.Gpus(nvml_library, tmp_path / "gpus.txt")
    made.load()
    monkeypatch.setenv("NVML_STANDIN_SCRIPT", str(made.script))
    return made
