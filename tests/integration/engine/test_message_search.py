"""What was said is found by its owner, from the end of the run until the thread is deleted."""

import asyncio
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from engine_rig import ALICE, BOB, Rig
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from bathysphere.engine.conversations.message_index import index_messages
from bathysphere.engine.conversations.message_texts import MessageText, texts_of
from bathysphere.engine.runs.attempts import Attempts
from bathysphere.testing import ScriptedChatModel, says, slowly

pytestmark = pytest.mark.services


def said(text: str, message_id: str | None = None) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text, "id": message_id or str(uuid4())}]}


def agent(rig: Rig, *turns: Any) -> ScriptedChatModel:
    model = ScriptedChatModel(script=list(turns))
    rig.factories["agent"] = lambda: create_agent(model, [])
    return model


async def talk(rig: Rig, words: str, owner: Any = ALICE, thread: UUID | None = None) -> UUID:
    thread = thread or uuid4()
    run = await rig.start(thread, "agent", input=said(words), owner=owner)
    assert (await rig.ended(run)).status == "success"
    return thread


async def found(rig: Rig, query: str, owner: Any = ALICE, **more: Any) -> list[UUID]:
    hits = await rig.services.messages.search(query, owner=owner, **more)
    return [hit.thread_id for hit in hits]


async def test_both_sides_of_a_conversation_are_found_with_an_excerpt(rig: Rig):
    agent(rig, says("Sperm whales dive deeper than most."), says("Yes."))
    async with rig.working():
        whales = await talk(rig, "How deep is Ålesund's bay?")
        await talk(rig, "Something about reefs", thread=None)
    assert await found(rig, "whale deep") == [whales]
    assert await found(rig, "ALESUND") == [whales]
    assert await found(rig, "whale reef") == []
    assert await found(rig, "!!!") == []
    (hit,) = await rig.services.messages.search("sperm", owner=ALICE)
    (message,) = hit.hits
    assert message.role == "agent"
    assert [part.text for part in message.excerpt if part.is_match] == ["Sperm"]
    state = await rig.state(whales, "agent")
    assert message.message_id == state.values["messages"][-1].id


async def test_nobody_finds_what_another_said(rig: Rig):
    agent(rig, says("For Alice."), says("For Bob."))
    async with rig.working():
        of_alice = await talk(rig, "common words of mine")
        of_bob = await talk(rig, "common words of mine", owner=BOB)
    assert await found(rig, "common") == [of_alice]
    assert await found(rig, "common", BOB) == [of_bob]
    assert await found(rig, "alice", BOB) == []


async def test_the_newest_threads_come_first_and_are_limited(rig: Rig):
    agent(rig, *(says("Trench.") for _ in range(3)))
    async with rig.working():
        threads = [await talk(rig, "the trench") for _ in range(3)]
    assert await found(rig, "trench", limit=2) == threads[:0:-1]
    await rig.threads.update(threads[0], owner=ALICE, metadata={"project": "p"})
    assert await found(rig, "trench", metadata={"project": "p"}) == threads[:1]


async def test_a_stopped_answer_is_found_and_one_that_was_undone_is_not(rig: Rig):
    story = " ".join(f"word{number}" for number in range(200))
    agent(rig, slowly(says(story), pause=0.02), slowly(says(story), pause=0.02))
    async with rig.working():
        for action, expected in (("interrupt", True), ("rollback", False)):
            thread = uuid4()
            run = await rig.start(thread, "agent", input=said("tell a story"))
            await _streamed(rig, thread, "word5")
            await rig.runs.cancel(run.run_id, owner=ALICE, action=action)
            assert (await rig.ended(run)).status == "cancelled"
            assert (thread in await found(rig, "word3")) is expected
            assert (thread in await found(rig, "story")) is expected


async def _streamed(rig: Rig, thread: UUID, enough: str) -> None:
    text = ""
    async with asyncio.timeout(20):
        async for entry in rig.log.read(thread, owner=ALICE):
            event = entry.event()
            if event.channel == "messages":
                text += event.data.get("text") or ""
                if enough in text:
                    return


