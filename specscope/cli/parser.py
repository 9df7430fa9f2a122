"""The command line: one parser per command, flags that mean the same everywhere said once."""

from __future__ import annotations

import argparse
import difflib
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from specscope import __version__
from specscope.cli.arguments import Parser, count, positive, speed
from specscope.cli.exits import USAGE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Protocol

    class Commands(Protocol):
        """What ``add_subparsers`` returns; its own class is private to argparse."""

        def add_parser(self, name: str, *, parents: Sequence[Parser] = ..., help: str = ...) -> Parser:  # noqa: A002  argparse's own name
            """A parser for one command."""
            ...


COMMANDS: Final = (
    "live",
    "demo",
    "snapshot",
    "stream",
    "record",
    "replay",
    "export",
    "check",
    "recipe",
    "explain",
    "doctor",
    "stacks",
    "lab",
)

DESCRIPTION: Final = """\
A live profiler for speculative decoding on llama-server. Without a command it opens the screen on TARGET:
an address, a recording, or nothing (servers are then looked for: process table, ports 8080 and 9931)."""

USAGE_TEXT: Final = """\
specscope [TARGET] [options]
       specscope COMMAND [options]"""

EPILOG: Final = """\
specscope live --help shows the options of the screen (--pid, --log, --api-key-file, --label, --live-metrics,
--trace, --no-gpu, --config, --no-color, --ascii); specscope COMMAND --help those of a command."""

RUNNING: Final = "address of a running server"
SERVER_OR_RECORDING: Final = "address of a server, or a recording"

