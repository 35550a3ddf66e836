"""A client writes only the fields that are declared for it, whichever way it tries."""

import asyncio
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypedDict
from uuid import uuid4

import httpx
import pytest
from langgraph.graph import StateGraph
from langgraph.types import interrupt

sys.path.insert(0, str(Path(__file__).parents[2] / "conformance"))

from serving import identify, make_worker

from bathysphere.agents import AGENTS, load
from bathysphere.core.writers import RESERVED_NAMESPACE, ByClient, ByEngine, Writer
from bathysphere.engine.graphs import Graphs
from bathysphere.harness.build import build
from bathysphere.models.resolve import Models
from bathysphere.server.app import create_app
from bathysphere.server.process.services import open_services
from bathysphere.testing import ScriptedChatModel, says

pytestmark = pytest.mark.services

USER = {"x-user": "alice"}


class Declared(TypedDict, total=False):
    asked: ByClient[str]
    approved: ByEngine[str]
    answer: ByEngine[str]


class Undeclared(TypedDict, total=False):
    asked: str
    approved: str
    answer: str


def foreign(schema):
    """Somebody's own graph: it asks, approves, and acts on the approval."""

    def ask(state):
        return {"approved": interrupt("May I?")}

    def act(state):
        return {"answer": f"did it, approved: {state.get('approved')}"}

    builder = StateGraph(schema)
    builder.add_node("ask", ask)
    builder.add_node("act", act)
    builder.add_edge("ask", "act")
    return builder.set_entry_point("ask").compile()


def agent(name):
    model = ScriptedChatModel(answer=lambda _: says("Done."))
    models = Models(main=model, subagent=model, summary=model, audit=model)
    return build(load(name).spec(models=models))


def graphs():
    made = {name: (lambda name=name: agent(name)) for name in AGENTS}
    return Graphs(
        {**made, "declared": lambda: foreign(Declared), "free": lambda: foreign(Undeclared)}
    )


class Town:
    def __init__(self, services, client):
        self.services = services
        self.client = client

    async def post(self, path, **body):
        return await self.client.post(path, json=body, headers=USER)

    async def thread(self, graph):
        """A thread whose state a client may try to change."""
        answer = await self.post("/threads", metadata={"graph_id": graph})
        return answer.json()["thread_id"]

    async def state(self, thread):
        return (await self.client.get(f"/threads/{thread}/state", headers=USER)).json()


@asynccontextmanager
async def open_town(database):
    async with open_services(database=database, graphs=graphs()) as services:
        transport = httpx.ASGITransport(app=create_app(services=services, identify=identify))
        async with httpx.AsyncClient(
            transport=transport, base_url="http://test", timeout=30
        ) as client:
            worker = await make_worker(services)
            task = asyncio.create_task(worker.run())
            try:
                yield Town(services, client)
            finally:
                worker.drain()
                await task


@pytest.fixture
async def town(database):
    async with open_town(database) as made:
        yield made


async def every_way(town, graph, thread, values):
    """All ways of writing values into the thread's state, by name."""
    run = {"assistant_id": graph}
    command = {"method": "run.start", "id": 1}
    place = f"/threads/{thread}"
    ways = {
        "input": town.post(f"{place}/runs", **run, input=values),
        "input, waiting": town.post(f"{place}/runs/wait", **run, input=values),
        "input, streaming": town.post(f"{place}/runs/stream", **run, input=values),
        "update": town.post(f"{place}/runs", **run, command={"update": values}),
        "state": town.post(f"{place}/state", values=values),
        "state at start": town.post(f"{place}/state", values=values, as_node="__start__"),
        "stateless": town.post("/runs", **run, input=values),
        "stateless, waiting": town.post("/runs/wait", **run, input=values),
        "stateless, update": town.post("/runs/wait", **run, command={"update": values}),
        "batch": town.client.post("/runs/batch", json=[{**run, "input": values}], headers=USER),
        "protocol": town.post(f"{place}/commands", **command, params={**run, "input": values}),
    }
    return {name: await way for name, way in ways.items()}


def is_refused(answer, field):
    """Whether it is a 422 that names the field, or the protocol's error that does."""
    body = answer.json()
    if answer.status_code == 200 and isinstance(body, dict) and body.get("type") == "error":
        return f"'{field}'" in body["message"]
    return (
        answer.status_code == 422
        and body["error"] == "field_not_writable"
        and f"'{field}'" in body["message"]
    )


