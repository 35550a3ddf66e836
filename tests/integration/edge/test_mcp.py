"""`/mcp` with the official client: agents as tools, questions as forms, two tenants."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
import psycopg
import pytest
from mcp import ClientSession, types
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import McpError

pytestmark = pytest.mark.services
AGENTS = Path(__file__).with_name("mcp_agents.py")
NAMES = ["chat", "order", "remover", "sleeper"]
Answer = Callable[[types.ElicitRequestParams], types.ElicitResult]


@pytest.fixture(scope="module")
def at(edge_database) -> tuple[str, ...]:
    return ("--database-url", edge_database.url)


@pytest.fixture(scope="module")
def url(at, module_command) -> str:
    targets = [f"{AGENTS}:{name}" for name in NAMES]
    served = module_command("serve", *targets, "--only", "--auth", "api-key", "--port", "0", *at)
    return served.url()


@pytest.fixture(scope="module")
def keys(at, url, module_command) -> dict[str, str]:
    def create(tenant: str) -> str:
        made = module_command("keys", *at, "create", "--tenant", tenant, "--user", "ada").output()
        return made.splitlines()[0]

    return {tenant: create(tenant) for tenant in ("acme", "evil", "many")}


@pytest.fixture
def ada(keys) -> str:
    return keys["acme"]


@asynccontextmanager
async def session_of(
    url: str, key: str, *, answer: Answer | None = None, **options: Any
) -> AsyncIterator[ClientSession]:
    async def on_question(_: Any, asked: types.ElicitRequestParams) -> types.ElicitResult:
        return answer(asked)

    headers = {"Authorization": f"Bearer {key}"}
    async with (
        httpx.AsyncClient(headers=headers, timeout=60) as http,
        streamable_http_client(f"{url}/mcp", http_client=http) as (read, write, _),
        ClientSession(
            read, write, elicitation_callback=on_question if answer else None, **options
        ) as session,
    ):
        await session.initialize()
        yield session


def accept(**content: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content=content)


async def test_each_agent_is_a_tool_with_its_input(url, ada):
    async with session_of(url, ada) as session:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
    assert sorted(tools) == NAMES
    assert tools["chat"].inputSchema["required"] == ["message"]
    assert set(tools["order"].inputSchema["properties"]) == {"item", "done", "seconds", "thread_id"}


async def test_a_conversation_goes_on_in_its_thread(url, ada):
    async with session_of(url, ada) as session:
        first = await session.call_tool("chat", {"message": "hello"})
        thread = first.structuredContent["thread_id"]
        second = await session.call_tool("chat", {"message": "again", "thread_id": thread})
    assert [one.content[0].text for one in (first, second)] == ["1: hello", "3: again"]
    headers = {"Authorization": f"Bearer {ada}"}
    async with httpx.AsyncClient(base_url=url, headers=headers) as http:
        seen = (await http.get(f"/threads/{thread}/state")).json()
    assert len(seen["values"]["messages"]) == 4


async def test_a_question_is_a_form_and_its_answer_continues_the_run(url, ada):
    asked: list[types.ElicitRequestParams] = []

    def answer(params: types.ElicitRequestParams) -> types.ElicitResult:
        asked.append(params)
        return accept(colour="green" if len(asked) == 1 else "red", amount=3)

    async with session_of(url, ada, answer=answer) as session:
        result = await session.call_tool("order", {"item": "hats"})
    assert result.structuredContent["values"]["done"] == "3 red hats"
    assert asked[0].message == "Which hats?"
    assert asked[0].requestedSchema["properties"]["colour"]["enum"] == ["red", "blue"]
    assert "green" in asked[1].message, "an answer that does not fit is asked for again"


async def test_an_approval_is_a_choice(url, ada):
    async with session_of(url, ada, answer=lambda _: accept(decision="approve")) as session:
        approved = await session.call_tool("remover", {"message": "/a"})
    assert approved.content[0].text == "removed /a"
    refused = accept(decision="reject", message="keep it")
    async with session_of(url, ada, answer=lambda _: refused) as session:
        rejected = await session.call_tool("remover", {"message": "/a"})
    assert "keep it" in rejected.content[0].text


@pytest.mark.parametrize("answer", [None, lambda _: types.ElicitResult(action="decline")])
async def test_without_an_answer_the_result_says_what_waits_and_where(url, ada, answer):
    async with session_of(url, ada, answer=answer) as session:
        result = await session.call_tool("order", {"item": "hats"})
    assert not result.isError
    thread = result.structuredContent["thread_id"]
    assert f"/c/{thread}" in result.content[0].text
    assert "Which hats?" in result.content[0].text


async def test_a_long_call_says_that_it_goes_on(url, ada):
    told: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        told.append(progress)

    async with session_of(url, ada) as session:
        result = await session.call_tool("sleeper", {"seconds": 11}, progress_callback=on_progress)
    assert result.structuredContent["values"]["done"] == "slept"
    assert told == [1]


async def test_a_cancelled_call_stops_its_run(url, ada):
    headers = {"Authorization": f"Bearer {ada}"}
    async with session_of(url, ada) as session, httpx.AsyncClient(headers=headers) as http:
        calling = asyncio.create_task(session.call_tool("sleeper", {"seconds": 60}))
        await _until(lambda: _runs(http, url, "running"), 1)
        cancelled = types.CancelledNotification(
            params=types.CancelledNotificationParams(requestId=session._request_id - 1)
        )
        await session.send_notification(types.ClientNotification(cancelled))
        with pytest.raises(McpError):
            await asyncio.wait_for(calling, 10)
        await _until(lambda: _runs(http, url, "running"), 0)


async def _runs(http: httpx.AsyncClient, url: str, status: str) -> int:
    threads = (await http.post(f"{url}/threads/search", json={"status": "busy"})).json()
    found = 0
    for thread in threads:
        runs = await http.get(f"{url}/threads/{thread['thread_id']}/runs?status={status}")
        found += len(runs.json())
    return found


async def _until(count: Callable[[], Any], wanted: int, seconds: float = 15) -> None:
    end = time.monotonic() + seconds
    while await count() != wanted:
        if time.monotonic() >= end:
            raise TimeoutError
        await asyncio.sleep(0.1)


@pytest.mark.parametrize(
    ("tool", "arguments", "says"),
    [
        ("nothing", {}, "Unknown tool: nothing"),
        ("chat", {}, "'message' is a required property"),
        ("chat", {"message": "x", "thread_id": "nonsense"}, "thread_id must be a UUID"),
        ("chat", {"message": "x", "thread_id": str(UUID(int=7))}, "not found"),
    ],
)
async def test_a_wrong_call_is_a_result_that_says_why(url, ada, tool, arguments, says):
    async with session_of(url, ada) as session:
        result = await session.call_tool(tool, arguments)
    assert result.isError
    assert says in result.content[0].text


async def test_another_tenant_has_neither_the_thread_nor_the_session_nor_the_assistant(
    url, ada, keys
):
    mine = {"Authorization": f"Bearer {ada}"}
    async with httpx.AsyncClient(base_url=url, headers=mine) as http:
        for name in ("adas own", "chat"):
            own = {"graph_id": "order", "name": name}
            (await http.post("/assistants", json=own)).raise_for_status()
    async with session_of(url, ada) as session:
        names = [tool.name for tool in (await session.list_tools()).tools]
        thread = (await session.call_tool("chat", {"message": "x"})).structuredContent["thread_id"]
    assert "adas_own" in names
    assert len([name for name in names if name.startswith("chat-")]) == 1
    async with session_of(url, keys["evil"]) as session:
        assert sorted(tool.name for tool in (await session.list_tools()).tools) == NAMES
        taken = await session.call_tool("chat", {"message": "x", "thread_id": thread})
        assert taken.isError
        unknown = await session.call_tool("adas_own", {"message": "x"})
        assert unknown.isError


async def test_an_assistant_of_a_graph_that_is_no_longer_served_is_no_tool(
    url, keys, edge_database
):
    async with httpx.AsyncClient(base_url=url, headers={"x-api-key": keys["evil"]}) as http:
        own = {"graph_id": "order", "name": "forgotten"}
        made = (await http.post("/assistants", json=own)).json()
    with psycopg.connect(edge_database.url) as connection:
        connection.execute(
            "UPDATE engine.assistant_versions SET graph = 'gone' WHERE assistant_id = %s",
            [made["assistant_id"]],
        )
    async with session_of(url, keys["evil"]) as session:
        assert sorted(tool.name for tool in (await session.list_tools()).tools) == NAMES
        assert (await session.call_tool("forgotten", {"message": "x"})).isError


async def test_a_session_belongs_to_the_credential_that_opened_it(url, keys):
    start = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        },
    }
    accepts = {"Accept": "application/json, text/event-stream"}
    async with httpx.AsyncClient(headers=accepts) as http:
        mine, evil = ({"Authorization": f"Bearer {keys[name]}"} for name in ("many", "evil"))
        opened = await http.post(f"{url}/mcp", json=start, headers=mine)
        place = {"mcp-session-id": opened.headers["mcp-session-id"]}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        assert (await http.post(f"{url}/mcp", json=ping, headers=mine | place)).status_code == 200
        assert (await http.post(f"{url}/mcp", json=ping, headers=evil | place)).status_code == 404
        assert (await http.post(f"{url}/mcp", json=ping, headers=place)).status_code == 401
        left = 19
        for _ in range(left):
            assert (await http.post(f"{url}/mcp", json=start, headers=mine)).status_code == 200
        assert (await http.post(f"{url}/mcp", json=start, headers=mine)).status_code == 429
        assert (await http.post(f"{url}/mcp", json=start, headers=evil)).status_code == 200
        ended = await http.delete(f"{url}/mcp", headers=mine | place)
        assert ended.status_code == 200
        assert (await http.post(f"{url}/mcp", json=start, headers=mine)).status_code == 200
