"""The colour themes that ``t`` steps through: two of our own, and three of Textual's that keep enough contrast."""

from __future__ import annotations

from typing import Final

from textual.theme import Theme

DARK: Final = Theme(
    name="specscope-dark",
    primary="#4fc3f7",
    secondary="#b39ddb",
    accent="#f2a65a",
    success="#8bd17c",
    warning="#ffc857",
    error="#ff6e6e",
    foreground="#dfe5ec",
    background="#10151b",
    surface="#171e26",
    panel="#202a35",
    dark=True,
)

LIGHT: Final = Theme(
    name="specscope-light",
    primary="#0a5fb4",
    secondary="#6b3fa0",
    accent="#a34700",
    success="#1a6b30",
    warning="#8a5200",
    error="#b4142c",
    foreground="#1c2128",
    background="#fbfaf6",
    surface="#f1efe8",
    panel="#e4e1d7",
    dark=False,
)

OWN: Final = (DARK, LIGHT)

CYCLE: Final = (DARK.name, LIGHT.name, "nord", "gruvbox", "solarized-light")
"""Names in the order ``t`` shows them."""
