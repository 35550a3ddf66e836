"""The stock Python client finds threads by their values, sorts them, and joins their streams."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import APIStatusError, NotFoundError
from sdk_steps import has_items, human, new_thread

pytestmark = pytest.mark.services


async def made(client: LangGraphClient, mark: str, *names: str) -> list[str]:
    threads = []
    for name in names:
        threads.append(await new_thread(client, metadata={"mark": mark, "name": name}))
        await client.runs.wait(threads[-1], "steps", input={"name": name, "steps": 1})
    return threads


async def test_threads_are_found_by_their_values(client: LangGraphClient) -> None:
    mark = str(uuid4())
    first, second, _ = await made(client, mark, "a", "b", "a")
    await client.runs.wait(first, "steps", input={"name": "b", "steps": 2})
    found = await client.threads.search(metadata={"mark": mark}, values={"name": "b"})
    assert [t["thread_id"] for t in found] == [first, second]
    found = await client.threads.search(metadata={"mark": mark}, values={"items": ["a:0", "b:1"]})
    assert [t["thread_id"] for t in found] == [first]
    assert found[0]["values"]["items"] == ["a:0", "b:0", "b:1"]
    page = await client.threads.search(
        metadata={"mark": mark}, values={"name": "b"}, limit=1, offset=1
    )
    assert [t["thread_id"] for t in page] == [second]
    assert await client.threads.count(metadata={"mark": mark}, values={"name": "b"}) == 2
    assert await client.threads.search(metadata={"mark": mark}, values={"name": 1}) == []


async def test_threads_are_sorted(client: LangGraphClient) -> None:
    mark = str(uuid4())
    first, second, third = await made(client, mark, "a", "b", "c")
    await client.runs.wait(first, "steps", input={"name": "a"})

    async def order(**options: Any) -> list[str]:
        found = await client.threads.search(
            metadata={"mark": mark}, select=["thread_id"], **options
        )
        return [t["thread_id"] for t in found]

    assert await order() == [first, third, second]
    assert await order(sort_by="created_at", sort_order="asc") == [first, second, third]
    assert await order(sort_by="created_at") == [third, second, first]
    assert await order(sort_by="thread_id", sort_order="asc") == sorted([first, second, third])
    assert await order(ids=[second, third], sort_by="updated_at", sort_order="asc") == [
        second,
        third,
    ]


async def test_single_values_are_extracted(client: LangGraphClient) -> None:
    thread = await new_thread(client, metadata={"topic": "sea"})
    await client.runs.wait(thread, "chat", input=human("hi"))
    paths = {
        "last": "values.messages[-1].type",
        "topic": "metadata.topic",
        "none": "values.messages[99].content",
    }
    (found,) = await client.threads.search(ids=[thread], select=["thread_id"], extract=paths)
    assert found == {
        "thread_id": thread,
        "extracted": {"last": "ai", "topic": "sea", "none": None},
    }
    with pytest.raises(APIStatusError) as refused:
        await client.threads.search(ids=[thread], extract={"x": "secrets.key"})
    assert refused.value.status_code == 422


async def test_a_thread_names_its_graph_and_assistant(client: LangGraphClient) -> None:
    thread = await new_thread(client, metadata={"mine": 1})
    await client.runs.wait(thread, "chat", input=human("hi"))
    (assistant,) = await client.assistants.search(graph_id="chat")
    metadata = (await client.threads.get(thread))["metadata"]
    expected = {"graph_id": "chat", "assistant_id": assistant["assistant_id"], "mine": 1}
    assert metadata.items() >= expected.items()
    found = await client.threads.search(metadata={"graph_id": "chat"}, ids=[thread])
    assert [t["thread_id"] for t in found] == [thread]


async def test_a_thread_is_made_with_a_history(client: LangGraphClient) -> None:
    thread = await client.threads.create(
        graph_id="steps",
        supersteps=[
            {"updates": [{"values": {"name": "h", "steps": 3}, "as_node": "__start__"}]},
            {"updates": [{"values": {"done": 0}, "as_node": "start"}]},
            {"updates": [{"values": {"items": ["h:0"], "done": 1}, "as_node": "step"}]},
        ],
    )
    state = await client.threads.get_state(thread["thread_id"])
    assert (state["values"]["items"], state["next"]) == (["h:0"], ["step"])
    assert len(await client.threads.get_history(thread["thread_id"])) >= 3
    values = await client.runs.wait(thread["thread_id"], "steps")
    assert values["items"] == ["h:0", "h:1", "h:2"]


async def test_a_history_that_does_not_fit_leaves_no_thread(client: LangGraphClient) -> None:
    thread = str(uuid4())
    with pytest.raises(APIStatusError) as refused:
        await client.threads.create(
            thread_id=thread,
            graph_id="steps",
            supersteps=[{"updates": [{"values": {"name": "h"}, "as_node": "nowhere"}]}],
        )
    assert refused.value.status_code in (400, 422)
    with pytest.raises(NotFoundError):
        await client.threads.get(thread)


async def test_pruned_threads_are_gone(client: LangGraphClient) -> None:
    threads = [await new_thread(client) for _ in range(2)]
    assert await client.threads.prune([*threads, str(uuid4())]) == {"pruned_count": 2}
    for thread in threads:
        with pytest.raises(NotFoundError):
            await client.threads.get(thread)


async def read_until(client: LangGraphClient, thread: str, runs: int, **options: Any) -> list[Any]:
    """The parts of a thread's stream until so many runs are done."""
    parts: list[Any] = []
    async with asyncio.timeout(20):
        async for part in await client.threads.join_stream(thread, **options):
            parts.append(part)
            done = [p for p in parts if p.event == "metadata" and "status" in p.data]
            if len(done) == runs:
                break
    return parts


