"""Settings: defaults < TOML file < environment < flags."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from specscope.settings import Profile, Settings, SettingsError, default_path, load_settings, profile_for

KEY = "a-key-of-the-test"


def load(toml: str = "", environ: dict[str, str] | None = None, **flags: object) -> Settings:
    path = Path("settings.toml")
    path.write_text(toml, encoding="utf-8")
    return load_settings(path, environ or {}, flags)


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_nothing_set_is_the_defaults() -> None:
    assert load_settings(None, {}, {}) == load() == Settings()
    defaults = Settings()
    assert (defaults.url, defaults.api_key, defaults.live_metrics_s, defaults.profile) == (None, None, None, {})
    assert (defaults.refresh_hz, defaults.no_color, defaults.ascii) == (3.0, False, False)


def test_each_place_goes_before_the_one_below() -> None:
    toml = f'url = "http://toml"\nlog = "toml.log"\nascii = true\napi_key = "{KEY}"'
    environ = {"SPECSCOPE_URL": "http://environment", "LLAMA_API_KEY": "environment"}
    made = load(toml, environ, log="flag.log", api_key="flag")
    assert (made.url, made.log, made.ascii, made.api_key) == ("http://environment", "flag.log", True, "flag")


def test_a_flag_that_was_not_given_sets_nothing() -> None:
    assert load('log = "toml.log"', log=None).log == "toml.log"
    assert load("no_color = true", no_color=None).no_color is True
    assert load("no_color = true", no_color=False).no_color is False


@pytest.mark.parametrize(
    ("environ", "key"),
    [
        ({}, "toml"),
        ({"LLAMA_API_KEY": "llama"}, "llama"),
        ({"SPECSCOPE_API_KEY": "own"}, "own"),
        ({"SPECSCOPE_API_KEY": "own", "LLAMA_API_KEY": "llama"}, "own"),
        ({"SPECSCOPE_API_KEY": "", "LLAMA_API_KEY": ""}, "toml"),
    ],
)
def test_the_key_of_the_tool_goes_before_the_servers(environ: dict[str, str], key: str) -> None:
    assert load('api_key = "toml"', environ).api_key == key


@pytest.mark.parametrize(
    ("environ", "no_color"),
    [
        ({"NO_COLOR": "1"}, True),
        ({"NO_COLOR": "0"}, True),  # no-color.org: whatever its value, when it is not empty
        ({"NO_COLOR": ""}, False),
        ({"TERM": "dumb"}, True),
        ({"TERM": "xterm-256color"}, False),
        ({}, False),
    ],
)
def test_colours_are_left_out_where_the_environment_says_so(environ: dict[str, str], *, no_color: bool) -> None:
    assert load(environ=environ).no_color is no_color


def test_an_empty_address_in_the_environment_sets_nothing() -> None:
    assert load('url = "http://toml"', {"SPECSCOPE_URL": ""}).url == "http://toml"


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ("url = ", "Invalid value"),
        ("= 3", "settings.toml"),
        ("speed = 3", "unknown field `speed`"),
        ('refresh_hz = "fast"', r"\$\.refresh_hz"),
        ("refresh_hz = 0", r"\$\.refresh_hz"),
        ("refresh_hz = 60", r"\$\.refresh_hz"),
        ("refresh_hz = nan", r"\$\.refresh_hz"),
        ("live_metrics_s = 0", r"\$\.live_metrics_s"),
        ("live_metrics_s = -1", r"\$\.live_metrics_s"),
        ("url = 3", r"\$\.url"),
        ("no_color = 3", r"\$\.no_color"),
        ('[profile."x"]\nsampling = { min_p = "low" }', r'profile "x": .*\$\.sampling'),
        ('[profile."x"]\nsampling = { minp = 0 }', r'profile "x": .*\'minp\' \(did you mean min_p\?\)'),
        ('[profile."x"]\nsampling = { temp = 1 }', r'profile "x": .*\'temp\' \(did you mean temperature\?\)'),
        ('[profile."x"]\nsampling = { qqq = 1 }', r"profile \"x\": .*'qqq'$"),
        ("[profile]\nx = 3", r'profile "x": '),
        ('[profile."x"]\nsampler = {}', "unknown field `sampler`"),
        ("profile = 3", r"\$\.profile"),
        ("refresh_hz = " + "1" * 5000, "digits"),
        ("url = " + "[" * 5000, "nested too deeply"),
    ],
)
def test_what_cannot_be_used_is_named_with_its_file(toml: str, says: str) -> None:
    with pytest.raises(SettingsError, match=rf"^settings\.toml: .*{says}" if "settings" not in says else says):
        load(toml)


def test_a_wrong_flag_is_named_without_a_file() -> None:
    with pytest.raises(SettingsError, match=r"^settings: .*\$\.live_metrics_s"):
        load_settings(None, {}, {"live_metrics_s": -1.0})


def test_an_error_never_shows_the_key() -> None:
    with pytest.raises(SettingsError) as told:
        load(f'api_key = "{KEY}"\nspeed = 3')
    assert KEY not in str(told.value)


def test_a_file_that_cannot_be_read_is_named() -> None:
    with pytest.raises(SettingsError, match=r"^missing\.toml: No such file or directory$"):
        load_settings(Path("missing.toml"), {}, {})
    Path("binary.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match=r"binary\.toml"):
        load_settings(Path("binary.toml"), {}, {})


def test_numbers_in_quotes_are_numbers() -> None:
    assert load('refresh_hz = "8"\nlive_metrics_s = 5').refresh_hz == 8.0


def test_settings_do_not_change() -> None:
    with pytest.raises(AttributeError):
        Settings().url = "http://other"  # type: ignore[misc]


def test_every_setting_is_described() -> None:
    for kind in (Settings, Profile):
        described = kind.__doc__ or ""
        assert [f for f in kind.__struct_fields__ if f"        {f}: " not in described] == []
    assert set(msgspec.to_builtins(Settings())) == set(Settings.__struct_fields__)


# --- profiles --------------------------------------------------------------------------------------------------------

PROFILES = """
[profile.gemma]
match = "gemma-3"
sampling = { min_p = 0, temperature = 1.0 }
source = "the model card"

