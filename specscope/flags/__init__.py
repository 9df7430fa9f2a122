"""The flags of a llama-server process. Pure: command line and environment in, values out."""

from specscope.flags.parse import parse_flags, server_arguments
from specscope.flags.server_flags import VERBOSITY_ALL, Given, Origin, ServerFlags

__all__ = ["VERBOSITY_ALL", "Given", "Origin", "ServerFlags", "parse_flags", "server_arguments"]