async def test_a_threads_stream_has_one_run_after_the_other(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    reading = asyncio.create_task(read_until(client, thread, 2, last_event_id="-"))
    first = await client.runs.create(thread, "steps", input={"name": "a", "steps": 2})
    modes = ["updates"]
    second = await client.runs.create(thread, "steps", input={"name": "b"}, stream_mode=modes)
    parts = await reading
    marks = [p.data for p in parts if p.event == "metadata"]
    assert [(m["run_id"], m.get("status")) for m in marks] == [
        (first["run_id"], None),
        (first["run_id"], "run_done"),
        (second["run_id"], None),
        (second["run_id"], "run_done"),
    ]
    between = parts.index(next(p for p in parts if p.data == marks[1]))
    assert [p.data for p in parts[:between] if p.event == "values"][-1]["items"] == ["a:0", "a:1"]
    assert {p.event for p in parts[between:]} == {"metadata", "updates"}
    later = await read_until(client, thread, 1, last_event_id=parts[between].id)
    assert [p.data for p in later] == [p.data for p in parts[between + 1 :]]


async def test_a_threads_stream_is_joined_where_it_is(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    slow = {"name": "a", "steps": 20, "delay": 0.1}
    run = await client.runs.create(thread, "steps", input=slow)
    await has_items(client, thread, 2)
    parts = await read_until(client, thread, 1)
    assert parts[0].event == "values"
    assert len(parts[0].data["items"]) > 1
    assert parts[-1].data == {"status": "run_done", "run_id": run["run_id"]}


async def test_a_threads_stream_can_be_only_its_marks_or_states(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    run = await client.runs.create(thread, "steps", input={"name": "a", "steps": 2})
    await client.runs.join(thread, run["run_id"])
    marks = await read_until(client, thread, 1, last_event_id="-", stream_mode="lifecycle")
    assert [p.event for p in marks] == ["metadata", "metadata"]
    both = await read_until(
        client, thread, 1, last_event_id="-", stream_mode=["lifecycle", "state_update"]
    )
    assert [p.event for p in both] == ["metadata", "state_update", "metadata"]
    assert both[1].data["values"]["items"] == ["a:0", "a:1"]
    with pytest.raises(NotFoundError):
        await read_until(client, str(uuid4()), 1)