[profile."gemma, coding"]
match = "GEMMA"
sampling = { min_p = 0.02 }

[profile.rest]
sampling = { min_p = 0.1 }
"""


def chosen(settings: Settings, *names: str | None) -> Profile:
    """The profile that counts for a model; an empty one when none does."""
    found = profile_for(settings.profile, *names)
    return Profile() if found is None else found[1]


@pytest.mark.parametrize(
    ("names", "min_p"),
    [
        (("Gemma-3-27b-it",), 0.0),
        (("/models/gemma-2-9b.gguf",), 0.02),
        ((None, "", "x-GEMMA-3-y"), 0.0),
        (("qwen",), 0.1),
        ((None, None), 0.1),
        ((), 0.1),
    ],
)
def test_the_first_profile_that_is_part_of_a_name_counts(names: tuple[str | None, ...], min_p: float) -> None:
    assert chosen(load(PROFILES), *names).sampling["min_p"] == min_p


def test_a_profile_says_where_its_recommendation_comes_from() -> None:
    made = load(PROFILES)
    assert chosen(made, "gemma-3").source == "the model card"
    assert chosen(made, "gemma-2").source == "your profile"


def test_without_a_profile_nothing_is_recommended() -> None:
    assert chosen(Settings(), "any model") == Profile()
    assert chosen(load('[profile.x]\nmatch = "gemma"'), "qwen").sampling == {}


# --- where the file is -----------------------------------------------------------------------------------------------


def test_the_file_is_named_by_the_environment_or_lies_in_the_users_folder(tmp_path: Path) -> None:
    home, elsewhere = tmp_path / "home", tmp_path / "elsewhere"
    for folder in (home / ".config", elsewhere):
        (folder / "specscope").mkdir(parents=True)
    assert default_path({}, home) is None
    usual, moved = (f / "specscope" / "config.toml" for f in (home / ".config", elsewhere))
    usual.touch()
    assert default_path({}, home) == usual
    assert default_path({"XDG_CONFIG_HOME": ""}, home) == usual
    assert default_path({"XDG_CONFIG_HOME": str(elsewhere)}, home) is None
    moved.touch()
    assert default_path({"XDG_CONFIG_HOME": str(elsewhere)}, home) == moved


def test_a_home_that_cannot_be_looked_into_has_no_settings(tmp_path: Path) -> None:
    # As root nothing is forbidden; a name too long for the system fails alike.
    assert default_path({}, tmp_path / ("x" * 300)) is None


def test_a_file_named_by_the_environment_is_taken_whether_it_is_there_or_not(tmp_path: Path) -> None:
    # One that is missing is an error of the user, and load_settings says so.
    assert default_path({"SPECSCOPE_CONFIG": "/etc/s.toml"}, tmp_path) == Path("/etc/s.toml")
    assert default_path({"SPECSCOPE_CONFIG": "mine.toml"}, tmp_path) == Path("mine.toml")
    assert default_path({"SPECSCOPE_CONFIG": ""}, tmp_path) is None
