"""A server with a worker, in a process of its own, on real PostgreSQL: with Redis, and in memory.

`CONFORMANCE_COUNT=20 pytest tests/conformance/test_js.py tests/conformance/test_python*.py` plays
every behaviour so many times in a row (`make conformance-20`).
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

# Found by the path above.
from own_server import REDIS, own_database, serving  # noqa: E402
from sdk_clients import bob, client  # noqa: E402, F401

GIVEN = os.environ.get("CONFORMANCE_SERVER")  # reference.py: LangChain's own server
COUNT = int(os.environ.get("CONFORMANCE_COUNT", "1"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if COUNT > 1:
        metafunc.fixturenames.append("turn")
        metafunc.parametrize("turn", range(COUNT))


IN_MEMORY = pytest.param(
    "memory",
    marks=pytest.mark.long(
        "tests/e2e/test_first_minute.py"
        "::test_from_install_to_a_streamed_answer_takes_less_than_a_minute"
    ),
)


@pytest.fixture(scope="session", params=["given"] if GIVEN else ["redis", IN_MEMORY])
def server(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a server whose events live in Redis, or in memory; or of another one."""
    if GIVEN:
        yield GIVEN
        return
    log = REDIS if request.param == "redis" else "-"
    with own_database() as database, serving(database, log) as address:
        yield address
