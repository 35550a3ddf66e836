"""A double of Google Cloud Storage: the XML and JSON parts that obstore and Google's client use.

One process, strongly consistent: a request changes the buckets within one tick of the event loop.
Generations only grow. Preconditions are honoured on every way in. `GcsServer` starts it.
"""

from bathysphere.testing.gcs.server import GcsServer

__all__ = ["GcsServer"]
