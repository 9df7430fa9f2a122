"""A parser that fails in one line, and the kinds of numbers that its arguments may be."""

from __future__ import annotations

import argparse
import math
from typing import NoReturn

from specscope.cli.exits import USAGE


class Parser(argparse.ArgumentParser):
    """Ends with exit 2 and one line, without the usage text that hides it."""

    def error(self, message: str) -> NoReturn:
        """Print the message and a pointer to the help."""
        self.exit(USAGE, f"{self.prog}: {message} (see {self.prog} --help)\n")


def positive(text: str) -> float:
    """A number above 0.

    Raises:
        ArgumentTypeError: it is none.
    """
    value = _number(text)
    if not 0 < value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def count(text: str) -> int:
    """A whole number of 0 or more.

    Raises:
        ArgumentTypeError: it is none.
    """
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is not a whole number of 0 or more")
    return int(text)


def speed(text: str) -> float:
    """A number of 0 or more.

    Raises:
        ArgumentTypeError: it is none.
    """
    value = _number(text)
    if not 0 <= value < math.inf:
        raise argparse.ArgumentTypeError(f"{text} is not a number of 0 or more")
    return value


def _number(text: str) -> float:
    """A number, or NaN, which passes no comparison."""
    try:
        return float(text)
    except ValueError:
        return math.nan
