"""A project of six graphs in a fresh environment; `langgraph dev` runs five of them unchanged.

`tests/conformance/test_langgraph_dev.py` has the same conversations with that server. The sixth
graph is an agent folder, as `bathysphere new` writes one.
"""

import json
import shutil
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1] / "conformance"))
from processes import running, url_in
from six_graphs_driver import ASKING, PROJECT, converse, count

from bathysphere.testing import ModelServer, calls, says

pytestmark = [pytest.mark.first_minute, pytest.mark.services, pytest.mark.timeout(400)]

AGENT = 'description = "Asks before it answers"\ntools = ["tools.py:confirm"]\n'
TOOLS = '''
from langgraph.types import interrupt


def confirm(what: str) -> str:
    """Ask the person."""
    return interrupt({"question": f"{what}?"})
'''
SCRIPT = [
    calls("confirm", what="Dive"),
    says("You decided: yes"),
    calls("confirm", what="Rise"),
    says("You decided: no"),
]


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("six") / "project"
    shutil.copytree(PROJECT, folder, ignore=shutil.ignore_patterns("__pycache__"))
    agent = folder / "folder"
    agent.mkdir()
    (agent / "agent.toml").write_text(AGENT)
    (agent / "prompt.md").write_text("Ask before you answer.")
    (agent / "tools.py").write_text(TOOLS)
    config = json.loads((folder / "langgraph.json").read_text())
    config["graphs"]["folder"] = "./folder"
    (folder / "langgraph.json").write_text(json.dumps(config))
    return folder


@pytest.fixture(scope="module")
def model():
    with ModelServer() as server:
        yield server


@pytest.fixture(scope="module")
def url(plain_install, project, model, tmp_path_factory):
    variables = {
        "BATHYSPHERE_MODEL_MAIN": "anthropic:claude-sonnet-4-6",
        "ANTHROPIC_BASE_URL": model.anthropic_base_url,
        "ANTHROPIC_API_KEY": "none",
    }
    environment = plain_install.environment(tmp_path_factory.mktemp("home"), **variables)
    command = (plain_install.command, "serve", "--port", "0")
    with running(*command, environment=environment, folder=project) as server:
        yield url_in(server.stdout.readline())


@pytest.mark.parametrize("graph", ASKING)
async def test_a_graph_asks_and_goes_on(url, graph):
    await converse(url, graph)


async def test_an_agent_folder_asks_and_goes_on(url, model):
    model.play(SCRIPT)
    await converse(url, "folder")
    model.assert_done()


async def test_a_function_ends_with_what_it_returns(url):
    await count(url)
