"""What can go wrong in the lab, one class for each thing its caller may want to handle apart."""

from __future__ import annotations


class LabError(Exception):
    """Base of the lab's errors. Its text is one message for the user, complete without a traceback."""


class DemoMissingError(LabError):
    """A package of the ``demo`` extra is not installed."""

    def __init__(self, package: str) -> None:
        super().__init__(f"the lab needs {package}: pip install 'specscope[demo]'")
        self.package = package


class UnwritableError(LabError):
    """The models can be written nowhere. ``cache`` and ``temporary`` say why, for both places tried."""

    def __init__(self, cache: Exception, temporary: OSError) -> None:
        super().__init__(
            f"the lab's models cannot be written to its cache ({cache}) nor to a temporary directory ({temporary}): "
            "set XDG_CACHE_HOME or TMPDIR to a directory that can be written"
        )
        self.cache = cache
        self.temporary = temporary


class SpecError(LabError):
    """A server specification that no server could run."""


class PortInUseError(LabError):
    """The port asked for belongs to another process."""

    def __init__(self, host: str, port: int) -> None:
        super().__init__(f"port {port} on {host} is in use: choose another, or leave it out to get a free one")
        self.host = host
        self.port = port


class ServerDiedError(LabError):
    """The server's process ended before it answered ``/health``. ``tail`` is the end of its log."""

    def __init__(self, returncode: int, tail: str) -> None:
        how = f"was killed by signal {-returncode}" if returncode < 0 else f"ended with status {returncode}"
        super().__init__(f"the lab's server {how} before it was ready" + (f":\n{tail}" if tail else ""))
        self.returncode = returncode
        self.tail = tail


class ServerSlowError(LabError):
    """The server lives but did not answer ``/health`` in time."""

    def __init__(self, seconds: float, tail: str) -> None:
        super().__init__(f"the lab's server was not ready within {seconds:g} s" + (f":\n{tail}" if tail else ""))
        self.tail = tail
