"""The models: built once, the same every time, whole or not there."""

from __future__ import annotations

import builtins
import hashlib
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, Never, get_args

import pytest

from specscope.lab import models
from specscope.lab.errors import DemoMissingError, UnwritableError
from specscope.lab.gguf_writer import written_atomically
from specscope.lab.models import ModelSpec, cache_dir, model_path
from specscope.lab.shapes import Family
from specscope.lab.vocabulary import lab_vocabulary

if TYPE_CHECKING:
    from pathlib import Path

FAMILIES = get_args(Family)


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


def test_the_vocabulary_has_300_tokens_and_each_once() -> None:
    vocabulary = lab_vocabulary()
    assert len(vocabulary.tokens) == len(vocabulary.types) == 300
    assert len(set(vocabulary.tokens)) == 300
    assert all("".join(merge.split(" ")) in vocabulary.tokens for merge in vocabulary.merges)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_model_is_the_same_wherever_it_is_built(
    family: Family, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = set()
    for place in ("one", "two"):
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / place))
        digests.add(_digest(model_path(ModelSpec(family))))
    assert len(digests) == 1


def test_a_model_that_is_there_is_used_as_it_is(empty_cache: Path) -> None:
    path = model_path(ModelSpec("target"))
    path.write_bytes(b"touched")
    assert model_path(ModelSpec("target")).read_bytes() == b"touched"


def test_sampling_defaults_make_another_file(empty_cache: Path) -> None:
    plain, tuned = model_path(ModelSpec("target")), model_path(ModelSpec("target", sampling={"min_p": 0.0}))
    assert plain != tuned
    assert b"general.sampling.min_p" in tuned.read_bytes()
    assert b"general.sampling" not in plain.read_bytes()


def test_builders_at_once_leave_whole_models_and_nothing_else(empty_cache: Path) -> None:
    specs = [ModelSpec(family) for family in FAMILIES] * 2
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        paths = set(pool.map(model_path, specs))
    assert set(cache_dir().iterdir()) == paths
    assert len(paths) == len(FAMILIES)


def test_where_the_cache_cannot_be_written_a_temporary_directory_takes_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()  # the tests may run as root, who may write to any directory
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    path = model_path(ModelSpec("target"))
    assert path.read_bytes().startswith(b"GGUF")
    assert tmp_path not in path.parents
    assert model_path(ModelSpec("target")) == path
    assert model_path(ModelSpec("dflash")).parent == path.parent


def test_a_model_that_can_be_written_nowhere_is_one_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(models, "_temporary_dir", lambda: tmp_path / "file")
    with pytest.raises(UnwritableError, match=r"XDG_CACHE_HOME or TMPDIR"):
        model_path(ModelSpec("target"))


def test_a_user_without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere() -> Never:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(models.Path, "home", nowhere)
    assert model_path(ModelSpec("target")).exists()


def test_a_build_that_fails_leaves_no_file(tmp_path: Path) -> Never:
    path = tmp_path / "model.gguf"

    def build() -> None:
        with written_atomically(path) as part:
            part.write_bytes(b"half a model")
            raise RuntimeError("midway")

    with pytest.raises(RuntimeError, match="midway"):
        build()
    assert list(tmp_path.iterdir()) == []


def test_without_the_demo_packages_the_error_says_what_to_install(
    empty_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    importing = builtins.__import__

    def refuse(name: str, *args: Any) -> object:  # noqa: ANN401 - as __import__:
        if name == "gguf":
            raise ModuleNotFoundError("No module named 'gguf'", name="gguf")
        return importing(name, *args)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(DemoMissingError, match=r"pip install 'specscope\[demo\]'"):
        model_path(ModelSpec("target"))
