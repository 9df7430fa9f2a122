"""Settings from the common flags."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specscope.cli.exits import CommandError
from specscope.settings import SettingsError, default_path, load_settings
from specscope.sources.address import key_problem

if TYPE_CHECKING:
    from argparse import Namespace

    from specscope.settings import Settings


def settings_of(args: Namespace) -> Settings:
    """Defaults < TOML < environment < flags.

    Raises:
        CommandError: a settings or key file, or a key, that cannot be used.
    """
    given: Any = vars(args)
    flags = {name: given.get(name) for name in ("log", "no_color", "ascii", "live_metrics_s", "trace", "stacks", "gpu")}
    key_file = given.get("api_key_file")
    if key_file is not None:
        flags["api_key"] = _key(Path(key_file))
    config = given.get("config")
    path = Path(config) if config is not None else default_path(os.environ, Path.home())
    try:
        settings = load_settings(path, os.environ, flags)
    except SettingsError as error:
        raise CommandError(str(error)) from error
    problem = key_problem(settings.api_key)
    if problem:
        raise CommandError(problem)
    return settings


def _key(path: Path) -> str:
    """The first line of a key file."""
    try:
        lines = path.read_text(encoding="utf-8").split()
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:  # whose text would show a byte of the key
        raise CommandError(f"{path}: not a text file") from error
    if not lines:
        raise CommandError(f"{path}: no key in it")
    return lines[0]
