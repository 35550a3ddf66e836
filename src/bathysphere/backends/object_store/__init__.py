"""Files of many tenants in one bucket: GCS, S3, Azure, a folder, or memory."""

from bathysphere.backends.object_store.backend import ObjectStoreBackend
from bathysphere.backends.object_store.bucket import BucketConfig, open_bucket
from bathysphere.backends.object_store.expecting import ABSENT, expectation_of, expecting
from bathysphere.backends.object_store.search import SearchLimits

__all__ = [
    "ABSENT",
    "BucketConfig",
    "ObjectStoreBackend",
    "SearchLimits",
    "expectation_of",
    "expecting",
    "open_bucket",
]
