"""A server's address as given, taken apart: what may be shown of it, and what goes into every request."""

from __future__ import annotations

import base64
import ipaddress
import ssl
from typing import NamedTuple
from urllib.parse import quote, unquote, urlsplit


class Address(NamedTuple):
    """Where a server is asked.

    ``shown`` is the address without name and password; ``headers`` carry the key and must never be shown.
    """

    shown: str
    scheme: str
    host: str
    port: int
    prefix: str
    headers: dict[str, str]

    def __repr__(self) -> str:
        return f"Address({self.shown!r})"

    def tls(self) -> ssl.SSLContext | None:
        """How to speak TLS; None for plain HTTP.

        A certificate is checked (against the system's authorities, or SSL_CERT_FILE), except on this machine
        itself, where servers use certificates of their own making and nobody stands in between.
        """
        if self.scheme != "https":
            return None
        context = ssl.create_default_context()
        if _is_loopback(self.host):
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


def key_problem(key: str | None) -> str:
    """Why a key cannot be sent; empty when it can. The key itself is never part of it."""
    if key and not (key.isascii() and key.isprintable()):
        return "the key holds characters that an HTTP header cannot carry"
    return ""


def read_address(url: str, api_key: str | None = None) -> Address:
    """Take an address apart.

    Args:
        url: ``http`` or ``https``, with a path prefix if the server has one, and name and password if a proxy
            in front of it wants them.
        api_key: sent as a bearer token, instead of name and password.

    Raises:
        ValueError: it is no such address.
    """
    parts = urlsplit(url)
    host, port = parts.hostname, parts.port
    if parts.scheme not in ("http", "https") or not host or port == 0:
        raise ValueError("expected http://HOST:PORT")
    if parts.query or parts.fragment or any(c.isspace() or not c.isprintable() for c in url):
        raise ValueError("expected http://HOST:PORT/PREFIX without spaces, ? and #")
    prefix = quote(parts.path.rstrip("/"), safe="/%:@!$&'()*+,;=~-._")
    bracketed = f"[{host}]" if ":" in host else host
    shown = f"{parts.scheme}://{bracketed}{'' if port is None else f':{port}'}{prefix}"
    headers = _authorization(parts.username, parts.password, api_key)
    return Address(shown, parts.scheme, host, port or (443 if parts.scheme == "https" else 80), prefix, headers)


def _authorization(name: str | None, password: str | None, api_key: str | None) -> dict[str, str]:
    if api_key and not key_problem(api_key):
        return {"Authorization": f"Bearer {api_key}"}
    if name is None:
        return {}
    pair = f"{unquote(name)}:{unquote(password or '')}".encode()
    return {"Authorization": f"Basic {base64.b64encode(pair).decode('ascii')}"}


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
