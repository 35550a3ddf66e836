"""The engine answers the searches of a served agent, and `doctor` names it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from langgraph_sdk import get_client

HERE = Path(__file__).parent
OWN = {"BATHYSPHERE_SEARCH_ENGINE": "library:build", "PYTHONPATH": str(HERE)}
pytestmark = pytest.mark.services


def test_doctor_names_the_engine():
    command = [Path(sys.executable).parent / "bathysphere", "doctor"]
    env = {**os.environ, **OWN}
    done = subprocess.run(command, cwd=HERE, env=env, capture_output=True, text=True, check=False)
    assert "search: library:build" in done.stdout


async def test_the_agent_finds_what_the_engine_finds(serve):
    question = 'CALL web_search {"query": "bathysphere dives"}'
    async with get_client(url=serve(HERE, "./librarian", **OWN).url) as client:
        said = {"messages": [{"role": "user", "content": question}]}
        state = await client.runs.wait(None, "librarian", input=said)
    assert "https://library.example/half-mile-down" in state["messages"][-1]["content"]
    assert "reefs" not in state["messages"][-1]["content"]
