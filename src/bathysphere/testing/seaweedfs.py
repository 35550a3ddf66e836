"""A real S3 server for tests: SeaweedFS from its wheel, on loopback, telemetry off."""

import json
import shutil
import sys
import time
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from bathysphere.backends.object_store.config import BucketConfig
from bathysphere.core.errors import ConfigError, UpstreamError
from bathysphere.testing.owned_process import TetheredServer
from bathysphere.testing.stdin_guard import free_port

if TYPE_CHECKING:
    from obstore.store import S3Store

_ACCESS, _SECRET = "test", "testtest"
_GRPC = 10_000


class SeaweedServer(TetheredServer):
    """SeaweedFS with one bucket; a context manager."""

    title = "SeaweedFS"
    start_seconds = 45.0  # it took 11 at a load of 11
    attempts = 2  # another process may take one of its eight ports before it listens

    def __init__(self, bucket: str = "tbk") -> None:
        super().__init__()
        self.bucket = bucket
        self._filer = 0

    @property
    def config(self) -> BucketConfig:
        """The bucket, for `open_bucket`."""
        return BucketConfig(
            kind="s3",
            name=self.bucket,
            endpoint=self.url,
            access_key=_ACCESS,
            secret_key=_SECRET,
        )

    def store(self, *, timeout_seconds: float = 20) -> "S3Store":
        """A bare obstore client of the bucket."""
        from obstore.store import S3Store

        return S3Store(
            self.bucket,
            endpoint=self.url,
            access_key_id=_ACCESS,
            secret_access_key=_SECRET,
            region="us-east-1",
            virtual_hosted_style_request=False,
            client_options={"allow_http": True, "timeout": timedelta(seconds=timeout_seconds)},
            retry_config={"max_retries": 3, "retry_timeout": timedelta(seconds=30)},
        )

    def _command(self) -> list[str]:
        program = shutil.which("weed", path=str(Path(sys.executable).parent))
        if program is None:
            raise ConfigError("SeaweedFS is not installed", hint="run `make setup`")
        rights = ["Admin", "Read", "List", "Tagging", "Write"]
        keys = [{"accessKey": _ACCESS, "secretKey": _SECRET}]
        identity = {"name": "test", "credentials": keys, "actions": rights}
        config, data = self.folder / "s3.json", self.folder / "data"
        config.write_text(json.dumps({"identities": [identity]}), encoding="utf-8")
        data.mkdir()
        s3, master, volume, self._filer = (free_port(_GRPC) for _ in range(4))
        url = f"http://127.0.0.1:{s3}"
        leash = [sys.executable, "-m", "bathysphere.testing.stdin_guard", url]
        options = [
            *(f"-dir={data}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1"),
            *("-s3", f"-s3.port={s3}", f"-s3.config={config}", f"-master.port={master}"),
            *(f"-volume.port={volume}", f"-filer.port={self._filer}"),
            *("-master.volumeSizeLimitMB=64", "-volume.max=20", "-master.telemetry=false"),
            # Their fixed ports would allow only one server on this machine.
            *("-s3.port.iceberg=0", "-s3.port.lance=0"),
        ]
        return [*leash, program, "server", *options]

    def _ready(self) -> None:
        """Create the bucket, a folder of the filer, and wait until it accepts objects."""
        end = time.monotonic() + self.start_seconds
        while time.monotonic() < end and self._is_running():
            try:
                made = httpx.post(
                    f"http://127.0.0.1:{self._filer}/buckets/{self.bucket}/", trust_env=False
                )
                if made.is_success and self._takes_objects():
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        message = f"SeaweedFS did not create its bucket: {self._output()}"
        raise UpstreamError(message)

    def _takes_objects(self) -> bool:
        import obstore
        from obstore.exceptions import BaseError

        try:
            obstore.put(self.store(), "ready", b"", use_multipart=False)
            obstore.delete(self.store(), "ready")
        except (BaseError, OSError):
            return False
        return True
