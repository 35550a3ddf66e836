"""What the storage tests share."""

import sys
from pathlib import Path

import pytest

from bathysphere.backends.object_store import BucketConfig, ObjectStoreBackend, open_bucket
from bathysphere.tenancy.root import Root

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "tenancy"))  # the attacks

ROOT = Root(tenant="company-1", workspace="ws")


@pytest.fixture
def gcs(gcs_server):
    """A backend on the double."""
    return ObjectStoreBackend(open_bucket(gcs_server.config), ROOT)


@pytest.fixture
def memory():
    """A backend in memory."""
    return ObjectStoreBackend(open_bucket(BucketConfig(kind="memory")), ROOT)
