import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # `trees` beside the tests


@pytest.fixture(params=["sync", "async"])
def mode(request) -> str:
    return request.param
