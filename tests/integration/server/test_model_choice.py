"""A model per conversation: what is offered, what is refused, and which model is really asked."""

import asyncio
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from uuid import uuid4

import httpx
import pytest
from langgraph.graph import START, MessagesState, StateGraph

sys.path.insert(0, str(Path(__file__).parents[2] / "conformance"))

from serving import identify, make_worker

from bathysphere.models.settings import ModelSettings
from bathysphere.registry.agents import agent_of
from bathysphere.registry.loading import registered_agents
from bathysphere.server.app import create_app
from bathysphere.server.models.loading import ModelLoading
from bathysphere.server.process.assembly import graphs_of
from bathysphere.server.process.served_models import ServedModels
from bathysphere.server.process.services import open_services
from bathysphere.testing import ModelServer, calls, says

pytestmark = [pytest.mark.services, pytest.mark.node, pytest.mark.timeout(120)]

SMALL, LARGE, OTHER = "openai:small", "openai:large", "openai:other"
PRICES = f'[prices."{LARGE}"]\ninput = 3\noutput = 15\n'


@pytest.fixture(scope="module")
def model():
    with ModelServer() as server:
        yield server


@pytest.fixture
def settings(model, tmp_path):
    catalog = tmp_path / "models.toml"
    catalog.write_text(PRICES)
    return ModelSettings(
        main=SMALL,
        summary=OTHER,
        offered=(f"{LARGE}=Thorough", SMALL),
        openai_url=model.openai_base_url,
        openai_api_key="none",
        catalog=catalog,
    )


def foreign():
    builder = StateGraph(MessagesState)
    builder.add_node("node", lambda state: {})
    builder.add_edge(START, "node")
    return agent_of(builder.compile(), source="here", attribute="foreign")


class Caller:
    """Somebody with the server's address."""

    def __init__(self, client, services):
        self.client = client
        self.services = services
        self.user = f"user-{uuid4().hex}"

    async def call(self, method, path, **options):
        return await self.client.request(method, path, headers={"x-user": self.user}, **options)

    async def start(self, thread, words, *, model=None, agent="simple"):
        chosen = {"bathysphere_model": model} if model is not None else {}
        body = {
            "assistant_id": agent,
            "input": {"messages": [{"role": "user", "content": words}]},
            "config": {"configurable": chosen},
            "if_not_exists": "create",
        }
        return await self.call("POST", f"/threads/{thread}/runs/wait", json=body)

    async def thread(self, thread):
        return (await self.call("GET", f"/threads/{thread}")).json()


@asynccontextmanager
async def served(database, settings, *, works=True):
    """A process as `bathysphere serve` wires it: API, and a worker."""
    agents = {"simple": registered_agents()["simple"], "foreign": foreign()}
    models = ServedModels(settings, graphs_of, loading=ModelLoading(settings))
    async with open_services(database=database, graphs=models.graphs(agents)) as services:
        app = create_app(services=services, identify=identify, list_models=models.cards)
        worker = await make_worker(services)
        working = asyncio.create_task(worker.run()) if works else None
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(
            transport=transport, base_url="http://test", timeout=60
        ) as client:
            yield Caller(client, services)
        if working is not None:
            worker.drain()
            await working


@pytest.fixture
async def caller(database, settings):
    async with served(database, settings) as found:
        yield found


def asked(model):
    return [request.body["model"] for request in model.requests()]


async def test_the_offers_are_listed_with_their_prices(caller):
    cards = [SimpleNamespace(**card) for card in (await caller.call("GET", "/models")).json()]
    offered = [card for card in cards if card.role == "offered"]
    assert [(card.name, card.label) for card in offered] == [(LARGE, "Thorough"), (SMALL, None)]
    assert offered[0].price == {"input": 3.0, "output": 15.0, "currency": "USD"}
    assert offered[1].price is None
    assert offered[0].agents == ["simple"]


async def test_each_run_asks_the_model_that_was_chosen(caller, model):
    model.play([says("one"), says("two"), says("three")])
    thread = uuid4()
    for chosen in (None, LARGE, SMALL):
        assert (await caller.start(thread, "Hello", model=chosen)).status_code == 200
    assert asked(model) == ["small", "large", "small"]
    assert (await caller.thread(thread))["metadata"]["bathysphere_model"] == SMALL
    used = (await caller.call("GET", "/usage", params={"by": "model"})).json()
    counted = {line["key"]: line["model_calls"] for line in used["lines"] if line["key"]}
    assert counted == {SMALL: 2, LARGE: 1}


@pytest.mark.parametrize("chosen", [OTHER, "0", 1, ["openai:large"], {"name": LARGE}, ""])
async def test_what_is_not_offered_is_refused_by_name(caller, model, chosen):
    model.play([])
    thread = uuid4()
    answer = await caller.start(thread, "Hello", model=chosen)
    assert answer.status_code == 422
    assert answer.json()["hint"] == f"offered: {LARGE}, {SMALL}"
    params = {
        "assistant_id": "simple",
        "input": {"messages": []},
        "config": {"configurable": {"bathysphere_model": chosen}},
    }
    start = {"id": 1, "method": "run.start", "params": params}
    answer = await caller.call("POST", f"/threads/{thread}/commands", json=start)
    assert answer.json()["error"] == "invalid_argument"
    assert LARGE in answer.json()["message"]
    assert asked(model) == []


async def test_an_agent_that_chooses_for_itself_takes_none(caller):
    answer = await caller.start(uuid4(), "Hello", model=LARGE, agent="foreign")
    assert (answer.status_code, answer.json()["message"]) == (422, "'foreign' takes no other model")
    assert (await caller.start(uuid4(), "Hello", agent="foreign")).status_code == 200


async def test_an_answer_goes_on_with_the_model_that_asked(caller, model):
    model.play([calls("ask_user", question="Which city?"), says("Ghent it is"), says("Again")])
    thread = uuid4()
    await caller.start(thread, "Plan a trip", model=LARGE)
    state = (await caller.call("GET", f"/threads/{thread}/state")).json()
    question = state["interrupts"][0]["id"]
    body = {"assistant_id": "simple", "command": {"resume": {question: {"response": "Ghent"}}}}
    assert (await caller.call("POST", f"/threads/{thread}/runs/wait", json=body)).is_success
    more = {"message": {"role": "user", "content": "And then?"}}
    command = {"id": 1, "method": "input.inject", "params": more}
    answer = await caller.call("POST", f"/threads/{thread}/commands", json=command)
    run = answer.json()["result"]["run_id"]
    await caller.call("GET", f"/threads/{thread}/runs/{run}/join")
    assert asked(model) == ["large", "large", "large"]


async def test_another_worker_goes_on_with_the_choice(database, settings, model):
    model.play([says("done")])
    thread = uuid4()
    body = {
        "assistant_id": "simple",
        "input": {"messages": [{"role": "user", "content": "Hello"}]},
        "config": {"configurable": {"bathysphere_model": LARGE}},
        "if_not_exists": "create",
    }
    async with served(database, settings, works=False) as first:
        run = (await first.call("POST", f"/threads/{thread}/runs", json=body)).json()["run_id"]
    # Meanwhile the operator offers it no longer: what was taken on is finished.
    fewer = settings.model_copy(update={"offered": ()})
    async with served(database, fewer) as second:
        second.user = first.user
        await second.call("GET", f"/threads/{thread}/runs/{run}/join")
        assert asked(model) == ["large"]
        assert (await second.start(thread, "Again", model=LARGE)).status_code == 422
        assert (await second.call("GET", "/models")).json()[-1]["role"] == "audit"
