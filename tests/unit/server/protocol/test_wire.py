"""The log's entries become numbered protocol events."""

from typing import Any

import pytest

from bathysphere.engine.events.log import Entry, Event
from bathysphere.server.protocol.filter import Filter
from bathysphere.server.protocol.position import WIDTH, Position
from bathysphere.server.protocol.wire import WireEvent, WireMapper, channel_of

ALL = frozenset(
    {"lifecycle", "input", "messages", "values", "updates", "tools", "custom", "checkpoints"}
)


def entry(number: int, channel: Any, data: Any, namespace: tuple[str, ...] = ()) -> Entry:
    event = Event(channel=channel, run_id="r", data=data, namespace=namespace, at=7)
    return Entry(number, event.encode())


def mapped(*entries: Entry, wants: frozenset[str] = ALL) -> list[WireEvent]:
    mapper = WireMapper(wants)
    return [event for item in entries for event in mapper.map(item)]


def lifecycle(number: int, event: str, **data: Any) -> Entry:
    return entry(number, "lifecycle", {"event": event, "graph": "g", **data})


def test_a_channel_is_known_without_decoding() -> None:
    assert channel_of(entry(1, "tools", {})) == "tools"


def test_a_checkpoint_comes_before_the_values_it_holds() -> None:
    found = mapped(
        entry(10, "values", {"a": 1}),
        entry(11, "checkpoints", {"id": "c"}),
        lifecycle(12, "completed"),
    )
    assert [e.channel for e in found] == ["checkpoints", "values", "lifecycle"]
    assert [e.seq for e in found] == [10 * WIDTH, 11 * WIDTH, 13 * WIDTH - 3]


def test_values_without_a_checkpoint_are_not_held_for_ever() -> None:
    found = mapped(entry(10, "values", {"a": 1}), lifecycle(11, "interrupted"))
    assert [(e.channel, e.seq) for e in found] == [
        ("values", 10 * WIDTH),
        ("lifecycle", 12 * WIDTH - 3),
    ]


def test_a_nested_checkpoint_does_not_take_the_roots_values() -> None:
    found = mapped(
        entry(10, "values", {"a": 1}), entry(11, "checkpoints", {"id": "c"}, ("tools:1",))
    )
    assert [e.channel for e in found] == ["values", "checkpoints"]


def test_numbers_do_not_depend_on_what_is_asked_for() -> None:
    entries = (
        lifecycle(9, "started"),
        entry(10, "messages", {"event": "delta", "id": "m", "text": "x", "node": "n"}),
        entry(11, "values", {"a": 1}),
        entry(12, "checkpoints", {"id": "c"}),
        lifecycle(13, "completed"),
    )
    everything = {(e.channel, e.seq) for e in mapped(*entries)}
    for wants in ({"values"}, {"lifecycle"}, {"messages", "checkpoints"}):
        assert {(e.channel, e.seq) for e in mapped(*entries, wants=frozenset(wants))} <= everything


def test_a_started_run_is_running_and_a_cancelled_one_is_interrupted() -> None:
    events = [e.data["event"] for e in mapped(lifecycle(1, "started"), lifecycle(2, "cancelled"))]
    assert events == ["started", "running", "interrupted"]


def test_a_run_that_is_handed_on_says_nothing_and_ends_its_messages() -> None:
    half = entry(1, "messages", {"event": "delta", "id": "m", "text": "x", "node": "n"})
    found = mapped(half, lifecycle(2, "handed_on"))
    assert [e.data["event"] for e in found][-1] == "message-finish"


def test_a_failure_is_a_sentence() -> None:
    (end,) = mapped(lifecycle(1, "failed", error={"message": "no", "hint": "try"}))
    assert end.data["error"] == "no (try)"


def test_values_do_not_carry_interrupts_and_custom_data_is_wrapped() -> None:
    found = mapped(
        entry(1, "values", {"a": 1, "__interrupt__": []}),
        entry(2, "custom", {"progress": 1}),
        entry(3, "custom", {"name": "n", "payload": 2}),
    )
    named = {"name": "n", "payload": 2}
    assert [e.data for e in found] == [{"a": 1}, {"payload": {"progress": 1}}, named]