async def test_an_edited_message_replaces_the_one_before(rig: Rig):
    agent(rig, says("About whales."), says("About reefs."))
    async with rig.working():
        thread = await talk(rig, "tell me of whales")
        state = await rig.state(thread, "agent")
        first = [one.id for one in state.values["messages"]]
        update = {
            "messages": [
                {"role": "remove", "content": "", "id": first[1]},
                {"role": "user", "content": "tell me of reefs", "id": first[0]},
            ]
        }
        run = await rig.start(thread, "agent", input=update)
        await rig.ended(run)
    assert await found(rig, "whales") == []
    assert await found(rig, "reefs") == [thread]


async def test_a_copy_is_found_and_a_deleted_thread_is_not(rig: Rig):
    agent(rig, says("Trench."))
    async with rig.working():
        thread = await talk(rig, "deep words")
    copy = uuid4()
    await rig.threads.copy(thread, to=copy, owner=ALICE)
    assert set(await found(rig, "deep")) == {thread, copy}
    await rig.threads.delete(thread, owner=ALICE)
    assert await found(rig, "deep") == [copy]


async def test_the_index_is_written_by_the_transaction_that_ends_the_run(rig: Rig, monkeypatch):
    """If the one fails, so does the other; the next try does both."""
    original, failed = Attempts.finish, []

    async def fails_at_its_end(self: Attempts, run: Any, status: Any, **more: Any) -> Any:
        if failed:
            return await original(self, run, status, **more)
        failed.append(run)
        with monkeypatch.context() as patched:
            patched.setattr("bathysphere.engine.runs.attempts.index_messages", is_lost_after_it)
            return await original(self, run, status, **more)

    async def is_lost_after_it(*arguments: Any) -> None:
        await index_messages(*arguments)
        async with rig.pool.connection() as connection:
            row = await (
                await connection.execute(
                    "SELECT (SELECT count(*) FROM engine.message_texts)"
                    " + (SELECT count(*) FROM engine.runs WHERE status <> 'running') AS n"
                )
            ).fetchone()
        failed.append(row["n"])
        raise psycopg.OperationalError("lost")

    monkeypatch.setattr(Attempts, "finish", fails_at_its_end)
    agent(rig, says("Trench."))
    async with rig.working():
        thread = await talk(rig, "deep words")
    assert failed[1] == 0
    assert await found(rig, "deep trench") == []
    assert await found(rig, "trench") == [thread]


async def test_text_that_postgresql_cannot_store_ends_no_run_badly(rig: Rig):
    agent(rig, says("nul \0 and \ud800 half"))
    async with rig.working():
        thread = uuid4()
        run = await rig.start(thread, "agent", input=said("x"))
        ended = await rig.ended(run)
    if ended.status == "success":  # the state may not be storable either
        assert await found(rig, "half") == [thread]


def test_texts_are_what_a_person_and_the_agent_said():
    questions = [{"name": "ask_user", "args": {}, "id": name} for name in ("c1", "c2")]
    asked = AIMessage("", id="a1", tool_calls=questions)
    texts = texts_of(
        [
            HumanMessage("Hello", id="h1"),
            HumanMessage("a summary", id="h2", additional_kwargs={"lc_source": "summarization"}),
            asked,
            ToolMessage("raw", tool_call_id="c1", additional_kwargs={"answer": "Ghent"}),
            ToolMessage("raw", tool_call_id="c2", additional_kwargs={"answer": "in May"}),
            ToolMessage("a file", tool_call_id="c9"),
            AIMessage("Very well.\0", id="a2"),
            AIMessage("no id"),
            "not a message",
        ]
    )
    assert texts == [
        MessageText("h1", "person", "Hello"),
        MessageText("a1", "person", "Ghent\nin May"),
        MessageText("a2", "agent", "Very well."),
    ]
