"""The MCP server is started by the real commands; reading runs at once, booking waits."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from langgraph_sdk import get_client

HERE = Path(__file__).parent
PATH = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
pytestmark = pytest.mark.services


def said(text):
    return {"messages": [{"role": "user", "content": text}]}


def test_the_command_lists_the_tools():
    command = [Path(sys.executable).parent / "bathysphere", "mcp", "test", "tides"]
    done = subprocess.run(
        command, cwd=HERE, env={**os.environ, "PATH": PATH}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "reads  tides__high_water" in done.stdout
    assert "asks   tides__book_berth" in done.stdout


@pytest.fixture(scope="module")
def url(serve):
    return serve(HERE, "./harbour", BATHYSPHERE_MCP_CONFIG="mcp.json", PATH=PATH).url


@pytest.fixture
async def client(url):
    async with get_client(url=url) as client:
        yield client


async def test_reading_runs_at_once(client):
    question = said('CALL tides__high_water {"port": "Brest"}')
    state = await client.runs.wait(None, "harbour", input=question)
    assert "Brest: 14:20" in state["messages"][-1]["content"]


async def test_booking_waits_for_the_person(client):
    thread = (await client.threads.create())["thread_id"]
    question = said('CALL tides__book_berth {"port": "Brest", "hour": 14}')
    state = await client.runs.wait(thread, "harbour", input=question)
    [waiting] = state["__interrupt__"]
    assert waiting["value"]["args"] == {"port": "Brest", "hour": 14}
    answer = {"resume": {waiting["id"]: {"type": "approve"}}}
    state = await client.runs.wait(thread, "harbour", command=answer)
    assert "Booked: Brest, 14:00" in state["messages"][-1]["content"]