def test_a_tool_that_answers_with_a_command_shows_its_message() -> None:
    message = {"type": "tool", "content": "done", "tool_call_id": "c"}
    output = {"graph": None, "update": {"messages": [message]}, "resume": None, "goto": []}
    (event,) = mapped(
        entry(1, "tools", {"event": "tool-finished", "tool_call_id": "c", "output": output})
    )
    assert event.data["output"] == message


@pytest.mark.parametrize(
    ("asked", "depth", "namespace", "is_let"),
    [
        (None, None, ("a", "b"), True),
        (((),), 0, (), True),
        (((),), 0, ("a",), False),
        (((),), 1, ("tools:1",), True),
        (((),), 1, ("tools:1", "x:2"), False),
        ((("tools",),), None, ("tools:1", "x:2"), True),
        ((("tools:1",),), None, ("tools:2",), False),
        ((("tools", "x"),), None, ("tools:1",), False),
    ],
)
def test_namespaces_match_by_prefix_and_depth(
    asked: Any, depth: int | None, namespace: tuple[str, ...], is_let: bool
) -> None:
    event_filter = Filter(channels=frozenset({"values"}), namespaces=asked, depth=depth)
    event = WireEvent(Position(1), "values", "values", namespace, 0, {})
    assert event_filter.matches(event) is is_let


def test_a_custom_channel_is_asked_for_by_name() -> None:
    event_filter = Filter(channels=frozenset({"custom:map"}))
    named = WireEvent(Position(1), "custom", "custom", (), 0, {"name": "map", "payload": 1})
    other = WireEvent(Position(1), "custom", "custom", (), 0, {"payload": 1})
    assert event_filter.matches(named)
    assert not event_filter.matches(other)
    assert event_filter.engine_channels() == {"custom"}


def test_a_subagent_says_which_call_sent_it_out_and_what_it_was_asked() -> None:
    call = {"name": "task", "args": {"description": "look", "subagent_type": "x"}}
    data = {
        "event": "started",
        "graph": "tools",
        "cause": {"type": "toolCall", "tool_call_id": "c"},
        "call": call,
    }
    started, values = mapped(entry(1, "lifecycle", data, ("tools:1",)))
    assert started.data["cause"] == {"type": "toolCall", "tool_call_id": "c"}
    assert values.data == {"messages": [{"type": "human", "content": "look"}]}
    assert values.namespace == ("tools:1",)
    assert started.seq < values.seq < 2 * WIDTH


def test_the_end_of_a_subagent_is_not_the_end_of_the_run() -> None:
    (end,) = mapped(entry(1, "lifecycle", {"event": "completed", "graph": "tools"}, ("tools:1",)))
    assert end.data["event"] == "completed"
    assert not end.is_end


def test_a_message_that_a_lost_worker_had_begun_is_taken_back() -> None:
    found = mapped(
        lifecycle(1, "started"),
        entry(2, "values", {"messages": [{"type": "human", "id": "h"}]}),
        entry(3, "messages", {"event": "delta", "id": "half", "text": "x", "node": "n"}),
        lifecycle(4, "running"),
    )
    end, with_it, without_it, running = found[-4:]
    assert (end.data["event"], end.node) == ("message-finish", "n")
    assert [m["id"] for m in with_it.data["messages"]] == ["h", "half"]
    assert [m["id"] for m in without_it.data["messages"]] == ["h"]
    assert running.data["event"] == "running"
    assert [e.seq for e in found] == sorted({e.seq for e in found})


def test_a_message_that_was_finished_stays() -> None:
    last = {"event": "chunk", "id": "m", "node": "n", "chunk": {"content": "", "id": "m"}}
    last["chunk"] |= {"type": "AIMessageChunk", "chunk_position": "last"}
    found = mapped(
        entry(2, "values", {"messages": []}),
        entry(3, "messages", {"event": "delta", "id": "m", "text": "x", "node": "n"}),
        entry(4, "messages", last),
        lifecycle(5, "running"),
    )
    assert [e.channel for e in found if e.seq >= 5 * WIDTH] == ["lifecycle"]