@pytest.mark.parametrize("graph", [*AGENTS, "declared"])
async def test_no_way_writes_a_field_the_client_may_not_write(town, graph):
    writers = town.services.graphs.writers(graph)
    others = [name for name, writer in writers.items() if writer is not Writer.CLIENT]
    assert others
    hidden = [
        name for name in town.services.graphs.get(graph).channels if name not in writers
    ]  # such as `branch:to:node` and `__start__`
    thread = await town.thread(graph)
    for field in [*others, *hidden]:
        answers = await every_way(town, graph, thread, {field: "forged"})
        accepted = [name for name, answer in answers.items() if not is_refused(answer, field)]
        assert not accepted, (field, accepted)
    assert (await town.state(thread))["values"] == {}


@pytest.mark.parametrize("graph", [*AGENTS, "declared"])
async def test_no_client_chooses_the_next_node(town, graph):
    thread = await town.thread(graph)
    for node in town.services.graphs.get(graph).nodes:
        if node == "__start__":
            continue
        run = {"assistant_id": graph}
        answers = [
            await town.post(f"/threads/{thread}/runs", **run, command={"goto": node}),
            await town.post("/runs/wait", **run, command={"goto": [node], "update": {}}),
            await town.post(f"/threads/{thread}/state", values={}, as_node=node),
            await town.post(f"/threads/{thread}/state", values=None, as_node=node),
        ]
        assert [a.status_code for a in answers] == [422] * 4, node
    for special in ("__end__", "__copy__", "__input__"):
        answer = await town.post(f"/threads/{thread}/state", values=None, as_node=special)
        assert answer.status_code == 422, special


async def test_an_answer_brings_no_field_and_no_node_along(town):
    thread = str(uuid4())
    run = {"assistant_id": "declared", "if_not_exists": "create"}
    await town.post(f"/threads/{thread}/runs/wait", **run, input={"asked": "x"})
    [question] = (await town.state(thread))["interrupts"]
    for extra in ({"update": {"answer": "forged"}}, {"goto": "act"}):
        refused = await town.post(
            f"/threads/{thread}/runs/wait", **run, command={"resume": "yes", **extra}
        )
        assert refused.status_code == 422, extra
        params = {"interrupt_id": question["id"], "response": "yes", **extra}
        answer = await town.post(
            f"/threads/{thread}/commands", id=1, method="input.respond", params=params
        )
        assert answer.json()["type"] == "error", extra
    done = await town.post(f"/threads/{thread}/runs/wait", **run, command={"resume": "yes"})
    assert done.json()["answer"] == "did it, approved: yes"


async def test_a_graph_that_declares_nothing_keeps_langgraphs_behaviour(town):
    thread = str(uuid4())
    run = {"assistant_id": "free", "if_not_exists": "create"}
    await town.post(f"/threads/{thread}/runs/wait", **run, input={"asked": "x", "approved": "me"})
    changed = await town.post(
        f"/threads/{thread}/state", values={"approved": "by hand"}, as_node="ask"
    )
    assert changed.status_code == 200
    done = await town.post(f"/threads/{thread}/runs/wait", assistant_id="free", input=None)
    assert done.json()["answer"] == "did it, approved: by hand"
    again = await town.post(f"/threads/{thread}/runs/wait", **run, command={"goto": "act"})
    assert again.status_code == 200


async def test_what_belongs_to_the_client_is_accepted(town):
    thread = str(uuid4())
    run = {"assistant_id": "simple", "if_not_exists": "create"}
    given = {"messages": [{"role": "user", "content": "Hello"}], "unheard_of": 1}
    done = await town.post(f"/threads/{thread}/runs/wait", **run, input=given)
    assert done.json()["messages"][-1]["content"] == "Done."
    more = {"messages": [{"role": "user", "content": "More"}]}
    changed = await town.post(f"/threads/{thread}/state", values=more)
    assert changed.status_code == 200
    assert (await town.state(thread))["values"]["messages"][-1]["content"] == "More"


async def test_the_reserved_namespace_is_not_for_clients(town):
    space = [RESERVED_NAMESPACE, "threads", "x"]
    refused = [
        await town.client.put(
            "/store/items", json={"namespace": space, "key": "k", "value": {}}, headers=USER
        ),
        await town.client.request(
            "DELETE", "/store/items", json={"namespace": space, "key": "k"}, headers=USER
        ),
        await town.client.get(
            "/store/items", params={"namespace": ".".join(space), "key": "k"}, headers=USER
        ),
        await town.post("/store/items/search", namespace_prefix=space),
        await town.post("/store/namespaces", prefix=space),
    ]
    assert [answer.status_code for answer in refused] == [422] * 5
    assert RESERVED_NAMESPACE in refused[0].json()["message"]


async def test_a_namespace_with_a_nul_character_is_a_bad_request(town):
    answer = await town.client.get(
        "/store/items", params={"namespace": "a.\0", "key": "k"}, headers=USER
    )
    assert answer.status_code == 422
