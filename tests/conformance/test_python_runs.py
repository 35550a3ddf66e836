"""The stock Python client pauses runs at nodes, schedules them, and chooses their next node."""

import asyncio
import time

import pytest
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import APIStatusError
from sdk_steps import has_items, human, new_thread, until

pytestmark = pytest.mark.services


async def test_a_run_pauses_before_a_node_and_goes_on(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    values = await client.runs.wait(
        thread, "steps", input={"name": "p", "steps": 2}, interrupt_before=["step"]
    )
    assert values.get("items", []) == []
    assert (await client.threads.get(thread))["status"] == "interrupted"
    assert (await client.threads.get_state(thread))["next"] == ["step"]
    values = await client.runs.wait(thread, "steps", interrupt_before=["step"])
    assert values["items"] == ["p:0"]
    values = await client.runs.wait(thread, "steps")
    assert values["items"] == ["p:0", "p:1"]
    assert (await client.threads.get(thread))["status"] == "idle"


async def test_a_run_pauses_after_a_node_or_everywhere(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    name = {"name": "q", "steps": 2}
    await client.runs.wait(thread, "steps", input=name, interrupt_after=["step"])
    assert (await client.threads.get_state(thread))["values"]["items"] == ["q:0"]
    thread = await new_thread(client)
    seen = []
    await client.runs.wait(thread, "steps", input=name, interrupt_before="*")
    for _ in range(3):
        seen.append((await client.threads.get_state(thread))["next"])
        await client.runs.wait(thread, "steps", interrupt_before="*")
    assert seen == [["start"], ["step"], ["step"]]
    assert (await client.threads.get_state(thread))["values"]["items"] == ["q:0", "q:1"]


async def test_a_pause_in_a_stream_ends_it(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    parts = [
        part
        async for part in client.runs.stream(
            thread, "steps", input={"name": "s"}, stream_mode="updates", interrupt_before=["step"]
        )
    ]
    updates = [p.data for p in parts if p.event == "updates" and "__interrupt__" not in p.data]
    assert updates == [{"start": {"done": 0}}]


async def test_a_node_that_does_not_exist_is_named(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    with pytest.raises(APIStatusError, match="nowhere") as refused:
        await client.runs.create(thread, "steps", input={}, interrupt_before=["nowhere"])
    assert refused.value.status_code == 422


async def test_a_run_waits_for_its_time_and_holds_up_no_other(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    started = time.monotonic()
    later = await client.runs.create(thread, "steps", input={"name": "later"}, after_seconds=3)
    values = await client.runs.wait(thread, "steps", input={"name": "now"})
    assert values["items"] == ["now:0"]
    assert (await client.runs.get(thread, later["run_id"]))["status"] == "pending"
    values = await client.runs.join(thread, later["run_id"])
    assert values["items"] == ["now:0", "later:0"]
    assert time.monotonic() - started >= 3


async def test_a_scheduled_run_is_cancelled(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    run = await client.runs.create(thread, "steps", input={"name": "x"}, after_seconds=3600)
    await asyncio.sleep(1)
    assert (await client.runs.get(thread, run["run_id"]))["status"] == "pending"
    await client.runs.cancel(thread, run["run_id"], wait=True)
    assert (await client.runs.get(thread, run["run_id"]))["status"] == "interrupted"
    assert (await client.threads.get(thread))["status"] == "idle"


async def test_an_answer_does_not_wait_for_a_scheduled_message(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    await client.runs.wait(thread, "chat", input=human("ask"))
    await client.runs.create(thread, "chat", input=human("add"), after_seconds=3600)
    values = await client.runs.wait(thread, "chat", command={"resume": "2024"})
    assert values["messages"][-1]["content"] == "The answers are 2024."


async def test_a_command_sends_an_input_to_a_node(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    await client.runs.wait(thread, "steps", input={"name": "g", "steps": 1})
    send = {"node": "step", "input": {"name": "sent", "done": 7}}
    values = await client.runs.wait(thread, "steps", command={"goto": send})
    assert values["items"] == ["g:0", "sent:7"]
    values = await client.runs.wait(thread, "steps", command={"goto": "start"})
    assert values["items"] == ["g:0", "sent:7", "g:0"]


async def test_every_step_is_kept_whatever_durability_is_asked_for(
    client: LangGraphClient,
) -> None:
    thread = await new_thread(client)
    long = {"name": "d", "steps": 3}
    await client.runs.wait(thread, "steps", input=long, durability="async")
    assert len(await client.threads.get_history(thread)) >= 5
    with pytest.raises(APIStatusError):
        await client.runs.create(thread, "steps", input=long, durability="never")


async def test_whoever_leaves_a_joined_stream_can_end_its_run(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    slow = {"name": "x", "steps": 99, "delay": 0.1}
    run = await client.runs.create(thread, "steps", input=slow)
    await has_items(client, thread, 1)
    stream = client.runs.join_stream(thread, run["run_id"], cancel_on_disconnect=True)
    async for part in stream:
        if part.event == "values":
            break
    await stream.aclose()

    async def is_over() -> bool:
        return (await client.runs.get(thread, run["run_id"]))["status"] == "interrupted"

    await until(is_over)


async def test_a_deleted_run_is_over(client: LangGraphClient) -> None:
    thread = await new_thread(client)
    slow = {"name": "x", "steps": 400, "delay": 0.1}
    run = await client.runs.create(thread, "steps", input=slow)
    await client.runs.delete(thread, run["run_id"])

    async def is_idle() -> bool:
        return (await client.threads.get(thread))["status"] != "busy"

    await until(is_idle)
