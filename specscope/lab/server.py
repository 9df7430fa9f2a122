"""A real llama-server for as long as a block runs: started, waited for, and always ended."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import socket
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Self

import httpx
import psutil

import specscope
from specscope.lab.errors import PortInUseError, ServerDiedError, ServerSlowError, SpecError
from specscope.lab.models import model_path
from specscope.lab.tether import PARENT_VARIABLE

if TYPE_CHECKING:
    from types import TracebackType

    from specscope.lab.spec import ServerSpec

START_TIMEOUT_S = 60.0
STOP_GRACE_S = 3.0
PORT_ATTEMPTS = 3  # a free port may be taken between its choice and the server's bind
_TAIL_LINES = 12
_HEALTH_PAUSE_S = 0.05


class LabServer:
    """Async context manager around a running server.

    The server dies with this process, more exactly with the thread that starts it: start it from one that
    stays. It is in a session of its own, so Ctrl+C in a terminal reaches it only through this object.

    Args:
        spec: What to run.
        log_path: Where stdout and stderr go. If left out, a temporary file, kept only
            when a running server died by itself.
        start_timeout_s: Seconds to wait for ``/health``.
    """

    def __init__(
        self, spec: ServerSpec, *, log_path: Path | None = None, start_timeout_s: float = START_TIMEOUT_S
    ) -> None:
        self.spec = spec
        self.url = ""
        self._start_timeout_s = start_timeout_s
        self._log_path = log_path
        self._log_dir: Path | None = None
        self._process: asyncio.subprocess.Process | None = None

    @property
    def pid(self) -> int:
        """The server's process id."""
        return self._running.pid

    @property
    def log_path(self) -> Path:
        """The file that has the server's output.

        Raises:
            RuntimeError: The server was never started.
        """
        if self._log_path is None:
            raise RuntimeError("this server was never started")
        return self._log_path

    @property
    def _running(self) -> asyncio.subprocess.Process:
        if self._process is None:
            raise RuntimeError("this server was never started")
        return self._process

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def start(self) -> None:
        """Starts the server and returns when it answers.

        Raises:
            PortInUseError: The port asked for is taken.
            SpecError: The host or port cannot be listened on.
            ServerDiedError: The process ended; the text has the end of its log.
            ServerSlowError: It did not answer in time, and was stopped.
            DemoMissingError: A package that builds models is not installed.
            UnwritableError: A model cannot be written.
            OSError: The log cannot be written, or the program not started.
        """
        for attempt in range(PORT_ATTEMPTS):
            port = self.spec.port or _free_port(self.spec.host)
            _require_free(self.spec.host, port)
            try:
                await self._launch(port)
                await self._until_healthy(port)
            except ServerDiedError as error:
                if "couldn't bind" not in error.tail or attempt == PORT_ATTEMPTS - 1:
                    self._discard_log()
                    raise
                if self.spec.port:
                    raise PortInUseError(self.spec.host, port) from error
            except BaseException:
                await self.stop()
                raise
            else:
                return

    async def wait(self) -> int:
        """Waits for the process to end and returns its status, negative for a signal."""
        return await self._running.wait()

    async def stop(self) -> None:
        """Ends the server: SIGTERM, and SIGKILL three seconds later. Does nothing when it has ended."""
        process = self._process
        if process is None:
            return
        died_alone = process.returncode is not None
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            await asyncio.wait_for(asyncio.shield(process.wait()), STOP_GRACE_S)
        except TimeoutError:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
        if not died_alone:
            self._discard_log()

    def tail(self) -> str:
        """Returns the last lines of the log."""
        with suppress(OSError):
            return "\n".join(self.log_path.read_text(errors="replace").splitlines()[-_TAIL_LINES:])
        return ""

    def _discard_log(self) -> None:
        """Removes the log if it is a temporary one."""
        if self._log_dir:
            shutil.rmtree(self._log_dir, ignore_errors=True)

    async def _launch(self, port: int) -> None:
        spec = self.spec
        target = await asyncio.to_thread(model_path, spec.target_model)
        drafter = await asyncio.to_thread(model_path, spec.draft_model) if spec.draft_model else None
        if self._log_path is None:
            self._log_dir = Path(tempfile.mkdtemp(prefix="specscope-lab-"))
            self._log_path = self._log_dir / "server.log"
        module = "specscope.lab.tether" if spec.binary else "specscope.lab.host"
        program = [sys.executable, "-m", module, *([str(spec.binary)] if spec.binary else [])]
        with self._log_path.open("wb") as log:
            self._process = await asyncio.create_subprocess_exec(
                *program,
                *spec.argv(target, drafter, port),
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=_environment(spec),
                start_new_session=True,
            )
        self.url = f"http://{spec.host}:{port}"

    async def _until_healthy(self, port: int) -> None:
        ended = asyncio.create_task(self._running.wait())
        try:
            async with asyncio.timeout(self._start_timeout_s), httpx.AsyncClient(trust_env=False) as client:
                while not ended.done():
                    with suppress(httpx.TransportError):
                        if (await client.get(f"{self.url}/health")).is_success and _listens(self.pid, port):
                            return
                    await asyncio.wait({ended}, timeout=_HEALTH_PAUSE_S)
        except TimeoutError as error:
            raise ServerSlowError(self._start_timeout_s, self.tail()) from error
        finally:
            ended.cancel()
        raise ServerDiedError(await self.wait(), self.tail())


def _environment(spec: ServerSpec) -> dict[str, str]:
    """The parent's environment without its own llama-server settings, plus what the lab and the spec add."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("LLAMA_")}
    package_root = str(Path(specscope.__file__).parent.parent)
    env["PYTHONPATH"] = os.pathsep.join(filter(None, (package_root, env.get("PYTHONPATH"))))
    env[PARENT_VARIABLE] = str(os.getpid())
    if spec.trace:
        env["LLAMA_TRACE"] = "1"
    return env | dict(spec.env)


def _free_port(host: str) -> int:
    with socket.create_server((host, 0)) as probe:
        return int(probe.getsockname()[1])


def _require_free(host: str, port: int) -> None:
    """Raises PortInUseError when something listens on the port, SpecError when nothing could."""
    try:
        socket.create_server((host, port)).close()
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise PortInUseError(host, port) from error
        raise SpecError(f"cannot listen on {host} port {port}: {error.strerror}") from error


def _listens(pid: int, port: int) -> bool:
    """Whether this very process listens on the port, and not one that took it a moment earlier."""
    with suppress(psutil.Error):
        connections = psutil.Process(pid).net_connections("tcp")
        return any(entry.status == psutil.CONN_LISTEN and entry.laddr.port == port for entry in connections)
    return False
