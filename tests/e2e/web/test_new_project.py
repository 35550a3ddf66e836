"""`bathysphere new` and `dev` in the browser: a first answer, and an edit that is live at once."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from rigging import WEB, Rig, environment, process, tell

from bathysphere.testing import ModelServer, says

pytestmark = [pytest.mark.services, pytest.mark.node, pytest.mark.timeout(180)]

FIRST_ANSWER = 30.0
LIVE_EDIT = 3.0


@contextmanager
def developing(folder: Path, model: ModelServer) -> Iterator[Rig]:
    """A new project under `dev`, with the PostgreSQL that comes with the package."""
    home = folder / "home"
    home.mkdir()
    env = {**environment(model, "127.0.0.1:9"), "HOME": str(home)}
    bathysphere = str(Path(sys.executable).with_name("bathysphere"))
    subprocess.run([bathysphere, "new", "x"], cwd=folder, env=env, check=True, capture_output=True)
    # `env -C` because the command looks for its project in the folder it is started in.
    command = ["env", "-C", str(folder / "x"), bathysphere, "dev", "--no-browser", "--port", "0"]
    browser = ["node", str(WEB / "stories" / "browser.mjs")]
    log = folder / "dev.log"
    with (
        process(command, env, log) as first,
        process(browser, dict(os.environ), folder / "browser.log") as endpoint,
    ):
        words = [word for word in first.split() if word.startswith("http")]
        assert words, log.read_text()
        yield Rig(url=words[0], browser=endpoint, model=model, log=log, database="", told={})


def until_logged(log: Path, words: str) -> None:
    until = time.monotonic() + 20
    while words not in log.read_text():
        if time.monotonic() >= until:
            raise TimeoutError(f"not said: {words}\n{log.read_text()}")
        time.sleep(0.02)


def prompt_of(model: ModelServer) -> str:
    return json.dumps(model.requests()[-1].body)


def test_a_new_project_answers_in_the_browser_and_an_edit_of_its_prompt_is_live(tmp_path, within):
    with ModelServer() as model:
        model.play([says("The first answer."), says("The second answer.")])
        began = time.monotonic()
        with developing(tmp_path, model) as rig:
            told = json.loads(tell(rig, "new_project_first", seconds=60))
            answered = time.monotonic() - began
            until_logged(rig.log, "Watching . for changes.")
            edited = time.monotonic()
            (tmp_path / "x/agents/x/prompt.md").write_text("Answer like a whale.")
            until_logged(rig.log, "Reloaded after a change of agents/x/prompt.md")
            live = time.monotonic() - edited
            assert "Answer like a whale." not in prompt_of(model)
            tell(rig, "new_project_again", told["path"], seconds=60)
            assert "Answer like a whale." in prompt_of(model)
            model.assert_done()
    within(answered, FIRST_ANSWER)
    within(live, LIVE_EDIT)
