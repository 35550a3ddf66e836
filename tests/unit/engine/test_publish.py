"""Events are batched, tokens are merged, and an unavailable log does not stop the run."""

import asyncio
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from langchain_core.messages import AIMessageChunk

from bathysphere.core.clock import SystemClock
from bathysphere.core.errors import UpstreamError
from bathysphere.core.identity import Owner
from bathysphere.engine.events.langgraph_stream import StreamEvent, Token
from bathysphere.engine.events.log import Event
from bathysphere.engine.events.memory_log import MemoryEventLog
from bathysphere.engine.events.publisher import Publisher
from bathysphere.engine.records import Run, Work

pytestmark = pytest.mark.timeout(10)


def a_run() -> Run:
    return Run(
        run_id=uuid4(),
        thread_id=uuid4(),
        owner=Owner(tenant="t", user="u"),
        graph="g",
        work=Work(),
        status="running",
        cancel=None,
        attempt=1,
        strikes=1,
        losses=0,
        token=1,
        seq=1,
        tag=0,
        job_id=1,
        error=None,
        created_at=datetime(2026, 1, 1, tzinfo=UTC),
        started_at=None,
        finished_at=None,
    )


class RecordingLog(MemoryEventLog):
    """Counts appends; can be made unavailable."""

    def __init__(self) -> None:
        super().__init__(clock=SystemClock())
        self.batches: list[list[Event]] = []
        self.losses: list[bool] = []
        self.is_away = False

    async def append(self, thread_id, bodies, *, owner, token=0, after_loss=False):
        if self.is_away:
            raise UpstreamError("away")
        self.batches.append([Event.decode(body) for body in bodies])
        self.losses.append(after_loss)
        return await super().append(
            thread_id, bodies, owner=owner, token=token, after_loss=after_loss
        )


def token(text: str, message: str = "m1", **more) -> Token:
    return Token(namespace=(), node="model", chunk=AIMessageChunk(content=text, id=message, **more))


async def test_tokens_of_a_message_become_one_event():
    log = RecordingLog()
    async with Publisher(log, a_run(), clock=SystemClock()) as publisher:
        for text in ("deep", " ", "sea"):
            publisher.add(token(text))
    ((event,),) = log.batches
    assert event.data == {"event": "delta", "id": "m1", "text": "deep sea", "node": "model"}


async def test_two_messages_at_once_stay_apart():
    log = RecordingLog()
    async with Publisher(log, a_run(), clock=SystemClock()) as publisher:
        for text, message in (("a", "m1"), ("x", "m2"), ("b", "m1"), ("y", "m2")):
            publisher.add(token(text, message))
    ((first, second),) = log.batches
    assert (first.data["id"], first.data["text"]) == ("m1", "ab")
    assert (second.data["id"], second.data["text"]) == ("m2", "xy")


async def test_a_tool_call_in_pieces_is_put_together():
    log = RecordingLog()
    pieces = [
        {"name": "read", "args": '{"pa', "id": "c1", "index": 0, "type": "tool_call_chunk"},
        {"name": None, "args": 'th": "x"}', "id": None, "index": 0, "type": "tool_call_chunk"},
    ]
    async with Publisher(log, a_run(), clock=SystemClock()) as publisher:
        for piece in pieces:
            publisher.add(token("", tool_call_chunks=[piece]))
    ((event,),) = log.batches
    assert event.data["event"] == "chunk"
    assert event.data["chunk"]["tool_call_chunks"][0]["args"] == '{"path": "x"}'


async def test_events_go_out_while_the_run_goes_on():
    log = RecordingLog()
    async with Publisher(log, a_run(), clock=SystemClock(), interval=0.01) as publisher:
        publisher.add(token("one"))
        async with asyncio.timeout(2):
            while not log.batches:  # noqa: ASYNC110  # a timer changes it
                await asyncio.sleep(0.005)
        publisher.add(token("two"))
    assert [event.data["text"] for batch in log.batches for event in batch] == ["one", "two"]


async def test_a_log_that_is_away_stops_nothing_and_leaves_a_gap():
    log = RecordingLog()
    run = a_run()
    async with Publisher(log, run, clock=SystemClock()) as publisher:
        publisher.lifecycle("started")
        await publisher.flush()
        log.is_away = True
        publisher.add(token("lost"))
        await publisher.flush()
        log.is_away = False
        publisher.lifecycle("completed")
    assert log.losses == [False, True]


async def test_a_large_state_is_named_not_sent():
    log = RecordingLog()
    async with Publisher(log, a_run(), clock=SystemClock(), values_limit=200) as publisher:
        publisher.add(StreamEvent(channel="values", namespace=(), data={"text": "x" * 300}))
        publisher.add(StreamEvent(channel="values", namespace=(), data={"n": 1}))
    ((large, small),) = log.batches
    assert large.data["omitted_bytes"] > 200
    assert small.data == {"n": 1}


async def test_what_cannot_be_json_is_said_not_raised():
    log, endless = RecordingLog(), {}
    endless["again"] = endless
    async with Publisher(log, a_run(), clock=SystemClock()) as publisher:
        publisher.add(StreamEvent(channel="custom", namespace=(), data=endless))
        publisher.add(StreamEvent(channel="custom", namespace=(), data={"s": {1}, "o": object}))
    ((unreadable, readable),) = log.batches
    assert "unreadable" in unreadable.data
    assert readable.data == {"s": [1], "o": "<class 'object'>"}


class SlowLog(RecordingLog):
    """Takes as long to append as the test says, as a log across the network does."""

    def __init__(self):
        super().__init__()
        self.is_appending, self.may_append = asyncio.Event(), asyncio.Event()

    async def append(self, thread_id, bodies, *, owner, token=0, after_loss=False):
        self.is_appending.set()
        await self.may_append.wait()
        return await super().append(
            thread_id, bodies, owner=owner, token=token, after_loss=after_loss
        )


async def test_a_batch_on_its_way_when_the_run_ends_arrives():
    log = SlowLog()
    async with Publisher(log, a_run(), clock=SystemClock(), interval=0.01) as publisher:
        publisher.add(token("first"))
        await asyncio.wait_for(log.is_appending.wait(), 5)
        assert log.batches == []
        publisher.add(token(" second"))
        asyncio.get_running_loop().call_soon(log.may_append.set)
    told = [event.data["text"] for batch in log.batches for event in batch]
    assert "".join(told) == "first second"
