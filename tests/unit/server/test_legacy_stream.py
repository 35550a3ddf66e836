"""The legacy stream: questions, states, and `events` as AG-UI's LangGraph agent reads them."""

from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk
from langchain_core.messages.tool import tool_call_chunk

from bathysphere.engine.events.log import Event
from bathysphere.server.langgraph_api.legacy_stream import LegacyStream, as_streamed

MODES = frozenset({"events", "messages-tuple"})
END = {"model_name": "scripted", "finish_reason": "stop"}


def delta(text: str) -> Event:
    data = {"event": "delta", "id": "m", "text": text, "node": "model"}
    return Event(channel="messages", run_id="r", data=data)


def last(content: str, **more: Any) -> Event:
    chunk = AIMessageChunk(
        content=content, id="m", response_metadata=END, chunk_position="last", **more
    )
    data = {"event": "chunk", "id": "m", "chunk": chunk.model_dump(), "node": "model"}
    return Event(channel="messages", run_id="r", data=data)


def parts(*events: Event) -> list[tuple[str, Any]]:
    stream = LegacyStream(MODES, subgraphs=True)
    return [part for event in events for part in stream.map(event)]


def model_events(*events: Event) -> list[dict[str, Any]]:
    return [data for name, data in parts(*events) if name == "events"]


def test_an_event_comes_before_the_tuple_of_the_same_chunk():
    assert [name for name, _ in parts(delta("Hello"))] == ["events", "messages"]


def test_the_last_text_is_not_sent_with_the_finish_reason():
    *_, text, finish, _ = model_events(delta("a few "), last("more words."))
    assert text["data"]["chunk"]["content"] == "more words."
    assert text["data"]["chunk"]["response_metadata"] == {}
    assert finish["data"]["chunk"]["content"] == ""
    assert finish["data"]["chunk"]["response_metadata"] == END


def test_the_end_of_a_message_has_the_whole_message():
    *begun, end = model_events(delta("a few "), last("more words."))
    assert {event["event"] for event in begun} == {"on_chat_model_stream"}
    assert end["event"] == "on_chat_model_end"
    assert end["data"]["output"]["type"] == "ai"
    assert end["data"]["output"]["content"] == "a few more words."


def test_a_merged_chunk_is_one_thing_at_a_time():
    merged = AIMessageChunk(
        content="I call.",
        id="m",
        tool_call_chunks=[
            tool_call_chunk(name="add", args='{"a": 1}', id="c1", index=0),
            tool_call_chunk(args='"b": 2}', index=1),
        ],
        response_metadata=END,
        chunk_position="last",
    )
    found = list(as_streamed(merged))
    calls = [
        (call["name"], call["args"], call["id"], call["index"])
        for chunk in found
        for call in chunk.tool_call_chunks
    ]
    assert [bool(chunk.content) for chunk in found] == [True, False, False, False, False]
    assert calls == [
        ("add", "", "c1", 0),
        (None, '{"a": 1}', None, 0),
        (None, '"b": 2}', None, 1),
    ]
    whole = found[0]
    for chunk in found[1:]:
        whole += chunk
    assert whole.model_dump() == merged.model_dump()


def test_a_chunk_with_nothing_in_it_is_not_sent():
    assert model_events(delta("")) == []


def question(*namespace: str) -> Event:
    data = {"interrupt_id": "i", "payload": "Well?"}
    return Event(channel="input", run_id="r", data=data, namespace=namespace)


@pytest.mark.parametrize(
    ("subgraphs", "names"), [(False, ["updates"]), (True, ["updates|inner:1", "updates"])]
)
def test_a_question_of_a_subgraph_is_an_update_of_the_graph(subgraphs, names):
    stream = LegacyStream(frozenset({"updates"}), subgraphs=subgraphs)
    assert list(stream.map(question("inner:1"))) == [
        (name, {"__interrupt__": [{"id": "i", "value": "Well?"}]}) for name in names
    ]


@pytest.mark.parametrize("returned", [7, "words", [1, 2], None])
def test_the_state_of_a_function_is_what_it_returned(returned):
    stream = LegacyStream(frozenset({"values"}), subgraphs=False)
    event = Event(channel="values", run_id="r", data=returned)
    assert list(stream.map(event)) == [("values", returned)]
