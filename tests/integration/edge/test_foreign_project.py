"""A project that was written for `langgraph dev`, served unchanged: the stock SDK is its client."""

import json
import shutil
from pathlib import Path

import httpx
import pytest
from langgraph_sdk import get_client

pytestmark = pytest.mark.services
PROJECT = Path(__file__).parent / "foreign_project"
REDIS = "redis://127.0.0.1:6379/0"
GRAPHS = [
    "asking",
    "chat",
    "deep",
    "nested",
    "once",
    "per_run",
    "per_run_async",
    "steps",
    "with_runtime",
]


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("foreign") / "project"
    shutil.copytree(PROJECT, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.fixture(scope="module")
def served(project, edge_database, module_command):
    """The real command, in the project's folder, told nothing but where its database is."""
    return module_command(
        *("serve", "--database-url", edge_database.url, "--port", "0"),
        folder=project,
        HELPDESK_LEFT=str(project / "left"),
    )


@pytest.fixture(scope="module")
def url(served) -> str:
    return served.url()


@pytest.fixture
async def client(url):
    async with get_client(url=url) as client:
        yield client


def say(text: str) -> dict:
    return {"messages": [{"role": "user", "content": text}]}


async def test_its_graphs_are_assistants_beside_those_of_packages(client, served):
    found = {each["graph_id"]: each for each in await client.assistants.search(limit=100)}
    assert sorted(found.keys() - {"research", "simple", "tutor", "workspace"}) == GRAPHS
    first = next(iter(json.loads((PROJECT / "langgraph.json").read_text())["graphs"]))
    marked = [name for name, each in found.items() if each["metadata"].get("default")]
    assert marked == [first], "which agent a client should offer first"
    assert found["chat"]["description"] == "Answers questions"
    assert found["per_run"]["description"] == "Made for each run, from its config."
    told = "".join(served.errors)
    assert "Read HELPDESK_GREETING from" in told
    assert "only for container images, not used: python_version." in told
    assert "Loaded chat from ./src/helpdesk/agents.py:chat." in told


async def test_a_bare_agent_streams_and_gets_its_context(client):
    thread = await client.threads.create()
    parts = [
        part
        async for part in client.runs.stream(
            thread["thread_id"],
            "chat",
            input=say("sea"),
            context={"language": "no"},
            stream_mode=["messages-tuple", "updates", "values"],
        )
    ]
    assert {"metadata", "messages", "updates", "values"} <= {part.event for part in parts}
    state = await client.threads.get_state(thread["thread_id"])
    assert state["values"]["messages"][-1]["content"] == "Good day: Asked for sea in no for local"


async def test_without_a_context_a_graph_gets_the_defaults_it_declares(client):
    ended = await client.runs.wait(None, "chat", input=say("sea"))
    assert ended["messages"][-1]["content"] == "Good day: Asked for sea in en for local"


@pytest.mark.parametrize(
    ("graph", "context", "named"),
    [
        ("chat", {"language": "no", "user": "ada"}, "'user'"),
        ("chat", {"langgraph_auth_user": {"identity": "ada"}}, "'langgraph_auth_user'"),
        ("chat", {"depth": "deep"}, "depth"),
        ("nested", {"language": "no"}, "'language'"),
        ("simple", {"tenant": "acme"}, "'tenant'"),
    ],
)
async def test_a_context_that_is_not_declared_is_refused_by_name(client, graph, context, named):
    with pytest.raises(httpx.HTTPStatusError) as refused:
        await client.runs.create(None, graph, input={}, context=context)
    assert refused.value.response.status_code == 422
    assert named in refused.value.response.text


async def test_a_deep_agent_waits_for_approval_and_goes_on(client):
    thread = (await client.threads.create())["thread_id"]
    asked = await client.runs.wait(thread, "deep", input=say("/old.md"))
    [question] = asked["__interrupt__"]
    assert question["value"]["tool_call_id"] == "call_1"
    answer = {question["id"]: {"type": "approve"}}
    ended = await client.runs.wait(thread, "deep", command={"resume": answer})
    assert ended["messages"][-1]["content"] == "Done: removed /old.md"


async def test_questions_of_a_subgraph_are_answered_one_by_one(client):
    thread = (await client.threads.create())["thread_id"]
    await client.runs.wait(thread, "nested", input={"notes": []})
    state = await client.threads.get_state(thread, subgraphs=True)
    questions = {str(each["value"]): each["id"] for each in state["interrupts"]}
    assert len(questions) == 2
    first = {questions["Your name?"]: "Ada"}
    await client.runs.wait(thread, "nested", command={"resume": first})
    second = {questions["{'question': 'Your place?'}"]: "Bergen"}
    ended = await client.runs.wait(thread, "nested", command={"resume": second})
    assert sorted(ended["notes"][:-1]) == ["name: Ada", "place: Bergen"]
    assert ended["notes"][-1] == "closed"


async def test_an_entrypoint_waits_and_ends_with_its_value(client):
    thread = (await client.threads.create())["thread_id"]
    await client.runs.wait(thread, "steps", input=4)
    [task] = (await client.threads.get_state(thread))["tasks"]
    [question] = task["interrupts"]
    assert question["value"] == {"question": "How many more?"}
    ended = await client.runs.wait(thread, "steps", command={"resume": 5})
    assert ended == {"sum": 13}


@pytest.mark.parametrize(
    ("graph", "notes"),
    [
        ("per_run", ["warm", "True"]),
        ("per_run_async", ["async", "warm"]),
        ("with_runtime", ["warm", "local"]),
        ("once", ["once"]),
    ],
)
async def test_a_factory_makes_the_graph_of_a_run(client, project, graph, notes):
    (project / "left").unlink(missing_ok=True)
    ended = await client.runs.wait(None, graph, input={"notes": []}, context={"tone": "warm"})
    assert ended["notes"] == notes
    assert (project / "left").exists() == (graph == "with_runtime")


async def test_schemas_of_a_graph_made_per_run_show_its_context(client):
    schemas = await client.assistants.get_schemas("with_runtime")
    assert list(schemas["context_schema"]["properties"]) == ["tone"]


async def test_an_answer_without_a_context_keeps_that_of_the_question(client, edge_database):
    thread = (await client.threads.create())["thread_id"]
    run = await client.runs.create(thread, "asking", input={"notes": []}, context={"tone": "warm"})
    await client.runs.join(thread, run["run_id"])
    ended = await client.runs.wait(thread, "asking", command={"resume": "yes"})
    assert ended["notes"] == ["warm: yes"]


def test_its_own_routes_are_beside_those_of_the_api(url):
    assert httpx.get(f"{url}/helpdesk/hours").json() == {"open": ["pool"], "for": "local"}
    assert "shadowed" not in httpx.get(f"{url}/info").json()
    assert httpx.get(f"{url}/helpdesk/nothing").status_code == 404


def test_a_worker_elsewhere_runs_the_same_targets(project, edge_database, command):
    arguments = ("--database-url", edge_database.url, "--redis-url", REDIS)
    worker = command("worker", *arguments, folder=project, HELPDESK_LEFT=str(project / "left"))
    assert worker.line("Worker ready")
    assert "Loaded steps from helpdesk.flows:steps." in "".join(worker.errors)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("import nothing_like_it\n", "No module named 'nothing_like_it'"),
        ("graph = 1 / 0\n", "ZeroDivisionError: division by zero"),
        ("graph = 5\n", "./broken.py:graph is an object of type int"),
        ("other = 5\n", "there is no 'graph'"),
        ("def graph(model): ...\n", "the parameter 'model'"),
        ("def graph(): return 5\n", "./broken.py:graph is an object of type int"),
        ("def graph(config): raise KeyError('user')\n", "KeyError: 'user'"),
    ],
)
def test_what_cannot_be_loaded_is_said_with_its_place(command, tmp_path, written, said):
    (tmp_path / "broken.py").write_text(written)
    refused = command("serve", "./broken.py:graph", "--data-dir", "data", folder=tmp_path)
    assert refused.ended(40) == 1
    told = "".join(refused.errors)
    assert said in told
    if "1 / 0" in written:
        assert f"({tmp_path}/broken.py, line 1)" in told
