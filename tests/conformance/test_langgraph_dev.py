"""`langgraph dev`, started for real on this repository's `langgraph.json`: every graph answers.

LangChain's development server is installed by name into `.cache/reference`, an environment of its
own (see reference.py), and blocking calls are refused, as it does by default.
"""

import json
import shutil

import httpx
import pytest
from reference import ROOT, install, langgraph_dev
from six_graphs_driver import ASKING, PROJECT, converse, count

pytestmark = [pytest.mark.langgraph_dev, pytest.mark.timeout(300)]

GRAPHS = sorted(json.loads((ROOT / "langgraph.json").read_text())["graphs"])
QUESTION = "How deep did the bathysphere go?"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Where `langgraph dev` answers, with this repository's `langgraph.json`."""
    install()
    folder = tmp_path_factory.mktemp("dev")
    shutil.copy(ROOT / "langgraph.json", folder)
    (folder / "src").symlink_to(ROOT / "src")
    variables = {"PYTHONPATH": str(ROOT / "src"), "BATHYSPHERE_MODEL_DEMO_PAUSE_S": "0"}
    with langgraph_dev(folder, **variables) as address:
        yield address


@pytest.mark.parametrize("graph", GRAPHS)
def test_every_graph_of_langgraph_json_answers_a_run(server, graph):
    message = {"role": "user", "content": QUESTION}
    with httpx.Client(base_url=server, timeout=120) as client:
        thread = client.post("/threads", json={}).json()["thread_id"]
        body = {"assistant_id": graph, "input": {"messages": [message]}}
        ended = client.post(f"/threads/{thread}/runs/wait", json=body)
        assert ended.status_code == 200, ended.text
        state = client.get(f"/threads/{thread}/state").json()
    assert "__error__" not in ended.json(), ended.json()
    said = [one for one in state["values"].get("messages", []) if one["type"] == "ai"]
    asked = [one for task in state["tasks"] for one in task["interrupts"]]
    assert said or asked, state
    assert not [task["error"] for task in state["tasks"] if task.get("error")]
    if graph == "research":
        assert state["values"]["status"] == "awaiting_approval", state["values"]


@pytest.fixture(scope="module")
def six_graphs(tmp_path_factory):
    """Where it serves the project that `tests/e2e/test_six_graphs.py` serves with ours."""
    install()
    folder = tmp_path_factory.mktemp("six") / "project"
    shutil.copytree(PROJECT, folder, ignore=shutil.ignore_patterns("__pycache__"))
    with langgraph_dev(folder) as address:
        yield address


@pytest.mark.parametrize("graph", ASKING)
async def test_a_graph_of_the_six_asks_and_goes_on(six_graphs, graph):
    await converse(six_graphs, graph)


async def test_a_function_ends_with_what_it_returns(six_graphs):
    await count(six_graphs)
