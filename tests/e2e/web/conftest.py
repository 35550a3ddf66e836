"""The browser app on the real `bathysphere serve`: PostgreSQL, Redis, a scripted model, Chromium.

`WEB_COUNT=10 pytest tests/e2e/web` runs every story so many times in a row, and `STORY_FORM` says
on what: `desk-light`, `desk-dark`, `phone-light` or `phone-dark`. A story that
waited in vain on a page without errors is told once more, and listed (`tests/conftest.py`).
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from rigging import Rig, rigged, tell

COUNT = int(os.environ.get("WEB_COUNT", "1"))
STORY_SECONDS = 150


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if COUNT > 1 and {"story", "rig", "serve"} & set(metafunc.fixturenames):
        metafunc.fixturenames.append("turn")
        metafunc.parametrize("turn", range(COUNT))


@pytest.fixture(scope="session")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rig]:
    with rigged(tmp_path_factory.mktemp("web")) as found:
        yield found


Tell = Callable[..., dict[str, object]]


@pytest.fixture
def story(rig: Rig) -> Tell:
    """Plays a script to the server's model and tells a story in the browser; gives its figures."""

    def told(
        name: str,
        script: list[object] | None = None,
        *arguments: str,
        seconds: float = STORY_SECONDS,
    ) -> dict[str, object]:
        rig.model.play(script or [])
        printed = tell(rig, name, *arguments, seconds=seconds)
        if script is not None:
            rig.model.assert_done()
        last = printed.strip().splitlines()[-1:] or ["{}"]
        figures: dict[str, object] = json.loads(last[0])
        sys.stdout.write(f"{name}: {figures}\n")
        return figures

    return told
