"""Stock front ends in Chromium against `bathysphere serve`, with a foreign LangGraph project."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from front_ends import FLOWS, FRONT_ENDS, Result, Rig, play, rigged

OTHERS = pytest.mark.long("tests/e2e/frontends/test_frontends.py::test_a_stock_front_end_works")
INSTALLED = [
    front if front == "react" else pytest.param(front, marks=OTHERS)
    for front in FRONT_ENDS
    if front != "copilotkit"
]
"""React is in the check. CopilotKit's 729 MB are installed by `make frontends`, which runs all."""
pytestmark = [pytest.mark.services, pytest.mark.node, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with rigged(tmp_path_factory.mktemp("frontends")) as found:
        yield found


@pytest.fixture(scope="module")
def played() -> dict[str, dict[str, Result]]:
    """Results by front end: its page is opened in one browser for all flows."""
    return {}


@pytest.mark.parametrize("flow", FLOWS)
@pytest.mark.parametrize("front", INSTALLED)
def test_a_stock_front_end_works(
    front: str, flow: str, rig: Rig, played: dict[str, dict[str, Result]]
) -> None:
    if front not in played:
        played[front] = play(rig, front)
    result = played[front].get(flow)
    assert result is not None, "the flow was not played"
    assert result["error"] is None, result["error"]
