"""The tutorials are done, step by step, without a key: what they show is what happens."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent / "web"))

from rigging import ROOT, WEB, process, tell
from tutorial import Click, Command, File, Stop, Terminal, matches, read_steps

TUTORIALS = ROOT / "docs" / "tutorials"
pytestmark = pytest.mark.timeout(400)


@pytest.fixture
def terminal(tmp_path) -> Iterator[Terminal]:
    folder = tmp_path / "tutorial"
    folder.mkdir()
    opened = Terminal(folder)
    yield opened
    opened.close()


def steps_of(name: str) -> list[object]:
    steps = read_steps((TUTORIALS / f"{name}.md").read_text(encoding="utf-8"))
    assert len(steps) >= 10
    return steps


def do(step: object, terminal: Terminal) -> None:
    match step:
        case File():
            terminal.write(step)
        case Command():
            terminal.run(step)
        case Stop():
            terminal.stop()


def test_the_pages_are_the_ones_that_are_done():
    assert {path.stem for path in TUTORIALS.glob("*.md")} == {"use", "build", "operate"}


@pytest.mark.long(
    "tests/e2e/test_first_minute.py"
    "::test_from_install_to_a_streamed_answer_takes_less_than_a_minute"
)
@pytest.mark.parametrize("name", ["build", "operate"])
def test_a_tutorial_in_a_terminal(name, terminal):
    for step in steps_of(name):
        do(step, terminal)


@pytest.mark.node
@pytest.mark.long(
    "tests/e2e/web/test_first_minute.py"
    "::test_from_the_wheel_to_a_verified_proof_takes_less_than_a_minute"
)
def test_the_tutorial_in_the_browser(terminal, tmp_path):
    steps = steps_of("use")
    clicks = [step for step in steps if isinstance(step, Click)]
    first, last = steps.index(clicks[0]), steps.index(clicks[-1])
    assert last - first + 1 == len(clicks), "the browser's steps are in one go"
    for step in steps[:first]:
        do(step, terminal)
    command = ["node", str(WEB / "stories" / "browser.mjs")]
    with process(command, dict(os.environ), tmp_path / "browser.log") as endpoint:
        url = f"http://127.0.0.1:{terminal.port}"
        told = [{"kind": click.kind, "target": terminal.here(click.target)} for click in clicks]
        folder = str(terminal.folder / "dive")
        stage = SimpleNamespace(url=url, browser=endpoint, told={"STORY_TOLD": json.dumps(told)})
        tell(stage, "tutorial", folder, seconds=200)
    for step in steps[last + 1 :]:
        do(step, terminal)


def test_what_is_shown_is_compared():
    assert matches(["a …", "…", "z"], "a b\nc\nd\nz\n")
    assert matches(["a", "…"], "a\n")
    assert not matches(["a"], "a\nb\n")
    assert not matches([], "a\n")
    assert not matches(["a …"], "b\n")


def test_steps_are_read_in_their_order():
    page = "Open <http://x>. Click **A**, and\nyou see **B**.\n```console\n$ one\nout\n^C\n```\n"
    page += '```python title="f.py"\nx = 1\n```\nType `hi` and press **Enter**.\n'
    assert read_steps(page) == [
        Click("open", "http://x"),
        Click("click", "A"),
        Click("you see", "B"),
        Command("one", ["out"]),
        Stop(),
        File("f.py", "x = 1\n"),
        Click("type", "hi"),
        Click("press", "Enter"),
    ]
    with pytest.raises(ValueError, match="neither a file nor a console"):
        read_steps("```python\nx = 1\n```\n")
