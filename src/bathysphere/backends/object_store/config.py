"""Bucket configuration."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Kind = Literal["gcs", "s3", "azure", "local", "memory"]


@dataclass(frozen=True, kw_only=True, slots=True)
class BucketConfig:
    """The configuration of a bucket. Secrets are excluded from its `repr`."""

    kind: Kind
    name: str = ""
    """The bucket or container."""
    endpoint: str | None = None
    """A URL other than the provider's, such as an emulator's."""
    region: str = "us-east-1"
    access_key: str | None = None
    """The S3 access key id, or the Azure account."""
    secret_key: str | None = field(default=None, repr=False)
    """The S3 secret access key, or the Azure account key."""
    service_account_key: str | None = field(default=None, repr=False)
    """The Google service account key, as JSON."""
    folder: Path | None = None
    """The folder of a local bucket."""
    tries: int = 5
    """How often an operation is tried after transient failures."""
    timeout_seconds: float = 30.0
