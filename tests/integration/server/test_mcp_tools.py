"""Tools of a real MCP server in runs of the engine: asked, allowed, taken back; no secrets."""

import asyncio
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "conformance"))
sys.path.insert(0, str(Path(__file__).parents[1] / "mcp"))

from mcp_kit import Kit
from serving import identify, make_worker

from bathysphere.engine.graphs import Graphs
from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec
from bathysphere.middleware.mcp import McpMiddleware
from bathysphere.server.app import create_app
from bathysphere.server.process.services import open_services
from bathysphere.testing import ScriptedChatModel, calls, says

pytestmark = pytest.mark.services

USER = {"x-user": "alice"}


@pytest.fixture
def kit(tmp_path):
    kit = Kit(tmp_path)
    yield kit
    kit.close()


@asynccontextmanager
async def serving(database, hub, script):
    model = ScriptedChatModel(script=script)
    spec = AgentSpec(name="agent", model=model, middleware=(McpMiddleware(hub, ["near"]),))
    graphs = Graphs({"agent": lambda: build(spec)})
    async with open_services(database=database, graphs=graphs) as services:
        app = create_app(services=services, identify=identify, mcp_hub=hub)
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://test", timeout=60, headers=USER
        ) as client:
            worker = await make_worker(services)
            task = asyncio.create_task(worker.run())
            try:
                yield client
            finally:
                worker.drain()
                await task


async def run(client, thread, **body):
    answer = await client.post(
        f"/threads/{thread}/runs/wait", json={"assistant_id": "agent", **body}
    )
    assert answer.status_code == 200, answer.text
    return answer.json()


def go():
    return {"input": {"messages": [{"role": "user", "content": "Go."}]}}


async def test_a_tool_is_asked_about_allowed_and_asked_about_again(database, kit):
    hub = kit.hub(near=kit.stdio("workshop", callSeconds=2))
    script = [
        calls("near__dig", place="a"),
        calls("near__dig", place="b"),
        calls("near__die"),
        says("1"),
        calls("near__dig", place="c"),
        says("2"),
    ]
    async with serving(database, hub, script) as client:
        thread = (await client.post("/threads", json={})).json()["thread_id"]
        paused = await run(client, thread, **go())
        (question,) = paused["__interrupt__"]
        assert kit.acted() == []
        refused = await client.post(
            f"/threads/{thread}/runs/wait",
            json={"assistant_id": "agent", "command": {"resume": {question["id"]: {"type": "?"}}}},
        )
        assert refused.status_code == 422
        always = {question["id"]: {"type": "approve", "always": True}}
        state = await run(client, thread, command={"resume": always})
        assert kit.acted() == ["dig a", "dig b"]
        assert list(state["mcp_allowed"]) == ["near__dig"]
        assert state["messages"][-1]["content"] == "1"
        taken = await client.post(
            f"/threads/{thread}/state", json={"values": {"mcp_allowed": {"near__dig": ""}}}
        )
        assert taken.status_code == 200, taken.text
        again = await run(client, thread, **go())
        assert again["__interrupt__"][0]["value"]["name"] == "near__dig"
        assert kit.acted() == ["dig a", "dig b"]


async def test_the_list_of_servers_shows_no_values_of_their_configuration(database, kit):
    secret = {"command": "/no/such/program-k3y", "args": ["arg-s3cret"], "env": {"K": "env-s3cret"}}
    web = {
        "url": "http://127.0.0.1:9/mcp?key=url-s3cret",
        "headers": {"Authorization": "header-s3cret"},
        "bathysphere": {"connectSeconds": 2},
    }
    hub = kit.hub(near=kit.stdio("workshop"), gone=secret, web=web)
    async with serving(database, hub, []) as client:
        answer = await client.get("/mcp-servers")
        shown = {server["name"]: server for server in answer.json()}
    assert shown["near"]["state"] == "ready"
    assert {tool["name"]: tool["needs_approval"] for tool in shown["near"]["tools"]}["near__dig"]
    assert [shown[name]["state"] for name in ("gone", "web")] == ["failed", "failed"]
    for word in ("s3cret", "k3y", "127.0.0.1", str(kit.log)):
        assert word not in answer.text
