"""Start the test double and connect clients to it."""

import json
import sys
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import httpx

from bathysphere.backends.object_store.config import BucketConfig
from bathysphere.testing.owned_process import TetheredServer

if TYPE_CHECKING:
    from obstore.store import GCSStore


class GcsServer(TetheredServer):
    """The test double in a child process, as a context manager."""

    title = "GCS double"
    start_seconds = 30.0

    def __init__(self, bucket: str = "tbk") -> None:
        super().__init__()
        self.bucket = bucket

    @property
    def config(self) -> BucketConfig:
        """The bucket, for `open_bucket`."""
        key: dict[str, Any] = {"gcs_base_url": self.url, "disable_oauth": True}
        key |= {"client_email": "", "private_key": "", "private_key_id": ""}
        return BucketConfig(
            kind="gcs", name=self.bucket, endpoint=self.url, service_account_key=json.dumps(key)
        )

    def store(self, *, retries: int = 2, timeout_seconds: float = 20) -> "GCSStore":
        """A bare obstore client of the bucket."""
        from obstore.store import GCSStore

        return GCSStore(
            self.bucket,
            config={"service_account_key": self.config.service_account_key or ""},
            client_options={"allow_http": True, "timeout": timedelta(seconds=timeout_seconds)},
            retry_config={
                "max_retries": retries,
                "retry_timeout": timedelta(seconds=30),
                "backoff": {
                    "init_backoff": timedelta(milliseconds=10),
                    "max_backoff": timedelta(milliseconds=100),
                    "base": 2,
                },
            },
        )

    def fail(self, *codes: int | str, method: str = "") -> None:
        """Make the next requests (of one method) fail; see `app`."""
        self._control("_fail", codes=",".join(map(str, codes)), method=method)

    def delay(self, milliseconds: float) -> None:
        """Delay every request from now on."""
        self._control("_latency", ms=milliseconds)

    def stats(self) -> dict[str, Any]:
        """Requests by method, objects, and pending faults."""
        return self._control("_stats")

    def reset(self) -> None:
        """Clear everything but the latency."""
        self._control("_reset")

    def _control(self, what: str, **query: Any) -> dict[str, Any]:
        answer = httpx.get(f"{self.url}/{what}", params=query, trust_env=False)
        answer.raise_for_status()
        found: dict[str, Any] = answer.json()
        return found

    def _command(self) -> list[str]:
        return [sys.executable, "-m", "bathysphere.testing.gcs", self.bucket]
