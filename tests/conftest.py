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
"""Tests that see less on a machine whose cores are all busy: a worker has them last, when the other is nearly done."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests with probes run in one worker, all others in another.

    A probe is armed for a file, so that it is hit by every server that has loaded it: two traces at once would slow
    each other down beyond what the tests allow for. Discovery looks at all processes of the machine, so that two tests
    which start servers for it would find each other's.
    """
    for item in items:
        alone = item.path.stem in CLOSE_TIMING or item.get_closest_marker("trace")
        item.add_marker(pytest.mark.xdist_group("probes" if alone else "others"))
    items.sort(key=lambda item: item.path.stem in CLOSE_TIMING)


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
