"""`langgraph dev`, started for real on this repository's `langgraph.json`: every graph answers.

LangChain's development server is installed by name into `.cache/reference`, an environment of its
own (see reference.py), and blocking calls are refused, as it does by default.
"""

import contextlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import httpx
import pytest
from reference import ROOT, VENV, answers, free_port, install

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
    port = free_port()
    command = [str(VENV / "bin" / "langgraph"), "dev", "--no-browser", "--no-reload"]
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PYTHONPATH": str(ROOT / "src"),
        "LANGSMITH_TRACING": "false",
        "LANGGRAPH_CLI_NO_ANALYTICS": "1",
        "BATHYSPHERE_MODEL_DEMO_PAUSE_S": "0",
    }
    with Path(folder, "log").open("w+") as log:
        process = subprocess.Popen(
            [*command, "--port", str(port)],
            cwd=folder,
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
        try:
            address = f"http://127.0.0.1:{port}"
            assert answers(address, process), Path(folder, "log").read_text()[-3000:]
            yield address
        finally:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=20)
            process.kill()
            process.wait()


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
