import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # `mcp_kit` beside the tests

from mcp_kit import Kit


@pytest.fixture
def kit(tmp_path):
    """Real MCP servers; what was started is ended."""
    kit = Kit(tmp_path)
    yield kit
    kit.close()
