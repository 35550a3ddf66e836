"""Settings in Chromium: a model is set up on one's own machine; elsewhere the operator chooses."""

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from rigging import WEB, process, tell

from bathysphere.testing.model_program import ModelProgram
from bathysphere.testing.postgres import temporary_database

pytestmark = [pytest.mark.services, pytest.mark.node, pytest.mark.timeout(400)]
OTHERS = ("BATHYSPHERE_", "OPENAI", "ANTHROPIC", "GOOGLE", "GEMINI", "OLLAMA", "LM_STUDIO")


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("browser") / "browser.log"
    with process(["node", str(WEB / "stories" / "browser.mjs")], dict(os.environ), log) as endpoint:
        assert endpoint.startswith("ws://"), log.read_text()
        yield endpoint


@pytest.fixture
def ollama() -> Iterator[ModelProgram]:
    with ModelProgram("llama3.2:latest", "nomic-embed-text:latest").running() as program:
        yield program


@pytest.fixture
def serve(browser, ollama, tmp_path):
    """Starts `bathysphere serve` as it is installed, on a machine with an Ollama."""

    def start(database: str, **more: str):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(OTHERS)}
        env = {
            **kept,
            "BATHYSPHERE_DATA_DIR": str(tmp_path / "data"),
            "BATHYSPHERE_TITLES": "false",
            "BATHYSPHERE_MODEL_OLLAMA_URL": ollama.url,
            "BATHYSPHERE_MODEL_LM_STUDIO_URL": "http://127.0.0.1:9/v1",
            "BATHYSPHERE_MODEL_FOLDER": str(tmp_path / "models"),
            **more,
        }
        command = [sys.executable, "-W", "ignore", "-m", "bathysphere.cli.main", "serve"]
        return process(
            [*command, "--port", "0", "--database-url", database], env, tmp_path / "serve.log"
        )

    return start


def stage(first: str, browser: str, log: Path) -> SimpleNamespace:
    words = [word for word in first.split() if word.startswith("http")]
    assert words, log.read_text()
    return SimpleNamespace(url=words[0].rstrip("."), browser=browser, told={})


@pytest.mark.long(
    "tests/integration/server/test_model_setup.py"
    "::test_a_choice_is_used_at_once_and_after_a_restart"
)
def test_a_model_is_set_up_on_ones_own_machine(serve, browser, ollama, tmp_path):
    ollama.pull_seconds = [120.0, 2.0]  # the first is cancelled
    with temporary_database("web") as database:
        with serve(database) as first:
            tell(stage(first, browser, tmp_path / "serve.log"), "model_setup", seconds=300)
        stored = tmp_path / "data" / "model.json"
        assert stat.S_IMODE(stored.stat().st_mode) == 0o600
        assert "sk-ant" not in (tmp_path / "serve.log").read_text()


@pytest.mark.long(
    "tests/integration/server/test_model_setup.py::test_the_environment_wins_and_says_so"
)
@pytest.mark.parametrize("who", ["environment", "operator"])
def test_what_others_decide_is_said(serve, browser, tmp_path, who):
    more = {"BATHYSPHERE_MODEL_MAIN": "ollama:llama3.2"}
    if who == "operator":
        more |= {"BATHYSPHERE_ALLOWED_HOSTS": "127.0.0.1,localhost"}
    with temporary_database("web") as database, serve(database, **more) as first:
        tell(stage(first, browser, tmp_path / "serve.log"), "model_fixed", who, seconds=200)
