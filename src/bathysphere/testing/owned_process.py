"""A server in a child process that cannot outlive the test run.

The child prints its address to standard output and must exit when its standard input closes: `stop`
closes it, and so does the kernel when the parent dies. The child's output is shown if it does not
start.
"""

import asyncio
import contextlib
import re
import subprocess
import tempfile
import time
from abc import ABC, abstractmethod
from pathlib import Path
from types import TracebackType
from typing import ClassVar, Self

from bathysphere.core.errors import UpstreamError

_STOP_SECONDS = 10.0
_POLL_SECONDS = 0.02
_LISTENING = re.compile(r"listening on (http://127\.0\.0\.1:\d+)")


class TetheredServer(ABC):
    """A loopback server in a child process, as a context manager for sync and async code."""

    title: ClassVar[str]
    """Name used in error messages."""
    start_seconds: ClassVar[float] = 60.0
    """How long one attempt to start may take."""
    attempts: ClassVar[int] = 1
    """How often a start is attempted; more for a server that chooses its ports in advance."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._url = ""

    @property
    def url(self) -> str:
        """The server's URL."""
        if self._process is None:
            message = f"The {self.title} is not running"
            raise RuntimeError(message)
        return self._url

    @property
    def pid(self) -> int | None:
        """The server's process, while it runs."""
        return self._process.pid if self._process else None

    @property
    def folder(self) -> Path:
        """The server's scratch folder, while it runs."""
        if self._scratch is None:
            message = f"The {self.title} is not running"
            raise RuntimeError(message)
        return Path(self._scratch.name)

    def start(self) -> Self:
        """Start the process and wait until the server listens."""
        if self._process is not None:
            message = f"The {self.title} is already running"
            raise RuntimeError(message)
        for _ in range(1, self.attempts):
            with contextlib.suppress(UpstreamError):
                return self._start()
        return self._start()

    def _start(self) -> Self:
        self._scratch = tempfile.TemporaryDirectory(prefix="bathysphere-")
        try:
            self._spawn()
            self._url = self._wait_for_url()
            self._ready()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Stop the process; safe to call twice."""
        process, self._process = self._process, None
        if process is not None:
            if process.stdin is not None:
                process.stdin.close()
            try:
                process.wait(timeout=_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self._scratch is not None:
            self._scratch.cleanup()
            self._scratch = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.start)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.stop)

    # ── what a server fills in ──

    @abstractmethod
    def _command(self) -> list[str]:
        """The command line; it may use `folder`."""

    def _environment(self) -> dict[str, str] | None:
        """The child's environment; None to inherit ours."""
        return None

    def _ready(self) -> None:  # noqa: B027  # a server may have nothing to prepare
        """Prepare the server once it listens."""

    # ── the process ──

    def _spawn(self) -> None:
        command = self._command()
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=self._environment(),
            )

    def _wait_for_url(self) -> str:
        end = time.monotonic() + self.start_seconds
        while time.monotonic() < end:
            listening = _LISTENING.search(self._log.read_text(encoding="utf-8", errors="replace"))
            if listening:
                return listening.group(1)
            if not self._is_running():
                message = f"The {self.title} exited at startup: {self._output()}"
                raise UpstreamError(message)
            time.sleep(_POLL_SECONDS)
        seconds = f"{self.start_seconds:.0f} seconds"
        message = f"The {self.title} did not start within {seconds}: {self._output()}"
        raise UpstreamError(message)

    def _is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def _output(self) -> str:
        """The end of what the process has printed, for an error message."""
        return self._log.read_text(encoding="utf-8", errors="replace")[-2000:]

    @property
    def _log(self) -> Path:
        return self.folder / "log"
