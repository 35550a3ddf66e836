"""The stock Python client stores assistants, changes them, and starts runs with them."""

from uuid import uuid4

import pytest
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import APIStatusError, ConflictError, NotFoundError
from sdk_steps import has_items, new_thread

pytestmark = pytest.mark.services


async def test_an_assistant_is_made_changed_and_deleted(client: LangGraphClient) -> None:
    made = await client.assistants.create(
        "told", {"tags": ["a"]}, context={"topic": "tides"}, metadata={"team": "x"}, name="Tides"
    )
    assert (made["graph_id"], made["name"], made["version"]) == ("told", "Tides", 1)
    assert made["config"] == {"tags": ["a"]}
    changed = await client.assistants.update(
        made["assistant_id"], name="Currents", metadata={"of": "sea"}, description="About water."
    )
    assert changed["version"] == 2
    assert changed["context"] == {"topic": "tides"}
    assert changed["metadata"].items() >= {"team": "x", "of": "sea"}.items()
    found = await client.assistants.get(made["assistant_id"])
    assert (found["name"], found["description"]) == ("Currents", "About water.")
    await client.assistants.delete(made["assistant_id"])
    with pytest.raises(NotFoundError):
        await client.assistants.get(made["assistant_id"])


async def test_versions_are_listed_and_chosen(client: LangGraphClient) -> None:
    made = await client.assistants.create("told", context={"topic": "one"}, name="First")
    name = made["assistant_id"]
    await client.assistants.update(name, context={"topic": "two"}, name="Second")
    listed = await client.assistants.get_versions(name)
    assert [(v["version"], v["name"]) for v in listed] == [(2, "Second"), (1, "First")]
    assert [v["version"] for v in await client.assistants.get_versions(name, limit=1)] == [2]
    chosen = await client.assistants.set_latest(name, 1)
    assert (chosen["version"], chosen["name"]) == (1, "First")
    with pytest.raises(NotFoundError):
        await client.assistants.set_latest(name, 9)
    again = await client.assistants.update(name, name="Third")
    assert (again["version"], again["context"]) == (3, {"topic": "one"})


async def test_an_id_of_ones_own_is_taken_once(client: LangGraphClient) -> None:
    name = str(uuid4())
    await client.assistants.create("told", assistant_id=name, name="Mine")
    with pytest.raises(ConflictError):
        await client.assistants.create("told", assistant_id=name)
    again = await client.assistants.create("told", assistant_id=name, if_exists="do_nothing")
    assert (again["assistant_id"], again["name"]) == (name, "Mine")


async def test_assistants_are_searched_sorted_and_counted(client: LangGraphClient) -> None:
    mark = str(uuid4())
    for name in ("Bass", "alto", "Cello"):
        await client.assistants.create("told", name=name, metadata={"mark": mark})
    by_name = await client.assistants.search(
        metadata={"mark": mark}, sort_by="name", sort_order="asc", select=["name"]
    )
    assert by_name == [{"name": "alto"}, {"name": "Bass"}, {"name": "Cello"}]
    newest = await client.assistants.search(metadata={"mark": mark}, limit=1)
    assert [a["name"] for a in newest] == ["Cello"]
    page = await client.assistants.search(
        metadata={"mark": mark}, limit=2, response_format="object"
    )
    assert (len(page["assistants"]), page["next"]) == (2, "2")
    last = await client.assistants.search(
        metadata={"mark": mark}, limit=2, offset=2, response_format="object"
    )
    assert (len(last["assistants"]), last["next"]) == (1, None)
    found = await client.assistants.search(metadata={"mark": mark}, name="ALT")
    assert [a["name"] for a in found] == ["alto"]
    assert await client.assistants.count(metadata={"mark": mark}) == 3
    assert await client.assistants.count(metadata={"mark": mark}, graph_id="chat") == 0


