"""Gathered chunks become a message that starts, grows block by block and finishes."""

from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk

from bathysphere.server.protocol.messages import MessageWriter


def written(*events: dict[str, Any]) -> list[dict[str, Any]]:
    writer = MessageWriter()
    found = [wire for event in events for wire in writer.write((), event)]
    return found + [wire for _, _, wire in writer.close()]


def chunk(**values: Any) -> dict[str, Any]:
    body = AIMessageChunk(id="m1", **{"content": "", **values}).model_dump()
    return {"event": "chunk", "id": "m1", "node": "model", "chunk": body}


def delta(text: str, message: str = "m1") -> dict[str, Any]:
    return {"event": "delta", "id": message, "text": text, "node": "model"}


def kinds(found: list[dict[str, Any]]) -> list[str]:
    return [wire["event"] for wire in found]


def test_text_grows_in_one_block() -> None:
    found = written(delta("Hel"), delta("lo"), chunk(chunk_position="last"))
    assert kinds(found) == [
        "message-start",
        "content-block-start",
        "content-block-delta",
        "content-block-delta",
        "content-block-finish",
        "message-finish",
    ]
    assert found[0]["role"] == "ai"
    assert found[-2]["content"] == {"type": "text", "text": "Hello"}


def test_a_tool_call_sends_its_arguments_as_far_as_known_and_ends_parsed() -> None:
    first = {"name": "add", "args": '{"a": ', "id": "c1", "index": 0}
    second = {"name": None, "args": "2}", "id": None, "index": 0}
    found = written(
        delta("Adding."), chunk(tool_call_chunks=[first]), chunk(tool_call_chunks=[second])
    )
    deltas = [w["delta"] for w in found if w["event"] == "content-block-delta"]
    assert [d["fields"]["args"] for d in deltas[1:]] == ['{"a": ', '{"a": 2}']
    assert [w["index"] for w in found if "index" in w] == [0, 0, 0, 1, 1, 1, 1]
    assert found[-2]["content"] == {
        "type": "tool_call",
        "id": "c1",
        "name": "add",
        "args": {"a": 2},
    }


@pytest.mark.parametrize("begun", ["", '{"a": '])
def test_a_tool_call_whose_end_comes_with_the_end_of_the_message_is_whole(begun: str) -> None:
    first = {"name": "add", "args": begun, "id": "c1", "index": 0}
    second = {"name": None, "args": '{"a": 2}'.removeprefix(begun), "id": None, "index": 0}
    found = written(
        chunk(tool_call_chunks=[first]), chunk(tool_call_chunks=[second], chunk_position="last")
    )
    call = {"type": "tool_call", "id": "c1", "name": "add", "args": {"a": 2}}
    assert [w["content"] for w in found if w["event"] == "content-block-finish"] == [call]


def test_two_tool_calls_do_not_interleave() -> None:
    calls = [
        {"name": name, "args": "{}", "id": name, "index": index}
        for index, name in enumerate(("one", "two"))
    ]
    found = written(chunk(tool_call_chunks=calls))
    order = [(w["event"], w["index"]) for w in found if "index" in w]
    assert order.index(("content-block-finish", 0)) < order.index(("content-block-start", 1))


def test_arguments_that_are_not_json_end_as_an_invalid_call() -> None:
    bad = {"name": "add", "args": "{oops", "id": "c1", "index": 0}
    content = written(chunk(tool_call_chunks=[bad]))[-2]["content"]
    assert content["type"] == "invalid_tool_call"
    assert content["args"] == "{oops"


def test_reasoning_is_a_block_of_its_own() -> None:
    thought = chunk(content=[{"type": "reasoning", "reasoning": "Hmm", "index": 0}])
    said = chunk(content=[{"type": "text", "text": "Yes", "index": 1}])
    found = written(thought, said, chunk(chunk_position="last"))
    deltas = [w["delta"] for w in found if w["event"] == "content-block-delta"]
    assert deltas == [
        {"type": "reasoning-delta", "reasoning": "Hmm"},
        {"type": "text-delta", "text": "Yes"},
    ]
    finished = [w["content"]["type"] for w in found if w["event"] == "content-block-finish"]
    assert finished == ["reasoning", "text"]


def test_usage_and_the_reason_come_with_the_end() -> None:
    usage = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    last = chunk(
        usage_metadata=usage, response_metadata={"finish_reason": "stop"}, chunk_position="last"
    )
    end = written(delta("x"), last)[-1]
    assert end["usage"]["total_tokens"] == 3
    assert end["reason"] == "stop"


def test_messages_at_the_same_time_are_told_apart() -> None:
    found = written(delta("a", "m1"), delta("b", "m2"), delta("c", "m1"))
    text = {
        name: "".join(
            w["delta"]["text"]
            for w in found
            if w["event"] == "content-block-delta" and w["run_id"] == name
        )
        for name in ("m1", "m2")
    }
    assert text == {"m1": "ac", "m2": "b"}


def test_a_tool_message_says_which_call_it_answers() -> None:
    message = {"type": "tool", "content": "5", "id": "t1", "tool_call_id": "c1"}
    found = written({"event": "message", "node": "tools", "message": message})
    assert (found[0]["role"], found[0]["tool_call_id"]) == ("tool", "c1")
    assert found[1]["content"] == {"type": "text", "text": "5"}


def test_a_message_that_was_cut_off_is_finished_at_the_end() -> None:
    assert kinds(written(delta("half")))[-2:] == ["content-block-finish", "message-finish"]
