"""The flags of a llama-server process. Pure: command line and environment in, values out."""

from specscope.flags.names import RENAMED_FROM, is_refused, name_before, names_today
from specscope.flags.parse import parse_flags, server_arguments
from specscope.flags.samplers import samplers_lettered, samplers_named
from specscope.flags.server_flags import VERBOSITY_ALL, Given, Origin, ServerFlags, Told, Value

__all__ = [
    "RENAMED_FROM",
    "VERBOSITY_ALL",
    "Given",
    "Origin",
    "ServerFlags",
    "Told",
    "Value",
    "is_refused",
    "name_before",
    "names_today",
    "parse_flags",
    "samplers_lettered",
    "samplers_named",
    "server_arguments",
]
