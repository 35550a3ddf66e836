"""Text that may be a call is held until it is known; everything else flows."""

import json

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk

from bathysphere.models.held_text import STEP, HeldText, may_be_call

CALL = '{"name": "ls", "arguments": {"path": "/"}}'


def chunks(text, size=4):
    parts = [text[at : at + size] for at in range(0, len(text), size)]
    made = [AIMessageChunk(part, id="m") for part in parts]
    return [*made, AIMessageChunk("", id="m", chunk_position="last")]


def streamed(text, final, size=4):
    """What a client sees before, and when, the message is finished."""
    held = HeldText()
    before = "".join(shown.text for chunk in chunks(text, size) for shown in held.feed(chunk))
    return before, held.settle(final)


@pytest.mark.parametrize("size", [1, 4, 1000])
@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"```json\n{CALL}\n```",
        f"```\n{CALL}\n```",
        f"<tool_call>{CALL}</tool_call>",
        f"[TOOL_CALLS] [{CALL}]",
        f"<|python_tag|>{CALL}",
        "<function=ls>{}</function>",
        '>>>ls\n{"path": "/"}',
    ],
)
def test_a_call_is_never_shown(text, size):
    call = {"name": "ls", "args": {"path": "/"}, "id": "1"}
    final = AIMessage("", id="m", tool_calls=[call])
    before, after = streamed(text, final, size)
    assert before == ""
    assert after == [final]


@pytest.mark.parametrize("size", [1, 4])
def test_prose_before_a_call_may_be_shown_but_not_the_call(size):
    final = AIMessage("", id="m", tool_calls=[{"name": "ls", "args": {}, "id": "1"}])
    before, after = streamed(f"Sure, I look.\n\n```json\n{CALL}\n```", final, size)
    assert before
    assert "Sure, I look.".startswith(before.strip())
    assert after[-1] is final
    assert not any(part.text for part in after)


@pytest.mark.parametrize(
    "text",
    ["Hello there, how are you?", "A list: [1] and <b>bold</b>.", "In `code` or {braces}.",
     "```python\nprint()\n```", "Here:\n\n```sh\nls\n```", "a < b and ` c", "x" * 2000 + CALL],
)  # fmt: skip
@pytest.mark.parametrize("size", [1, 3])
def test_an_ordinary_answer_is_shown_as_it_comes(text, size):
    before, after = streamed(text, AIMessage(text, id="m"), size)
    left = "".join(part.text for part in after)
    assert before + left == text
    assert len(left) < 12


@pytest.mark.parametrize("text", ['{"a": 1}', '```json\n{"a": 1}\n```'])
def test_json_that_is_an_answer_is_shown_when_it_is_finished(text):
    before, after = streamed(text, AIMessage(text, id="m"))
    assert before + "".join(part.text for part in after) == text


def test_a_native_call_is_not_held():
    held = HeldText()
    part = {"name": "ls", "args": "{}", "id": "1", "index": 0, "type": "tool_call_chunk"}
    chunk = AIMessageChunk("", id="m", tool_call_chunks=[part])
    assert held.feed(chunk) == [chunk]


def test_long_answers_are_not_read_again_for_each_chunk():
    held = HeldText()
    for chunk in chunks("word " * 200_000, 5):
        held.feed(chunk)
    assert not may_be_call("word " * 1000)


# ── steps in JSON ──


def stepped(text, final, size):
    held = HeldText()
    shown = [part for chunk in chunks(text, size) for part in held.feed(chunk, STEP)]
    return shown, held.settle(final)


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_of_a_step_only_the_words_are_shown(size):
    words = 'One "fish",\nzwei Fische \U0001f41f'
    shown, left = stepped(
        json.dumps({"next": {"answer": words}}, indent=2), AIMessage(words, id="m"), size
    )
    assert "".join(part.text for part in shown) == words
    assert shown[-1].chunk_position == "last"
    assert left == []


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_a_step_that_calls_is_held_until_the_call_is_known(size):
    call = {"next": {"tool": "say", "arguments": {"answer": "x"}}}
    final = AIMessage("", id="m", tool_calls=[{"name": "say", "args": {}, "id": "1"}])
    shown, left = stepped(json.dumps(call), final, size)
    assert shown == []
    assert left == [final]


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_prose_of_a_server_that_ignores_the_schema_flows(size):
    shown, left = stepped("Hello there.", AIMessage("Hello there.", id="m"), size)
    assert "".join(part.text for part in shown) == "Hello there."
    assert left == []
