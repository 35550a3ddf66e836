"""The full conformance suite of the Python client, behind PgBouncer in transaction mode."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "conformance"))

from test_python import *  # noqa: F403  # the suite itself, with our `server`

pytestmark = [pytest.mark.services, pytest.mark.timeout(60)]