async def test_a_run_uses_the_assistants_settings_and_its_own_win(client: LangGraphClient) -> None:
    made = await client.assistants.create(
        "told", {"tags": ["calm"]}, context={"topic": "tides", "depth": 3}, metadata={"team": "x"}
    )
    name = made["assistant_id"]
    thread = await new_thread(client)
    values = await client.runs.wait(thread, name, input={})
    assert values["items"] == ["topic=tides", "depth=3", "#calm"]
    (run,) = await client.runs.list(thread)
    assert run["assistant_id"] == name
    assert run["metadata"]["team"] == "x"
    values = await client.runs.wait(None, name, input={}, context={"depth": 9})
    assert values["items"] == ["topic=tides", "depth=9", "#calm"]
    values = await client.runs.wait(None, name, input={}, config={"tags": ["loud"]})
    assert values["items"] == ["topic=tides", "depth=3", "#loud"]
    metadata = (await client.threads.get(thread))["metadata"]
    assert metadata.items() >= {"graph_id": "told", "assistant_id": name}.items()


async def test_an_assistants_step_limit_applies(client: LangGraphClient) -> None:
    made = await client.assistants.create("steps", {"recursion_limit": 3})
    long = {"name": "x", "steps": 9}
    values = await client.runs.wait(None, made["assistant_id"], input=long, raise_error=False)
    assert "__error__" in values
    config = {"recursion_limit": 50}
    values = await client.runs.wait(None, made["assistant_id"], input=long, config=config)
    assert len(values["items"]) == 9


async def test_an_undeclared_context_is_refused_and_named(client: LangGraphClient) -> None:
    with pytest.raises(APIStatusError, match="colour") as refused:
        await client.assistants.create("told", context={"colour": "red"})
    assert refused.value.status_code == 422
    made = await client.assistants.create("told", context={"topic": "x"})
    with pytest.raises(APIStatusError, match="topic"):
        await client.assistants.update(made["assistant_id"], graph_id="steps")
    with pytest.raises(NotFoundError):
        await client.assistants.create("nowhere")


async def test_a_deleted_assistant_takes_its_threads_and_stops_its_runs(
    client: LangGraphClient,
) -> None:
    made = await client.assistants.create("steps")
    kept = await new_thread(client)
    await client.runs.wait(kept, "steps", input={"name": "k"})
    thread = await new_thread(client)
    slow = {"name": "x", "steps": 99, "delay": 0.05}
    await client.runs.create(thread, made["assistant_id"], input=slow)
    await has_items(client, thread, 1)
    await client.assistants.delete(made["assistant_id"], delete_threads=True)
    with pytest.raises(NotFoundError):
        await client.threads.get(thread)
    assert (await client.threads.get(kept))["thread_id"] == kept


async def test_the_assistant_of_a_graph_is_everybodys_and_read_only(
    client: LangGraphClient, bob: LangGraphClient
) -> None:
    (system,) = await client.assistants.search(graph_id="told", metadata={"created_by": "system"})
    assert (await bob.assistants.get(system["assistant_id"]))["name"] == "told"
    for change in (
        client.assistants.update(system["assistant_id"], name="x"),
        client.assistants.delete(system["assistant_id"]),
        client.assistants.set_latest(system["assistant_id"], 1),
    ):
        with pytest.raises(APIStatusError) as refused:
            await change
        assert refused.value.status_code == 403
    assert [v["version"] for v in await client.assistants.get_versions(system["assistant_id"])] == [
        1
    ]


async def test_another_owners_assistant_does_not_exist(
    client: LangGraphClient, bob: LangGraphClient
) -> None:
    made = await client.assistants.create("told", context={"topic": "secret"}, name="Private")
    name = made["assistant_id"]
    for use in (
        bob.assistants.get(name),
        bob.assistants.get_versions(name),
        bob.assistants.get_subgraphs(name),
        bob.assistants.update(name, name="mine"),
        bob.assistants.set_latest(name, 1),
        bob.assistants.delete(name),
        bob.runs.create(None, name, input={}),
    ):
        with pytest.raises(NotFoundError):
            await use
    assert await bob.assistants.count(name="Private") == 0
    mine = await bob.assistants.create("told", assistant_id=name, name="Bob's")
    assert (await client.assistants.get(name))["name"] == "Private"
    assert mine["name"] == "Bob's"


async def test_subgraphs_are_described(client: LangGraphClient) -> None:
    found = await client.assistants.get_subgraphs("nested")
    assert list(found) == ["inner"]
    assert "messages" in found["inner"]["input_schema"]["properties"]
    assert list(await client.assistants.get_subgraphs("nested", namespace="inner")) == ["inner"]
    assert await client.assistants.get_subgraphs("steps", recurse=True) == {}
