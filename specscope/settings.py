"""Settings: defaults < TOML file < environment < flags. Frozen; one field, one meaning."""

from __future__ import annotations

import difflib
import math
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, cast

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping


SAMPLING_NAMES: Final = (
    "adaptive_decay",
    "adaptive_target",
    "dry_allowed_length",
    "dry_base",
    "dry_multiplier",
    "dry_penalty_last_n",
    "dynatemp_exponent",
    "dynatemp_range",
    "frequency_penalty",
    "min_keep",
    "min_p",
    "mirostat",
    "mirostat_eta",
    "mirostat_tau",
    "presence_penalty",
    "repeat_last_n",
    "repeat_penalty",
    "seed",
    "temperature",
    "top_k",
    "top_n_sigma",
    "top_p",
    "typical_p",
    "xtc_probability",
    "xtc_threshold",
)
"""The numeric sampling parameters of a request, by llama-server's names (tools/server/server-schema.cpp)."""

SWITCH: Final = {"on": True, "off": False}
"""What SPECSCOPE_GPU may say beside 1, 0, true and false."""

LEAST_LIKENESS: Final = 0.4
"""How alike a name must be to be suggested; ``temp`` and ``temperature`` reach 0.53."""


class SettingsError(ValueError):
    """A settings file or value that cannot be used; the message names the file and the field."""


class Profile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the user holds to be right for a model: ``[profile."name"]`` in the TOML file.

    Attributes:
        match: part of the model's name, alias or file name (case ignored); empty matches every model.
        sampling: recommended sampling parameters by llama-server's names (``min_p``, ``temperature``, ...).
        source: where the recommendation comes from, shown with it (a model card, a paper).
    """

    match: str = ""
    sampling: dict[str, float] = {}
    source: str = "your profile"

    def fits(self, *names: str | None) -> bool:
        """Whether any of a model's names contains this profile's ``match``; an empty one needs no name."""
        return not self.match or any(self.match.lower() in name.lower() for name in names if name)


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Everything a user can set once.

    Attributes:
        url: server to watch when none is named.
        api_key: bearer token; better in LLAMA_API_KEY or a file than in TOML.
        log: path of the server's log, or ``-`` for standard input.
        refresh_hz: how often the screen is painted, 1-10 per second; three cost 4 % of a core at 120x40.
        theme: a Textual theme's name.
        no_color: draw without colour (NO_COLOR in the environment does the same).
        ascii: draw with ASCII characters only.
        live_metrics_s: read /metrics at this interval even while the server is busy; each read resets the
            server's rate gauges for every other reader, so the default reads only when requests have ended.
        trace: probes on the server's process: ``off``; ``cheap``: cycles and the parts of a turn; ``auto``: all that
            is permitted, the dear probes in bursts of 0.3 s in 20 s; ``full``: the dear ones all the time.
        stacks: sample the Python frames of a server that runs inside Python (py-spy); others say that they have none.
        gpu: watch the GPUs of this machine (NVML) when a watched server is on it.
        profile: recommendations by name.
    """

    url: str | None = None
    api_key: str | None = None
    log: str | None = None
    refresh_hz: Annotated[float, msgspec.Meta(ge=1, le=10)] = 3.0
    theme: str | None = None
    no_color: bool = False
    ascii: bool = False
    live_metrics_s: Annotated[float, msgspec.Meta(gt=0)] | None = None
    trace: Literal["auto", "off", "cheap", "full"] = "auto"
    stacks: bool = False
    gpu: bool = True
    profile: dict[str, Profile] = {}


def profile_for(profiles: Mapping[str, Profile], *names: str | None) -> tuple[str, Profile] | None:
    """The first profile that fits one of a model's names, with its own name; None when none does."""
    return next(((name, profile) for name, profile in profiles.items() if profile.fits(*names)), None)


def load_settings(path: Path | None, environ: Mapping[str, str], flags: Mapping[str, Any]) -> Settings:
    """Put the settings together.

    Args:
        path: the TOML file; None or a missing default file means none.
        environ: the environment: NO_COLOR, LLAMA_API_KEY, SPECSCOPE_API_KEY, SPECSCOPE_URL, SPECSCOPE_TRACE,
            SPECSCOPE_STACKS, SPECSCOPE_GPU.
        flags: values from the command line; None ones are not set.

    Raises:
        SettingsError: the file is not TOML, or a field is unknown, of the wrong type or out of range, or a
            profile names a sampling parameter that llama-server does not know.
    """
    values: dict[str, Any] = {}
    if path is not None:
        try:
            values = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:  # whose text would name the file a second time
            raise SettingsError(f"{path}: {error.strerror or error}") from error
        except ValueError as error:  # no UTF-8, no TOML, or a number of thousands of digits
            raise SettingsError(f"{path}: {error}") from error
        except RecursionError as error:
            raise SettingsError(f"{path}: nested too deeply") from error
    _check_profiles(values.get("profile"), path)
    values.update(_of_environment(environ))
    values.update({k: v for k, v in flags.items() if v is not None})
    try:
        return msgspec.convert(values, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise SettingsError(f"{path or 'settings'}: {error}") from error


def _of_environment(environ: Mapping[str, str]) -> dict[str, Any]:
    """What the environment sets; an empty variable sets nothing."""
    values: dict[str, Any] = {}
    key = key_in(environ)
    if key:
        values["api_key"] = key
    for name in ("url", "trace", "stacks", "gpu"):
        if environ.get(f"SPECSCOPE_{name.upper()}"):
            values[name] = environ[f"SPECSCOPE_{name.upper()}"]
    if "gpu" in values:
        values["gpu"] = SWITCH.get(values["gpu"], values["gpu"])
    if environ.get("NO_COLOR") or environ.get("TERM") == "dumb":
        values["no_color"] = True
    return values


def key_in(environ: Mapping[str, str]) -> str | None:
    """The server's key in the environment; the tool's own variable goes before the server's."""
    return environ.get("SPECSCOPE_API_KEY") or environ.get("LLAMA_API_KEY") or None


def _check_profiles(profiles: object, path: Path | None) -> None:
    """Check each profile by itself, so that an error names the profile it stands in.

    Raises:
        SettingsError: a field or a sampling parameter is unknown, or a value is of the wrong type.
    """
    if not isinstance(profiles, dict):
        return
    for name, fields in cast("dict[str, object]", profiles).items():
        where = f'{path or "settings"}: profile "{name}"'
        try:
            profile = msgspec.convert(fields, Profile, strict=False)
        except msgspec.ValidationError as error:
            raise SettingsError(f"{where}: {error}") from error
        for key, value in profile.sampling.items():
            if not math.isfinite(value):
                raise SettingsError(f"{where}: {key} = {value} is no value")
            if key not in SAMPLING_NAMES:
                like = difflib.get_close_matches(key, SAMPLING_NAMES, 1, LEAST_LIKENESS)
                hint = f" (did you mean {like[0]}?)" if like else ""
                raise SettingsError(f"{where}: llama-server has no sampling parameter {key!r}{hint}")


def default_path(environ: Mapping[str, str], home: Path) -> Path | None:
    """``$SPECSCOPE_CONFIG``, else ``$XDG_CONFIG_HOME/specscope/config.toml`` if there is one that may be looked for."""
    if environ.get("SPECSCOPE_CONFIG"):
        return Path(environ["SPECSCOPE_CONFIG"])
    base = home / (environ.get("XDG_CONFIG_HOME") or ".config")
    path = base / "specscope" / "config.toml"
    try:
        return path if path.is_file() else None
    except OSError:  # a home of another user, as after su: its settings are not this user's
        return None
