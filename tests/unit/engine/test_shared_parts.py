"""Events are put together again as they were, and what two of them share is one part."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage

from bathysphere.engine.events.log import Event
from bathysphere.engine.events.shared_parts import divide, is_complete, join, used_parts

text = st.text(max_size=40) | st.sampled_from(["long " * 90, "\0" * 300, "ü" * 400])
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | text
anything = st.recursive(
    scalars, lambda v: st.lists(v, max_size=5) | st.dictionaries(text, v, max_size=4), max_leaves=20
)
channels = st.sampled_from(["values", "updates", "messages", "tools", "tasks", "custom"])
names = st.sampled_from(["values", "message", "output", "input", "messages", "files"]) | text


@given(channels, st.dictionaries(names, anything | st.lists(anything, max_size=50)) | anything)
def test_an_event_is_put_together_as_it_was(channel, data):
    body = Event(channel=channel, run_id="r", data=data).encode()
    divided, parts = divide(body)
    assert join(divided, parts) == body
    assert used_parts(divided, parts) == parts
    assert is_complete(divided, parts)
    assert not parts or len(divided) < len(body)


@pytest.mark.parametrize("body", [b"", b"1", b"\0" * 2000, b"[" * 2000, b'"' + b"x" * 2000 + b'"'])
def test_what_is_no_event_is_stored_whole(body):
    assert divide(body) == (body, {})


@pytest.mark.parametrize("depth", [100, 300, 900])
def test_what_is_very_deep_is_published_all_the_same(depth):
    deep: object = "x" * 2000
    for _ in range(depth):
        deep = [deep]
    for channel in ("values", "custom"):
        body = Event(channel=channel, run_id="r", data={"deep": deep}).encode()
        assert join(*divide(body)) == body


def test_a_number_that_would_change_is_stored_whole():
    body = Event(channel="values", run_id="r", data={"n": 2**80, "words": "x" * 2000}).encode()
    assert divide(body) == (body, {})


def state(count):
    pairs = (
        (HumanMessage("q" * 1000, id=f"q{n}"), AIMessage("a" * 1000, id=f"a{n}"))
        for n in range(count)
    )
    return [message for pair in pairs for message in pair]


def test_the_states_of_a_long_conversation_take_little_more_than_its_messages():
    stored, read = {}, 0
    marks = 0
    for turns in range(1, 101):
        body = Event(channel="values", run_id="r", data={"messages": state(turns)}).encode()
        divided, parts = divide(body)
        stored |= parts
        marks += len(divided)
        read += len(body)
    messages = len(orjson.dumps([message.model_dump() for message in state(100)]))
    assert read > 40 * messages
    assert sum(map(len, stored.values())) + marks < 1.3 * messages


def test_a_message_is_one_part_wherever_it_is():
    message = AIMessage("words " * 200, id="a")
    events = [
        Event(channel="values", run_id="r", data={"messages": [message]}),
        Event(channel="updates", run_id="r", data={"node": "n", "values": {"messages": [message]}}),
        Event(channel="messages", run_id="r", data={"node": "n", "message": message}),
        Event(channel="tools", run_id="r", data={"output": message}),
    ]
    found = [set(divide(event.encode())[1]) for event in events]
    assert all(parts == found[0] for parts in found)
    assert len(found[0]) == 1


def test_a_missing_part_is_noticed():
    body = Event(channel="values", run_id="r", data={"messages": state(20)}).encode()
    divided, parts = divide(body)
    for digest in parts:
        rest = {other: part for other, part in parts.items() if other != digest}
        assert not is_complete(divided, rest)
        assert not is_complete(divided, used_parts(divided, rest))
        with pytest.raises(KeyError):
            join(divided, rest)
