"""One GET at a time, bounded in time and size, that never raises: for everything but the polling of /slots."""

from __future__ import annotations

import asyncio
import errno
import os
import ssl
from typing import TYPE_CHECKING, Final

import httpx

from specscope.sources.answers import Answer

if TYPE_CHECKING:
    from specscope.sources.address import Address

TIMEOUT_S: Final = 3.0
"""For the whole answer: one that drips is as late as one that never begins."""

MAX_BODY: Final = 4 << 20


class HttpGet:
    """Asks one server.

    Connections are not kept: these requests are rare, and a server closes an idle one just when it is used.

    Attributes:
        requests: sent so far.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._client: httpx.AsyncClient | None = None
        self.requests = 0

    async def close(self) -> None:
        """Let go of all connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    async def get(self, path: str) -> Answer:
        """The answer to ``GET path`` below the address's prefix."""
        self.requests += 1
        try:
            async with asyncio.timeout(TIMEOUT_S):
                return await self._ask(path)
        except (TimeoutError, httpx.TimeoutException):
            return Answer(0, text=f"{path} did not answer within {TIMEOUT_S:.0f} s", late=True)
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, OSError, ValueError) as error:
            return Answer(0, text=_reason(error))

    async def _ask(self, path: str) -> Answer:
        if self._client is None:
            # "identity", so that a small answer cannot unfold into a huge one.
            headers = {**self._address.headers, "Accept-Encoding": "identity"}
            limits = httpx.Limits(max_keepalive_connections=0)
            tls = self._address.tls()
            # Connection and handshake each have their own limit, short enough that the client gives them up itself:
            # cancelled from outside, it forgets to close what it had opened.
            timeout = httpx.Timeout(TIMEOUT_S, connect=0.45 * TIMEOUT_S)
            self._client = httpx.AsyncClient(
                headers=headers, timeout=timeout, limits=limits, verify=False if tls is None else tls, trust_env=False
            )
        body = bytearray()
        async with self._client.stream("GET", f"{self._address.shown}{path}") as response:
            async for part in response.aiter_raw():
                body += part
                if len(body) > MAX_BODY:
                    return Answer(0, text=f"{path} answered more than {MAX_BODY >> 20} MiB")
        return Answer(response.status_code, bytes(body), "", response.headers)


def _reason(error: Exception) -> str:
    """What the system said at the bottom of it ("Connection refused"), else what the client says."""
    deepest = str(error) or type(error).__name__
    at: BaseException | None = error
    while at is not None:
        if isinstance(at, OSError) and at.strerror:
            system = at.errno is not None and at.errno in errno.errorcode and not isinstance(at, ssl.SSLError)
            deepest = os.strerror(at.errno or 0) if system else at.strerror
        several: tuple[BaseException, ...] = getattr(at, "exceptions", ())  # an address of several attempts
        at = several[0] if several else at.__cause__ or at.__context__
    return deepest
