"""Dispatch: parse, run one command, turn every end into its exit code."""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING

from specscope.cli.exits import INTERRUPTED, OK, USAGE, CommandError
from specscope.cli.parser import parse
from specscope.recording import RecordingError

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the result is the exit status. Messages go to stderr, results alone to stdout."""
    args = parse(sys.argv[1:] if argv is None else argv)
    if sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]  None when it was closed before the start
        sys.stderr.write("specscope: stdout is closed: there is nowhere to write the result\n")
        return USAGE
    try:
        # Each command's imports are paid by that command alone: Textual takes half a second.
        command = importlib.import_module(f"specscope.cli.{args.command}")
        status = int(command.run(args))
        sys.stdout.flush()
    except CommandError as error:
        sys.stderr.write(f"specscope: {error}\n")
        return error.code
    except RecordingError as error:  # a file that could be opened, and not read to its end
        sys.stderr.write(f"specscope: {error}\n")
        return USAGE
    except BrokenPipeError:
        # The reader went away (| head): nobody is left to tell, and closing stdout must not complain again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OK
    except OSError as error:  # a full disk behind stdout, a closed stdout
        sys.stderr.write(f"specscope: cannot write the result: {error.strerror or error}\n")
        return USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    return status


def entry() -> None:
    """The console script."""
    sys.exit(main())


__all__ = ["OK", "USAGE", "entry", "main"]
