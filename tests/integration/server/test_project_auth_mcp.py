"""`/mcp` under a project's owner filter: which tools and threads a caller reaches."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from langgraph_sdk import Auth
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client

sys.path.insert(0, str(Path(__file__).parents[2] / "conformance"))
sys.path.insert(0, str(Path(__file__).parent))

from serving import make_worker
from test_project_auth import graph, new_auth, owner_auth

from bathysphere.engine.graphs import Graphs
from bathysphere.server.app import create_app
from bathysphere.server.process.listener import Listener
from bathysphere.server.process.services import open_services
from bathysphere.server.project_auth.authenticate import ProjectIdentity
from bathysphere.server.project_auth.authorize import ProjectAuthorization

pytestmark = pytest.mark.services
ALICE = {"authorization": "Bearer alice"}


@asynccontextmanager
async def listening(database, auth: Auth) -> AsyncIterator[str]:
    async with open_services(database=database, graphs=Graphs({"plain": graph})) as services:
        app = create_app(
            services=services,
            identify=ProjectIdentity(auth).identify,
            authorization=ProjectAuthorization(auth, services),
        )
        server = Listener(uvicorn.Config(app, port=0, log_level="warning", lifespan="off"))
        worker = await make_worker(services)
        tasks = [asyncio.create_task(worker.run()), asyncio.create_task(server.serve())]
        await server.is_listening.wait()
        try:
            yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        finally:
            server.should_exit = server.force_exit = True
            worker.drain()
            await asyncio.gather(*tasks)


@asynccontextmanager
async def session_of(url: str) -> AsyncIterator[ClientSession]:
    async with (
        httpx.AsyncClient(headers=ALICE, timeout=60) as http,
        streamable_http_client(f"{url}/mcp", http_client=http) as (read, write, _),
        ClientSession(read, write) as session,
    ):
        await session.initialize()
        yield session


async def threads_of(url: str) -> list[dict[str, Any]]:
    async with httpx.AsyncClient(base_url=url, headers=ALICE) as http:
        return (await http.post("/threads/search", json={})).json()


def showing_graphs() -> Auth:
    """The owner filter, with the assistants of graphs shown to everyone."""
    auth = owner_auth()

    @auth.on.assistants
    async def show(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> None:
        return None

    return auth


def test_a_tools_thread_is_stamped_and_a_hidden_one_is_not_found(database):
    async def scenario() -> None:
        async with listening(database, new_auth()) as url, httpx.AsyncClient() as http:
            made = await http.post(f"{url}/threads", json={}, headers=ALICE)
            hidden = made.json()["thread_id"]
        async with listening(database, showing_graphs()) as url, session_of(url) as session:
            assert [tool.name for tool in (await session.list_tools()).tools] == ["plain"]
            refused = await session.call_tool("plain", {"text": "x", "thread_id": hidden})
            assert refused.isError
            assert "not found" in refused.content[0].text
            done = await session.call_tool("plain", {"text": "x"})
            assert not done.isError, done.content
            (thread,) = await threads_of(url)
            assert thread["metadata"]["owner"] == "alice"
            again = {"text": "x", "thread_id": thread["thread_id"]}
            assert not (await session.call_tool("plain", again)).isError

    asyncio.run(scenario())


def test_the_tools_are_the_assistants_that_a_search_shows(database):
    async def scenario() -> None:
        async with listening(database, owner_auth()) as url:
            async with httpx.AsyncClient(base_url=url, headers=ALICE) as http:
                body = {"graph_id": "plain", "name": "Mine"}
                made = await http.post("/assistants", json=body)
                assert made.json()["metadata"]["owner"] == "alice", made.text
            async with session_of(url) as session:
                (tool,) = (await session.list_tools()).tools
                assert tool.name != "plain"
                unknown = await session.call_tool("plain", {"text": "x"})
                assert "Unknown tool" in json.dumps([one.text for one in unknown.content])
                assert not (await session.call_tool(tool.name, {"text": "x"})).isError

    asyncio.run(scenario())


def test_a_handler_that_refuses_runs_refuses_the_endpoint(database):
    async def scenario() -> None:
        auth = owner_auth()

        @auth.on.threads.create_run
        async def refuse(ctx: Auth.types.AuthContext, value: dict[str, Any]) -> bool:
            return False

        async with listening(database, auth) as url, httpx.AsyncClient(headers=ALICE) as http:
            answer = await http.post(f"{url}/mcp", json={"jsonrpc": "2.0", "id": 1})
            assert answer.status_code == 403

    asyncio.run(scenario())
