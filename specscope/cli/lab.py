"""``specscope lab serve`` and ``specscope lab load``."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from specscope.cli.exits import CommandError
from specscope.cli.targets import address
from specscope.lab.commands import load, serve
from specscope.lab.errors import LabError
from specscope.lab.load import LoadPlan
from specscope.lab.spec import ServerSpec
from specscope.settings import key_in
from specscope.sources.address import key_problem

if TYPE_CHECKING:
    from argparse import Namespace

REQUESTS: Final = 8
"""How many requests a load has when neither their number nor its duration is given."""


def run(args: Namespace) -> int:
    """Run the bench."""
    if args.lab_command == "load":
        return _load(args)
    try:
        spec = spec_of(args)
    except LabError as error:
        raise CommandError(str(error)) from error
    return asyncio.run(serve(spec, log_path=Path(args.log) if args.log else None))


def _load(args: Namespace) -> int:
    sampling: dict[str, object] = {} if args.temperature is None else {"temperature": args.temperature}
    plan = LoadPlan(
        requests=args.requests if args.requests is not None or args.seconds is not None else REQUESTS,
        tokens=args.tokens,
        concurrency=args.concurrency,
        duration_s=args.seconds,
        sampling=sampling,
        repeat=args.repeat,
    )
    key: str | None = args.api_key or key_in(os.environ)
    problem = key_problem(key)
    if problem:
        raise CommandError(problem)
    return asyncio.run(load(address(args.url), plan, api_key=key, as_json=args.json))


def spec_of(args: Namespace) -> ServerSpec:
    """The server that ``lab serve`` names.

    Raises:
        CommandError: rates or sampling that are no numbers.
        LabError: a server that cannot be.
    """
    return ServerSpec(
        types=tuple(t for t in args.spec.split(",") if t and t != "none"),
        n_max=args.n_max,
        rates=_rates(args.rates),
        size=args.size,
        target="mamba" if args.target == "mamba" else "target",
        port=args.port,
        slots=args.slots,
        ctx=args.ctx,
        trace=not args.no_trace,
        metrics=not args.no_metrics,
        slots_endpoint=not args.no_slots,
        api_key=args.api_key,
        draft_backend_sampling=not args.no_draft_backend_sampling,
        probabilistic=args.probabilistic,
        sampling=_sampling(args.sampling),
        binary=Path(args.binary) if args.binary else None,
        extra=("-ngl", str(args.gpu_layers)) if args.gpu_layers is not None else (),
    )


def _rates(text: str | None) -> tuple[float, ...] | None:
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError as error:
        raise CommandError(f"--rates {text}: expected numbers between 0 and 1, split by commas") from error


def _sampling(text: str) -> dict[str, float]:
    pairs = [part.partition("=") for part in text.split(",") if part]
    try:
        return {name.strip(): float(value) for name, _, value in pairs}
    except ValueError as error:
        raise CommandError(f"--sampling {text}: expected name=number, split by commas") from error
