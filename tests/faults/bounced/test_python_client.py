"""The full conformance suite of the Python client, behind PgBouncer in transaction mode."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "conformance"))

# The suite itself, with our `server`.
from test_python import *  # noqa: F403
from test_python_assistants import *  # noqa: F403
from test_python_runs import *  # noqa: F403
from test_python_threads import *  # noqa: F403

pytestmark = [
    pytest.mark.services,
    pytest.mark.timeout(60),
    pytest.mark.long("tests/conformance/test_python.py::test_a_run_is_waited_for"),
]
