"""The mint as a test process that can be started, stopped, killed, frozen and rotated."""

import asyncio
import contextlib
import json
import os
import signal
import socket
import sqlite3
import subprocess
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx

from bathysphere.core.errors import UpstreamError
from bathysphere.testing.mint.install import install

_START_SECONDS = 60.0
_STOP_SECONDS = 20.0
_POLL_SECONDS = 0.05

# Runs in the mint's Python. It exits when its standard input closes, so it dies with its parent.
_CHILD = """
import os, sys, threading
def watch():
    sys.stdin.buffer.read()
    os._exit(0)
threading.Thread(target=watch, daemon=True).start()
from cashu.mint.main import main
main()
"""


class LocalMint:
    """A mint in a child process, as a context manager for sync and async code.

    The same object can be stopped or killed and started again: it keeps its folder, its port and
    so its keys and its memory of what was spent.
    """

    def __init__(
        self, *, seed: str = "a mint for tests", fee_ppk: int = 0, usd: bool = False
    ) -> None:
        self.fee_ppk = fee_ppk
        self._seed = seed
        self._usd = usd
        self._path = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._scratch: tempfile.TemporaryDirectory[str] | None = None
        self._port = 0

    @property
    def url(self) -> str:
        """Its URL, once started."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def port(self) -> int:
        """The port of `url`."""
        return self._port

    @property
    def pid(self) -> int | None:
        """The mint's process, while it runs."""
        return self._process.pid if self._process else None

    def start(self) -> Self:
        """Start the process and wait until the mint answers."""
        if self._process is not None:
            message = "The mint is already running"
            raise RuntimeError(message)
        if self._scratch is None:
            self._scratch = tempfile.TemporaryDirectory(prefix="bathysphere-mint-")
            self._port = _free_port()
        command = [str(install()), "-c", _CHILD, "--port", str(self._port), "--host", "127.0.0.1"]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=self._folder,
                env=self._environment(),
            )
        try:
            self._wait()
        except BaseException:
            self.crash()
            raise
        return self

    def stop(self) -> None:
        """Stop the process gracefully; safe to call twice."""
        process = self._process
        if process is not None:
            process.send_signal(signal.SIGCONT)
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=_STOP_SECONDS)
        self.crash()

    def crash(self) -> None:
        """Kill the process, like a power failure."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
            if process.stdin is not None:
                process.stdin.close()

    def freeze(self) -> None:
        """Freeze the process: connections stay open, but get no response."""
        self._running().send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Resume the process."""
        self._running().send_signal(signal.SIGCONT)

    def rotate(self, *, fee_ppk: int | None = None) -> None:
        """Restart the mint with a new keyset and deactivate the old ones."""
        self.stop()
        self._path += 1
        self.fee_ppk = self.fee_ppk if fee_ppk is None else fee_ppk
        self.start()  # creates the new keyset; the old one stays active
        self.stop()
        with contextlib.closing(self.database()) as database:
            newest = f"m/0'/0'/{self._path}'"
            database.execute(
                "UPDATE keysets SET active = 0 WHERE unit = 'sat' AND derivation_path <> ?",
                (newest,),
            )
            database.commit()
        self.start()

    def database(self) -> sqlite3.Connection:
        """The mint's database; modify it only while the mint is stopped."""
        return sqlite3.connect(self._folder / "db" / "mint.sqlite3", timeout=10)

    def close(self) -> None:
        """Stop permanently and remove the folder."""
        self.stop()
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
        self.close()

    async def __aenter__(self) -> Self:
        return await asyncio.to_thread(self.start)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await asyncio.to_thread(self.close)

    # ── the process ──

    def _environment(self) -> dict[str, str]:
        """A minimal environment, since the mint reads many variables."""
        folder = str(self._folder)
        settings = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": folder,
            "CASHU_DIR": folder,
            "MINT_PRIVATE_KEY": self._seed,
            "MINT_LISTEN_HOST": "127.0.0.1",
            "MINT_LISTEN_PORT": str(self._port),
            "MINT_DATABASE": f"{folder}/db",
            "MINT_AUTH_DATABASE": f"{folder}/authdb",
            "MINT_DERIVATION_PATH": f"m/0'/0'/{self._path}'",
            "MINT_BACKEND_BOLT11_SAT": "FakeWallet",
            "FAKEWALLET_BRR": "TRUE",
            "FAKEWALLET_DELAY_INCOMING_PAYMENT": "0",
            "FAKEWALLET_DELAY_OUTGOING_PAYMENT": "0",
            "MINT_QUOTE_BACKEND_CHECK_RATE_LIMIT": "0",
            "MINT_INPUT_FEE_PPK": str(self.fee_ppk),
            "MINT_RATE_LIMIT": "FALSE",
            "TOR": "FALSE",
            "DEBUG": "FALSE",
            "LOG_LEVEL": "INFO",
        }
        if self._usd:
            settings["MINT_BACKEND_BOLT11_USD"] = "FakeWallet"
            settings["MINT_DERIVATION_PATH_LIST"] = json.dumps(["m/0'/2'/0'"])
        return settings

    def _wait(self) -> None:
        process = self._running()
        end = time.monotonic() + _START_SECONDS
        while time.monotonic() < end:
            if process.poll() is not None:
                message = f"The mint exited at startup: {self._tail()}"
                raise UpstreamError(message)
            with contextlib.suppress(httpx.HTTPError):
                address = f"{self.url}/v1/info"
                found = httpx.get(address, trust_env=False, timeout=2, verify=False)  # noqa: S501  # no TLS
                if found.is_success:
                    return
            time.sleep(_POLL_SECONDS)
        message = f"The mint did not start within {_START_SECONDS:.0f} seconds: {self._tail()}"
        raise UpstreamError(message)

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            message = "The mint is not running"
            raise RuntimeError(message)
        return self._process

    @property
    def _folder(self) -> Path:
        if self._scratch is None:
            message = "The mint was not started"
            raise RuntimeError(message)
        return Path(self._scratch.name)

    @property
    def _log(self) -> Path:
        return self._folder / "log"

    def _tail(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace")[-2000:]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
