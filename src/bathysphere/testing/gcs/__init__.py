"""A test double of Google Cloud Storage: the APIs that obstore and Google's client use.

One process, strongly consistent: a request changes the buckets within one tick of the event loop.
Generations only increase. Preconditions are checked on every write. `GcsServer` starts it.
"""

from bathysphere.testing.gcs.server import GcsServer

__all__ = ["GcsServer"]
