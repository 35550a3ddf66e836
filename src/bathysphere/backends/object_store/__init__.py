"""Files of many tenants in one bucket: GCS, S3, Azure, a folder, or memory."""

from bathysphere.backends.object_store.backend import ObjectStoreBackend
from bathysphere.backends.object_store.config import BucketConfig
from bathysphere.backends.object_store.factory import open_bucket
from bathysphere.backends.object_store.search import SearchLimits

__all__ = [
    "BucketConfig",
    "ObjectStoreBackend",
    "SearchLimits",
    "open_bucket",
]
