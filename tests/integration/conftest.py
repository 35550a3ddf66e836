import gc
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # `terminals` beside the tests

from terminals import Terminal


@pytest.fixture
def terminal():
    """Open a terminal with the command in it; what is open at the end is closed."""
    opened = []

    def open_it(*args, **more):
        opened.append(Terminal(*args, **more))
        return opened[-1]

    yield open_it
    for one in opened:
        one.close()


@pytest.fixture
def open_connections():
    """Collect what LangChain's clients leave open in the test that may, not in a later one."""
    yield
    gc.collect()
