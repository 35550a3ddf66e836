"""The stock Python `langgraph_sdk`: threads, runs, both streams, assistants, store."""

from importlib.metadata import version
from uuid import uuid4

import httpx
import pytest
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import APIStatusError, ConflictError, NotFoundError
from sdk_steps import has_items, human, new_thread, status_is, until

pytestmark = pytest.mark.services


def test_the_client_is_the_pinned_one() -> None:
    assert version("langgraph-sdk") == "0.4.14"


async def test_a_run_is_waited_for(client: LangGraphClient) -> None:
    values = await client.runs.wait(await new_thread(client), "chat", input=human("add"))
    assert [m["type"] for m in values["messages"]] == ["human", "ai", "tool", "ai"]


async def test_a_background_run_is_joined(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    run = await client.runs.create(thread, "steps", input={"name": "a", "steps": 3, "delay": 0.05})
    assert run["status"] in ("pending", "running")
    values = await client.runs.join(thread, run["run_id"])
    assert values["items"] == ["a:0", "a:1", "a:2"]
    assert (await client.runs.get(thread, run["run_id"]))["status"] == "success"


async def test_runs_are_listed_newest_first_and_by_status(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    runs = [await client.runs.create(thread, "steps", input={"name": n}) for n in "abc"]
    await client.runs.join(thread, runs[-1]["run_id"])
    found = await client.runs.list(thread)
    assert [r["run_id"] for r in found] == [r["run_id"] for r in reversed(runs)]
    assert len(await client.runs.list(thread, status="success", limit=2)) == 2


async def test_the_stream_has_values_and_updates(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    parts = [
        part
        async for part in client.runs.stream(
            thread, "steps", input={"name": "s", "steps": 2}, stream_mode=["values", "updates"]
        )
    ]
    assert parts[0].event == "metadata"
    assert [p.data for p in parts if p.event == "updates"][-1] == {
        "step": {"items": ["s:1"], "done": 2}
    }
    assert [p.data for p in parts if p.event == "values"][-1]["items"] == ["s:0", "s:1"]


async def test_the_stream_has_tokens(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    text, modes = "", ["messages-tuple"]
    async for part in client.runs.stream(thread, "chat", input=human("hi"), stream_mode=modes):
        if part.event == "messages":
            text += part.data[0]["content"]
    assert text == "You said: hi. These are a few words that come as a stream."


async def test_the_stream_has_whole_messages(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    parts = [
        part
        async for part in client.runs.stream(
            thread, "chat", input=human("add"), stream_mode="messages"
        )
    ]
    whole = [p.data[0] for p in parts if p.event == "messages/complete"]
    assert [m["type"] for m in whole] == ["ai", "tool", "ai"]
    assert whole[-1]["content"] == "The answers are 5."


async def test_the_stream_has_custom_data_and_subgraphs(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    parts = [p async for p in client.runs.stream(thread, "writer", input={}, stream_mode="custom")]
    assert parts[1].data == {"progress": 1}
    parts = [
        part
        async for part in client.runs.stream(
            await new_thread(client),
            "nested",
            input=human("x"),
            stream_mode="updates",
            stream_subgraphs=True,
        )
    ]
    assert any(part.event.startswith("updates|inner:") for part in parts)


async def test_a_stream_is_joined_from_the_last_event(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    seen = []
    async for part in client.runs.stream(
        thread, "steps", input={"name": "j", "steps": 6, "delay": 0.1}, stream_mode="values"
    ):
        seen.append(part)
        if len(seen) == 4:
            break
    run_id = seen[0].data["run_id"]
    later = [
        part
        async for part in client.runs.join_stream(
            thread, run_id, stream_mode="values", last_event_id=seen[-1].id
        )
    ]
    states = [p.data.get("items", []) for p in (*seen, *later) if p.event == "values"]
    assert states[-1] == [f"j:{n}" for n in range(6)]
    assert len(states) == len({tuple(s) for s in states}) + states.count([]) - 1


async def test_a_failed_run_says_that_it_failed(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    parts = [p async for p in client.runs.stream(thread, "failing", input={"name": "x"})]
    assert parts[-1].event == "error"
    assert parts[-1].data["message"]
    values = await client.runs.wait(thread, "failing", input={"name": "x"}, raise_error=False)
    assert values["__error__"]["message"]
    assert (await client.threads.get(thread))["status"] == "error"


async def test_a_question_is_answered_by_a_command(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    values = await client.runs.wait(thread, "chat", input=human("ask"))
    assert values["__interrupt__"][0]["value"]["question"] == "Which year?"
    assert (await client.threads.get(thread))["status"] == "interrupted"
    values = await client.runs.wait(thread, "chat", command={"resume": "2024"})
    assert values["messages"][-1]["content"] == "The answers are 2024."


async def test_answers_by_id_may_come_in_parts(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    values = await client.runs.wait(thread, "chat", input=human("ask two"))
    first, second = values["__interrupt__"]
    values = await client.runs.wait(thread, "chat", command={"resume": {first["id"]: "a"}})
    assert [q["id"] for q in values["__interrupt__"]] == [second["id"]]
    values = await client.runs.wait(thread, "chat", command={"resume": {second["id"]: "b"}})
    assert values["messages"][-1]["content"].startswith("The answers are")


async def test_a_bad_answer_is_refused_and_the_thread_is_intact(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    await client.runs.wait(thread, "chat", input=human("confirm"))
    with pytest.raises(APIStatusError) as refused:
        await client.runs.create(thread, "chat", command={"resume": {"approve": "perhaps"}})
    assert refused.value.status_code == 422
    values = await client.runs.wait(thread, "chat", command={"resume": {"approve": False}})
    assert values["messages"][-1]["content"] == "The answers are delete: False."


async def test_a_run_is_cancelled_and_keeps_or_loses_what_it_did(client: LangGraphClient) -> None:
    for action, keeps in (("interrupt", True), ("rollback", False)):
        thread = await new_thread(client)
        run = await client.runs.create(
            thread, "steps", input={"name": "c", "steps": 99, "delay": 0.05}
        )
        await has_items(client, thread, 2)
        await client.runs.cancel(thread, run["run_id"], wait=True, action=action)
        items = (await client.threads.get_state(thread))["values"].get("items", [])
        assert bool(items) is keeps


async def test_many_runs_are_cancelled_together(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    runs = [
        await client.runs.create(thread, "steps", input={"name": n, "steps": 99, "delay": 0.05})
        for n in "ab"
    ]
    await has_items(client, thread, 2)  # the first is under way, the second waits behind it
    await client.runs.cancel_many(thread_id=thread, run_ids=[r["run_id"] for r in runs])

    async def are_stopped() -> bool:
        return {r["status"] for r in await client.runs.list(thread)} == {"interrupted"}

    await until(are_stopped)
    listed = {r["run_id"] for r in await client.runs.list(thread)}
    assert listed == {r["run_id"] for r in runs}
    # The newest checkpoint, not the state: the state also shows what a stopped step had finished,
    # and LangGraph drops that when the next input arrives.
    items = (await client.threads.get_history(thread, limit=1))[0]["values"]["items"]
    assert {item.split(":")[0] for item in items} == {"a"}, "the second never began"
    assert len(items) < 99, "the first did not go on to its end"
    values = await client.runs.wait(thread, "steps", input={"name": "c", "steps": 1})
    assert values["items"][: len(items)] == items, "nothing was done in between"


async def test_the_strategies_do_what_they_say(client: LangGraphClient) -> None:
    slow = {"name": "old", "steps": 99, "delay": 0.05}
    for strategy, expected in (("interrupt", ["old", "new"]), ("rollback", ["new"])):
        thread = await new_thread(client)
        await client.runs.create(thread, "steps", input=slow)
        await has_items(client, thread, 2)
        values = await client.runs.wait(
            thread, "steps", input={"name": "new", "steps": 1}, multitask_strategy=strategy
        )
        assert list(dict.fromkeys(i.split(":")[0] for i in values["items"])) == expected
    thread = await new_thread(client)
    first = await client.runs.create(thread, "steps", input={**slow, "steps": 4})
    with pytest.raises(ConflictError):
        await client.runs.create(thread, "steps", input=slow, multitask_strategy="reject")
    await client.runs.join(thread, first["run_id"])


async def test_threads_are_searched_by_metadata_and_status(client: LangGraphClient) -> None:
    mark = str(uuid4())
    threads = [await new_thread(client, metadata={"mark": mark, "n": n}) for n in range(3)]
    await client.runs.wait(threads[0], "chat", input=human("ask"))
    found = await client.threads.search(metadata={"mark": mark}, limit=2)
    assert len(found) == 2
    assert found[0]["thread_id"] == threads[0]
    assert found[0]["values"]["messages"][0]["content"] == "ask"
    waiting = await client.threads.search(metadata={"mark": mark}, status="interrupted")
    assert [t["thread_id"] for t in waiting] == [threads[0]]
    assert await client.threads.count(metadata={"mark": mark}) == 3


async def test_a_thread_id_of_ones_own_is_taken_once(client: LangGraphClient) -> None:
    thread = str(uuid4())
    await client.threads.create(thread_id=thread)
    with pytest.raises(ConflictError):
        await client.threads.create(thread_id=thread)
    again = await client.threads.create(thread_id=thread, if_exists="do_nothing")
    assert again["thread_id"] == thread


async def test_metadata_is_merged(client: LangGraphClient) -> None:
    thread = await new_thread(client, metadata={"a": 1, "b": 1})
    changed = await client.threads.update(thread, metadata={"b": 2})
    assert changed["metadata"].items() >= {"a": 1, "b": 2}.items()
    assert await client.threads.update(thread, metadata={"c": 3}, return_minimal=True) is None
    assert (await client.threads.get(thread))["metadata"]["c"] == 3


async def test_a_run_on_a_missing_thread_is_refused_or_makes_it(client: LangGraphClient) -> None:
    with pytest.raises(NotFoundError):
        await client.runs.create(str(uuid4()), "steps", input={"name": "x"})
    values = await client.runs.wait(
        str(uuid4()), "steps", input={"name": "x"}, if_not_exists="create"
    )
    assert values["items"] == ["x:0"]


async def test_history_is_read_and_forked_from(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    await client.runs.wait(thread, "steps", input={"name": "h", "steps": 3})
    history = await client.threads.get_history(thread, limit=20)
    assert history[0]["values"]["items"] == ["h:0", "h:1", "h:2"]
    older = next(s for s in history if s["values"].get("items") == ["h:0"])
    later = await client.threads.get_history(thread, limit=1, before=older["checkpoint"])
    assert len(later) == 1
    same = await client.threads.get_state(thread, checkpoint=older["checkpoint"])
    assert same["values"] == older["values"]
    await client.threads.update_state(thread, {"items": ["fork"]}, checkpoint=older["checkpoint"])
    assert (await client.threads.get_state(thread))["values"]["items"] == ["h:0", "fork"]
    values = await client.runs.wait(thread, "steps", checkpoint_id=older["checkpoint_id"])
    assert values["items"] == ["h:0", "h:1", "h:2"]


async def test_a_thread_is_copied_and_deleted(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    await client.runs.wait(thread, "steps", input={"name": "c"})
    await client.threads.copy(thread)
    run = await client.runs.create(thread, "steps", input={"name": "d", "steps": 99, "delay": 0.05})
    await client.threads.delete(thread)
    with pytest.raises(NotFoundError):
        await client.runs.get(thread, run["run_id"])


async def test_runs_without_a_thread(client: LangGraphClient) -> None:
    values = await client.runs.wait(None, "steps", input={"name": "w"})
    assert values["items"] == ["w:0"]
    parts = [p async for p in client.runs.stream(None, "steps", input={"name": "w"})]
    assert parts[-1].data["items"] == ["w:0"]
    batch = await client.runs.create_batch(
        [{"assistant_id": "steps", "input": {"name": n}} for n in "ab"]
    )
    assert len(batch) == 2


async def test_assistants_have_an_id_a_graph_and_schemas(client: LangGraphClient) -> None:
    found = await client.assistants.search(limit=1000)
    assert {a["graph_id"] for a in found} >= {"chat", "deep", "steps"}
    (chat,) = await client.assistants.search(graph_id="chat")
    values = await client.runs.wait(None, chat["assistant_id"], input=human("add"))
    assert values["messages"][-1]["content"] == "The answers are 5."
    assert (await client.assistants.get_graph("steps"))["edges"]
    schemas = await client.assistants.get_schemas("steps")
    assert "items" in schemas["input_schema"]["properties"]


async def test_the_store_is_each_owners_own(client: LangGraphClient, bob: LangGraphClient) -> None:
    space = ("notes", str(uuid4()))
    await client.store.put_item(space, key="a", value={"n": 1})
    assert (await client.store.get_item(space, key="a"))["value"] == {"n": 1}
    assert (await bob.store.search_items(space))["items"] == []
    with pytest.raises(NotFoundError):
        await bob.store.get_item(space, key="a")
    assert (await bob.store.list_namespaces(prefix=space))["namespaces"] == []
    await bob.store.delete_item(space, key="a")
    assert len((await client.store.search_items(space, filter={"n": 1}))["items"]) == 1
    assert (await client.store.list_namespaces(prefix=space))["namespaces"] == [list(space)]


async def test_another_owners_thread_does_not_exist(
    client: LangGraphClient, bob: LangGraphClient, server: str
) -> None:
    thread = await new_thread(client)
    with pytest.raises(ConflictError):
        await bob.threads.create(thread_id=thread, if_exists="do_nothing")
    async with httpx.AsyncClient(base_url=server, headers={"x-user": "bob"}) as http:
        for path, body in (
            (f"/threads/{thread}/commands", {"id": 1, "method": "state.get", "params": {}}),
            (f"/threads/{thread}/stream/events", {"channels": ["values"]}),
        ):
            assert (await http.post(path, json=body)).status_code == 404


async def test_the_new_stream_gives_messages_and_output(client: LangGraphClient) -> None:
    async with client.threads.stream(assistant_id="chat") as thread:
        await thread.run.start(input=human("hi"))
        texts = [await message.text for message in [m async for m in thread.messages]]
        output = await thread.output
    assert texts == ["You said: hi. These are a few words that come as a stream."]
    assert output["messages"][-1]["content"] == texts[0]


async def test_the_new_stream_asks_and_is_answered(client: LangGraphClient) -> None:
    async with client.threads.stream(assistant_id="chat") as thread:
        await thread.run.start(input=human("ask"))

        async def is_asked() -> bool:
            return bool(thread.interrupts)

        await until(is_asked)
        await status_is(client, thread.thread_id, "interrupted")
        await thread.run.respond("2024")
        await status_is(client, thread.thread_id, "idle")
    values = (await client.threads.get_state(thread.thread_id))["values"]
    assert values["messages"][-1]["content"] == "The answers are 2024."


async def test_a_thousand_tokens_arrive_once_and_in_order(client: LangGraphClient) -> None:
    words = " ".join(f"w{n}" for n in range(1000))
    async with client.threads.stream(assistant_id="chat") as thread:
        await thread.run.start(input=human(words))
        texts = [await message.text for message in [m async for m in thread.messages]]
    assert texts == [f"You said: {words}. These are a few words that come as a stream."]
