"""The demo's load in a process of its own, so that what specscope costs is not mixed with what the load costs.

``python -m specscope.lab.demo_load URL`` sends rounds of requests until it is ended or the server goes away.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
from typing import TYPE_CHECKING, Final

from specscope.lab.load import LoadPlan, run_load
from specscope.lab.tether import PARENT_VARIABLE, die_with_parent

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

TOKENS: Final = 400
REQUESTS_A_ROUND: Final = 4
PAUSE_S: Final = 1.0
"""Between rounds all slots fall idle, so that the server's counters can confirm what was seen."""

END_S: Final = 2.0


@contextlib.asynccontextmanager
async def demo_load(url: str) -> AsyncGenerator[None]:
    """Load on a server inside the block; none of it is left behind."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", __name__, url),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        env=os.environ | {PARENT_VARIABLE: str(os.getpid())},
        start_new_session=True,
    )
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(process.wait(), END_S)
        except TimeoutError:
            process.kill()
            await process.wait()


async def drive(url: str) -> None:
    """Rounds of requests until one fails."""
    seed = 1
    while True:
        outcomes = await run_load(url, LoadPlan(requests=REQUESTS_A_ROUND, tokens=TOKENS, seed=seed))
        if any(outcome.error for outcome in outcomes):
            return
        seed += REQUESTS_A_ROUND
        await asyncio.sleep(PAUSE_S)


if __name__ == "__main__":
    die_with_parent()
    asyncio.run(drive(sys.argv[1]))