BARE_WORD: Final = re.compile(r"\w[\w-]*")
"""What may be a misspelt command: no address with a port, a domain or a path, and no option."""


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse a command line; ``specscope [URL]`` is ``specscope live [URL]``."""
    words = list(argv)
    parser = _parser()
    if _names_command(words):
        return parser.parse_args(words)
    if words:
        _refuse_bare_word(parser, words[0])
    args = parser.parse_args(["live", *words])
    _refuse_bare_word(parser, args.target)
    return args


def _refuse_bare_word(parser: Parser, word: str | None) -> None:
    """Without a command in front of it, a lone word is a command misspelt and no host, unless a file has its name."""
    if not word or word.isdecimal() or word == "localhost" or not BARE_WORD.fullmatch(word) or Path(word).exists():
        return
    like = difflib.get_close_matches(word, COMMANDS, 1)
    hint = f"did you mean {like[0]}?" if like else "a server is named HOST:PORT"
    parser.exit(USAGE, f"specscope: no command {word!r} ({hint})\n")


def _names_command(words: Sequence[str]) -> bool:
    if not words:
        return False
    first = words[0]
    return first in COMMANDS or first in ("-h", "--help", "-V", "--version")


def _parser() -> Parser:
    parser = Parser(
        prog="specscope",
        usage=USAGE_TEXT,
        description=DESCRIPTION,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-V", "--version", action="version", version=f"specscope {__version__}")
    commands: Commands = parser.add_subparsers(
        prog="specscope", dest="command", required=True, metavar="COMMAND", parser_class=Parser
    )
    common = _common()
    screen, runs = _screen(), _runs()
    live = commands.add_parser("live", parents=[common, runs, screen], help="the live screen (the default)")
    _target(live)
    _demo(commands, screen)
    _watchers(commands, common, runs)
    _replay(commands, screen, runs)
    _export(commands, common)
    _check(commands, common, runs)
    _recipe(commands, common)
    explain = commands.add_parser("explain", help="what a rule looks at, why it matters, what to do")
    explain.add_argument("rule", nargs="?", metavar="CODE|NAME", help="one rule; without it, the list of all")
    explain.add_argument("--markdown", action="store_true", help="all rules as a document")
    doctor = commands.add_parser("doctor", parents=[common], help="what can be seen here, and what would lift it")
    _target(doctor, RUNNING)
    stacks = commands.add_parser("stacks", parents=[common], help="Python frames of a server inside Python (py-spy)")
    _target(stacks)
    _seconds(stacks, 5.0)
    stacks.add_argument("--json", action="store_true")
    _lab(commands)
    return parser


def _watchers(commands: Commands, common: Parser, runs: Parser) -> None:
    snap = commands.add_parser("snapshot", parents=[common, runs], help="watch for a while, print the state")
    _target(snap)
    _seconds(snap, 5.0)
    snap.add_argument("--json", action="store_true", help="as JSON (schema version 1)")
    stream = commands.add_parser("stream", parents=[common], help="facts as JSON lines on stdout")
    _target(stream)
    _seconds(stream, None)
    record = commands.add_parser("record", parents=[common, runs], help="write facts to a file")
    _target(record, RUNNING)
    _seconds(record, None)
    record.add_argument("-o", "--output", required=True, metavar="FILE", help="new file; .gz compresses it")


def _replay(commands: Commands, screen: Parser, runs: Parser) -> None:
    replay = commands.add_parser("replay", parents=[screen, runs], help="play a recording in the screen")
    replay.add_argument("file", metavar="FILE")
    replay.add_argument(
        "--speed", type=speed, default=1.0, metavar="X", help="1 is the recorded pace (default), 0 all at once"
    )
    replay.add_argument("--config", metavar="FILE", help="settings file (TOML)")


def _export(commands: Commands, common: Parser) -> None:
    export = commands.add_parser("export", parents=[common], help="a trace as a file for Perfetto (ui.perfetto.dev)")
    _target(export)
    export.add_argument("--perfetto", required=True, metavar="FILE", help="new file: Chrome trace JSON")
    text = "how long to watch (default 5); of a recording, its last N seconds (default: all)"
    export.add_argument("--seconds", type=positive, metavar="N", help=text)


def _target(parser: argparse.ArgumentParser, text: str = SERVER_OR_RECORDING) -> None:
    parser.add_argument("target", nargs="?", metavar="TARGET", help=text)


def _seconds(parser: argparse.ArgumentParser, default: float | None) -> None:
    text = "how long to watch once every source is attached" + ("" if default is None else f" (default {default:g})")
    parser.add_argument("--seconds", type=positive, default=default, metavar="N", help=text)


def _common() -> Parser:
    common = Parser(add_help=False)
    group = common.add_argument_group("common")
    group.add_argument("--pid", type=int, metavar="PID", help="the server's process instead of its address")
    group.add_argument("--log", metavar="FILE|-", help="the server's log; - reads it from standard input")
    group.add_argument("--api-key-file", metavar="FILE", help="file with the server's key (or set LLAMA_API_KEY)")
    group.add_argument("--label", metavar="TEXT", help="what the server does (code, prose, ...), kept with the facts")
    group.add_argument("--config", metavar="FILE", help="settings file (TOML)")
    group.add_argument(
        "--live-metrics",
        type=positive,
        metavar="S",
        dest="live_metrics_s",
        help="read /metrics every S seconds even while busy (each read resets its rate gauges for every reader)",
    )
    group.add_argument(
        "--trace",
        choices=("auto", "off", "cheap", "full"),
        help="probes on the server: auto is all that is permitted (as root; the dear ones 0.3 s in 20 s)",
    )
    group.add_argument(
        "--stacks", action="store_true", default=None, help="also sample the Python frames of a server inside Python"
    )
    group.add_argument(
        "--gpu",
        action=argparse.BooleanOptionalAction,
        help="watch this machine's NVIDIA GPUs too (the default; a server on another machine has none here)",
    )
    return common


def _runs() -> Parser:
    runs = Parser(add_help=False)
    text = "recordings of the same model to compare with, as one with speculation off (after TARGET)"
    runs.add_argument("--runs", nargs="+", action="extend", metavar="FILE", help=text)
    return runs


def _screen() -> Parser:
    screen = Parser(add_help=False)
    group = screen.add_argument_group("screen")
    group.add_argument("--no-color", action="store_true", default=None, help="no colours (as NO_COLOR)")
    group.add_argument("--ascii", action="store_true", default=None, help="ASCII characters only")
    return screen


def _demo(commands: Commands, screen: Parser) -> None:
    demo = commands.add_parser("demo", parents=[screen], help="a real server, real load, and the screen on it")
    demo.add_argument("--seconds", type=positive, metavar="N", help="end after N seconds")
    demo.add_argument("--json", action="store_true", help="print the snapshot instead of the screen")
    demo.add_argument("--no-trace", action="store_true", help="without LLAMA_TRACE: cycles by polling")
    demo.add_argument("--config", metavar="FILE", help="settings file (TOML)")


def _check(commands: Commands, common: Parser, runs: Parser) -> None:
    check = commands.add_parser("check", parents=[common, runs], help="findings; exit 1 when there are any that count")
    _target(check)
    _seconds(check, 3.0)
    form = check.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true")
    form.add_argument("--markdown", action="store_true", help="to paste into an issue")
    check.add_argument(
        "--fail-on",
        choices=("info", "warning", "critical"),
        default="warning",
        help="least severity that gives exit 1 (default warning)",
    )
    check.add_argument("--against", metavar="FILE", help="a recording to compare with: what changed since")


def _recipe(commands: Commands, common: Parser) -> None:
    recipe = commands.add_parser("recipe", help="the commands of a run to compare with, from the server's own flags")
    which = recipe.add_subparsers(dest="recipe", required=True, metavar="plain|width", parser_class=Parser)
    _target(which.add_parser("plain", parents=[common], help="with speculation off"))
    width = which.add_parser("width", parents=[common], help="with drafts of at most K tokens")
    width.add_argument("width", type=count, metavar="K", help="0 is speculation off")
    _target(width)


def _lab(commands: Commands) -> None:
    lab = commands.add_parser("lab", help="the bench: a real server on small random models, and load for it")
    which = lab.add_subparsers(dest="lab_command", required=True, metavar="serve|load", parser_class=Parser)
    _lab_serve(which.add_parser("serve", help="run a real server until Ctrl+C"))
    _lab_load(which.add_parser("load", help="drive requests"))


def _lab_serve(serve: Parser) -> None:
    types = "dflash (default), dflash2, dspark, eagle3, mtp, mtp3, draft-simple, ngram-simple, ..; none"
    serve.add_argument("--spec", default="dflash", metavar="TYPES", help=types)
    serve.add_argument("--n-max", type=int, metavar="N", help="draft width (default 3, the server's own)")
    rates = "synthetic acceptance per position (default: none, drafts are verified)"
    serve.add_argument("--rates", metavar="P0,P1,..", help=rates)
    serve.add_argument(
        "--size", choices=("quick", "wordy", "paying", "gpu"), default="quick", help="of the models (gpu: 2.7 GB)"
    )
    target = "llama (default), or mamba: a recurrent target"
    serve.add_argument("--target", choices=("llama", "mamba"), default="llama", help=target)
    serve.add_argument("--port", type=int, default=8080, help="(default 8080)")
    serve.add_argument("--slots", type=int, default=1, help="requests at once (default 1)")
    serve.add_argument("--ctx", type=int, default=4096, help="context of all slots together (default 4096)")
    serve.add_argument("--sampling", default="", metavar="K=V,..", help="server defaults: temp, top_k, top_p, min_p")
    serve.add_argument("--no-trace", action="store_true", help="without LLAMA_TRACE=1")
    serve.add_argument(
        "--no-draft-backend-sampling", action="store_true", help="select the drafter's tokens on the host"
    )
    serve.add_argument("--probabilistic", action="store_true", help="probabilistic draft sampling")
    serve.add_argument("--no-metrics", action="store_true", help="without /metrics")
    serve.add_argument("--no-slots", action="store_true", help="without /slots")
    serve.add_argument("--api-key", metavar="KEY", help="a key that requests must carry (default: none)")
    serve.add_argument("--binary", metavar="FILE", help="a llama-server to run instead of the lab's own")
    serve.add_argument("--gpu-layers", type=int, metavar="N", help="layers on the GPU (with --binary)")
    serve.add_argument("--log", metavar="FILE", help="where the server's output goes (default: a temporary file)")


def _lab_load(load: Parser) -> None:
    load.add_argument("url", metavar="URL")
    load.add_argument("--requests", type=int, metavar="N", help="how many (default 8, or as many as fit in --seconds)")
    load.add_argument("--seconds", type=positive, metavar="S", help="start no request later than this")
    load.add_argument("--tokens", type=int, default=256, metavar="N", help="to generate in each (default 256)")
    load.add_argument("--concurrency", type=int, default=1, metavar="N", help="requests at once (default 1)")
    load.add_argument("--temperature", type=float, metavar="T", help="(default: the server's)")
    load.add_argument("--repeat", action="store_true", help="prompts that repeat themselves, for n-gram methods")
    load.add_argument("--api-key", metavar="KEY", help="the server's key (or set LLAMA_API_KEY)")
    load.add_argument("--json", action="store_true", help="the figures as JSON")
