"""Microsoft's emulator of Azure Blob Storage for tests, on loopback, telemetry off."""

import base64
import hashlib
import hmac
import shutil
import sys
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from bathysphere.backends.object_store.config import BucketConfig
from bathysphere.core.errors import ConfigError
from bathysphere.testing.owned_process import TetheredServer
from bathysphere.testing.stdin_guard import free_port

if TYPE_CHECKING:
    from obstore.store import AzureStore

ACCOUNT = "devstoreaccount1"
# The well-known key from the emulator's documentation.
_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="


class AzuriteServer(TetheredServer):
    """Azurite with one container; a context manager."""

    title = "Azurite"

    def __init__(self, bucket: str = "tbk", *, node_modules: Path | None = None) -> None:
        super().__init__()
        self.bucket = bucket
        self._node_modules = node_modules

    @property
    def config(self) -> BucketConfig:
        """The container, for `open_bucket`."""
        return BucketConfig(
            kind="azure",
            name=self.bucket,
            endpoint=f"{self.url}/{ACCOUNT}",
            access_key=ACCOUNT,
            secret_key=_KEY,
        )

    def store(self, *, timeout_seconds: float = 20) -> "AzureStore":
        """A bare obstore client of the container."""
        from obstore.store import AzureStore

        return AzureStore(
            self.bucket,
            account_name=ACCOUNT,
            account_key=_KEY,
            endpoint=f"{self.url}/{ACCOUNT}",
            client_options={"allow_http": True, "timeout": timedelta(seconds=timeout_seconds)},
            retry_config={"max_retries": 3, "retry_timeout": timedelta(seconds=30)},
        )

    def _command(self) -> list[str]:
        node = shutil.which("node")
        folder = self._node_modules or _nearest_node_modules()
        program = folder / "azurite" / "dist" / "src" / "blob" / "main.js"
        if node is None or not program.is_file():
            raise ConfigError("Azurite is not installed", hint="run `make setup`")
        port = free_port()
        leash = [
            sys.executable,
            "-m",
            "bathysphere.testing.stdin_guard",
            f"http://127.0.0.1:{port}",
        ]
        options = ["--silent", "--blobHost", "127.0.0.1", "--blobPort", str(port), "--location"]
        quiet = ["--skipApiVersionCheck", "--disableTelemetry"]
        return [*leash, node, str(program), *options, str(self.folder / "data"), *quiet]

    def _ready(self) -> None:
        """Create the container, which obstore cannot do."""
        when = format_datetime(datetime.now(UTC), usegmt=True)
        headers = {"x-ms-date": when, "x-ms-version": "2023-11-03"}
        signed = "PUT" + "\n" * 12 + "".join(f"{n}:{v}\n" for n, v in sorted(headers.items()))
        signed += f"/{ACCOUNT}/{ACCOUNT}/{self.bucket}\nrestype:container"
        digest = hmac.new(base64.b64decode(_KEY), signed.encode(), hashlib.sha256).digest()
        signature = base64.b64encode(digest).decode()
        answer = httpx.put(
            f"{self.url}/{ACCOUNT}/{self.bucket}",
            params={"restype": "container"},
            headers={**headers, "authorization": f"SharedKey {ACCOUNT}:{signature}"},
            trust_env=False,
        )
        answer.raise_for_status()


def _nearest_node_modules() -> Path:
    """The path where `make setup` installs it, relative to the working directory."""
    places = [Path.cwd() / "tests" / "storage" / "node", *Path.cwd().parents, Path.cwd()]
    folders = [place / "node_modules" for place in places]
    found = [folder for folder in folders if (folder / "azurite").is_dir()]
    return found[0] if found else folders[0]
