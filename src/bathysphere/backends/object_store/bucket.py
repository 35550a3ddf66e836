"""Which bucket, and how to reach it: data, and the one function that opens it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from bathysphere.backends.object_store.objects import StoredObjects
from bathysphere.core.errors import ConfigError, missing_extra

Kind = Literal["gcs", "s3", "azure", "local", "memory"]


@dataclass(frozen=True, kw_only=True, slots=True)
class BucketConfig:
    """A bucket of one of the stores. Secrets are not shown when it is printed."""

    kind: Kind
    name: str = ""
    """The bucket or container."""
    endpoint: str | None = None
    """Another address than the provider's own, such as an emulator's."""
    region: str = "us-east-1"
    access_key: str | None = None
    """S3's access key id, or Azure's account."""
    secret_key: str | None = field(default=None, repr=False)
    """S3's secret access key, or Azure's account key."""
    service_account_key: str | None = field(default=None, repr=False)
    """Google's service account key, as JSON."""
    folder: Path | None = None
    """Where a local one keeps its objects."""
    tries: int = 5
    """How often an operation is tried that failed for no fault of ours."""
    timeout_seconds: float = 30.0


def open_bucket(config: BucketConfig) -> StoredObjects:
    """Open it; nothing is read or written yet.

    Raises:
        ConfigError: Something is missing or cannot be used.
    """
    if config.kind == "local":
        from bathysphere.backends.object_store.local import LocalObjects

        if config.folder is None:
            raise ConfigError("a local bucket needs a folder")
        return LocalObjects(config.folder)
    try:
        from bathysphere.backends.object_store.obstored import ObstoreObjects, open_store
        from bathysphere.backends.object_store.raw_list import raw_lister
    except ImportError as error:
        raise missing_extra("an object store", "storage") from error
    if config.kind != "memory" and not config.name:
        raise ConfigError("the bucket has no name")
    return ObstoreObjects(open_store(config), raw_list=raw_lister(config), tries=config.tries)
