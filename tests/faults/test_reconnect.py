"""A reader loses its connection a hundred times while a model streams 200 tokens per second."""

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx
import pytest
import uvicorn
from api_process import identify
from engine_rig import ALICE, QUICK
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.graph import START, MessagesState, StateGraph
from own_services import own_redis
from pydantic import PrivateAttr
from stream_client import StreamClient, open_http

from bathysphere.engine.database.pool import Database
from bathysphere.engine.graphs import Graphs
from bathysphere.engine.records import Work
from bathysphere.engine.runs.executor import Limits
from bathysphere.engine.runs.service import NewRun
from bathysphere.server.app import create_app
from bathysphere.server.observability.metrics import Metrics
from bathysphere.server.process.listener import Listener
from bathysphere.server.process.services import Services, open_services, open_worker

pytestmark = [pytest.mark.services, pytest.mark.timeout(120)]

RATE = 200
TIMES = 100


@dataclass
class Pen:
    """The text that the model has streamed, and whether it may stop."""

    tokens: list[str] = field(default_factory=list)
    may_stop: asyncio.Event = field(default_factory=asyncio.Event)


class Writer(BaseChatModel):
    """Streams `RATE` tokens per second until it may stop."""

    _pen: Pen = PrivateAttr(default_factory=Pen)

    @property
    def _llm_type(self) -> str:
        return "writer"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("not streamed"))])

    async def _astream(self, messages: list[BaseMessage], *_: Any, **__: Any) -> AsyncIterator[Any]:
        pen, loop = self._pen, asyncio.get_running_loop()
        began = loop.time()
        while not pen.may_stop.is_set():
            pen.tokens.append(f"{len(pen.tokens)} ")
            yield ChatGenerationChunk(message=AIMessageChunk(pen.tokens[-1]))
            await asyncio.sleep(max(0.0, began + len(pen.tokens) / RATE - loop.time()))


def writing(model: Writer) -> Any:
    async def write(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    graph = StateGraph(MessagesState)
    graph.add_node("write", write)
    graph.add_edge(START, "write")
    return graph.compile()


@asynccontextmanager
async def serving(services: Services) -> AsyncIterator[str]:
    """Run an API and a worker in this process; yield the address."""
    app = create_app(services=services, identify=identify, heartbeat_seconds=0.5)
    server = Listener(uvicorn.Config(app, port=0, log_config=None, lifespan="off"))
    worker = await open_worker(services, metrics=Metrics(), limits=Limits(), options=QUICK)
    tasks = [asyncio.create_task(worker.run()), asyncio.create_task(server.serve())]
    await server.is_listening.wait()
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        worker.drain()
        server.should_exit = server.force_exit = True
        await asyncio.gather(*tasks)


@pytest.fixture(params=["redis", "memory"])
def redis_url(request: pytest.FixtureRequest):
    if request.param == "memory":
        yield None
        return
    with own_redis() as server:
        yield server.url


async def lose_it(client: StreamClient, dice: random.Random) -> None:
    """Read, with the connection cut at a hundred random points."""
    for _ in range(TIMES):
        with suppress(TimeoutError, httpx.HTTPError):
            async with asyncio.timeout(dice.uniform(0.005, 0.15)):
                client.connections += 1
                await client.read_once()


def text(client: StreamClient) -> str:
    """The tokens that the client received."""
    deltas = [
        event["params"]["data"]["delta"]["text"]
        for event in client.seen
        if event["method"] == "messages"
        and event["params"]["data"]["event"] == "content-block-delta"
    ]
    return "".join(deltas)


async def test_a_hundred_lost_connections_lose_and_double_no_token(
    engine_database: Database, redis_url: str | None
):
    model, thread = Writer(), uuid4()
    async with (
        open_services(
            database=engine_database,
            graphs=Graphs({"writer": lambda: writing(model)}),
            redis_url=redis_url,
        ) as services,
        serving(services) as address,
        open_http() as http,
    ):
        work = Work(input={"messages": [{"role": "user", "content": "write"}]})
        new = NewRun(thread_id=thread, graph="writer", work=work)
        run = (await services.runs.create(new, owner=ALICE)).run
        going_on, starting_over = (
            StreamClient(
                http=http,
                thread=thread,
                addresses=lambda: [address],
                waits_for=[str(run.run_id)],
                sends_since=sends_since,
                address=address,
            )
            for sends_since in (True, False)
        )
        async with asyncio.TaskGroup() as group:
            group.create_task(lose_it(going_on, random.Random(1)))
            group.create_task(lose_it(starting_over, random.Random(2)))
        model._pen.may_stop.set()
        await going_on.read()
        await starting_over.read()
    written = "".join(model._pen.tokens)
    assert len(model._pen.tokens) > 5 * RATE
    for client in (going_on, starting_over):
        assert client.connections > TIMES
        assert text(client) == written
        assert client.repeats == 0
        assert client.ids == sorted(set(client.ids))
    assert going_on.seen == starting_over.seen
