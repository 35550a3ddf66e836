"""The first minute in Chromium: from the wheel to a research report whose proof is verified."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from rigging import WEB, Staged, process, tell

LIMIT = 60.0
pytestmark = [pytest.mark.first_minute, pytest.mark.node, pytest.mark.timeout(400)]


@contextmanager
def browser(folder: Path) -> Iterator[str]:
    """A Chromium, as a person has it open already."""
    command = ["node", str(WEB / "stories" / "browser.mjs")]
    with process(command, dict(os.environ), folder / "browser.log") as endpoint:
        assert endpoint.startswith("ws://"), (folder / "browser.log").read_text()
        yield endpoint


@contextmanager
def served(plain_install, folder: Path, endpoint: str) -> Iterator[Staged]:
    """`bathysphere serve` of the wheel, with no arguments, in a folder of its own."""
    command = ["env", "-C", str(folder), plain_install.command, "serve"]
    environment = plain_install.environment(folder / "home")
    with process(command, environment, folder / "serve.log") as first:
        words = [word for word in first.split() if word.startswith("http")]
        assert words, (folder / "serve.log").read_text()
        yield SimpleNamespace(url=words[0], browser=endpoint, told={})


def test_from_the_wheel_to_a_verified_proof_takes_less_than_a_minute(
    plain_install, tmp_path, within
):
    with browser(tmp_path) as endpoint:
        began = time.monotonic()
        with served(plain_install, tmp_path, endpoint) as stage:
            told = json.loads(tell(stage, "first_minute", str(tmp_path), seconds=200))
            seconds = plain_install.seconds + time.monotonic() - began
    assert "bathysphere" in told["quote"], told
    checked = plain_install.run("verify", "proof.zip", cwd=tmp_path)
    assert checked.returncode == 0, checked.stderr
    within(seconds, LIMIT)
