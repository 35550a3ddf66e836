"""A step in JSON: its schema, how it is read whole, cut off and in pieces, and earlier steps."""

import json

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from pydantic import BaseModel, Field

from bathysphere.models.constrained_calls import (
    Step,
    Words,
    functions_of,
    must_call,
    read_step,
    step_schema,
    written,
)


class Todo(BaseModel):
    text: str = Field(max_length=50_000, pattern="a.*")
    state: str = "open"


@tool
def look(what: str, times: int = 1) -> str:
    """Look at something."""
    return what * times


@tool
def plan(todos: list[Todo]) -> str:
    """Write a plan."""
    return str(todos)


FOREIGN = {
    "type": "function",
    "function": {
        "name": "grow",
        "parameters": {
            "type": "object",
            "properties": {
                "tree": {"$ref": "#/$defs/Node"},
                "mode": {"enum": ["a", "b"]},
                "extra": {"type": "object", "additionalProperties": {"type": "string"}},
                "anything": {"description": "what you like"},
                "maybe": {"oneOf": [{"type": "string", "format": "date"}, {"type": "null"}]},
            },
            "required": ["tree"],
            "$defs": {
                "Node": {
                    "type": "object",
                    "properties": {
                        "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}
                    },
                }
            },
        },
    },
}
PROVIDERS = {"type": "web_search_20250305", "name": "web_search"}
TOOLS = (look, plan, FOREIGN)


def schema(*tools, choice=None):
    functions = functions_of(tools or TOOLS, choice)
    return step_schema(functions, words=not must_call(choice))


def fits(value, *tools, choice=None):
    return jsonschema.Draft202012Validator(schema(*tools, choice=choice)).is_valid(value)


def call(name, **arguments):
    return {"next": {"tool": name, "arguments": arguments}}


# ── the schema ──


def test_words_and_valid_calls_fit_and_nothing_else():
    assert fits({"next": {"answer": "Hello."}})
    assert fits(call("look", what="fish"))
    assert fits(call("look", what="fish", times=2))
    assert fits(call("plan", todos=[{"text": "b", "state": "done"}]))
    for value in (
        {},
        {"answer": "Hello."},
        {"next": {"answer": "Hello.", "tool": "look"}},
        call("browse", url="x"),
        call("look"),
        call("look", what=1),
        call("look", what="fish", where="sea"),
        call("plan", todos=[{"state": "done"}]),
        {"next": {"tool": "look"}},
    ):
        assert not fits(value), value


def test_a_schema_has_only_keywords_that_every_server_knows():
    text = json.dumps(schema())
    for keyword in ("$ref", "$defs", "pattern", "maxLength", "oneOf", '"format"', '"default"'):
        assert keyword not in text
    assert fits(call("grow", tree={"children": [{"children": []}]}, mode="a", maybe=None))
    assert fits(call("grow", tree={}, extra={"a": "b"}, anything=[1]))
    assert not fits(call("grow", tree={}, extra={"a": 1}))
    assert not fits(call("grow", tree={}, mode="c"))
    assert len(text) < 3_000  # the cycle ends


@pytest.mark.parametrize("choice", ["any", "required", True])
def test_a_forced_choice_leaves_no_room_for_words(choice):
    assert not fits({"next": {"answer": "Hello."}}, choice=choice)
    assert fits(call("look", what="fish"), choice=choice)


@pytest.mark.parametrize(
    "choice", ["look", {"type": "function", "function": {"name": "look"}}, {"name": "look"}]
)
def test_a_forced_tool_is_the_only_one(choice):
    assert fits(call("look", what="fish"), choice=choice)
    assert not fits(call("plan", todos=[]), choice=choice)
    assert not fits({"next": {"answer": "Hello."}}, choice=choice)


def test_tools_that_the_provider_runs_cannot_be_constrained():
    assert functions_of([look, PROVIDERS]) == []
    assert functions_of([]) == []


# ── reading ──


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
arguments = st.dictionaries(st.text(), json_values, max_size=4)
dumps = st.sampled_from([{}, {"ensure_ascii": False}, {"indent": 2}, {"separators": (",", ":")}])


@given(arguments, dumps)
def test_a_call_is_read_whole_or_as_cut_off_and_never_as_another(args, how):
    text = json.dumps(call("look", **args), **how)
    whole = Step(tool="look", arguments=args)
    assert read_step(text) == whole
    for end in range(len(text)):
        read = read_step(text[:end])
        assert read in (None, Step(tool="look"), whole), text[:end]


@given(st.text(), dumps, st.data())
def test_words_are_the_same_in_pieces_as_whole_and_a_beginning_if_cut_off(words, how, data):
    text = json.dumps({"next": {"answer": words}}, **how)
    assert read_step(text) == Step(words=words)
    reader, start, pieces = Words(), 0, []
    while start < len(text):
        size = data.draw(st.integers(1, 5))
        pieces.append(reader.feed(text[start : start + size]))
        start += size
    assert "".join(pieces) == words
    cut = read_step(text[: data.draw(st.integers(0, len(text)))])
    assert cut is None or words.startswith(cut.words)


@pytest.mark.parametrize(
    "text",
    ["Hello.", "", "{", "[1]", '{"name": "look"}', '{"next": 7}', '{"next": {"answer": 7}}'],
)
def test_other_text_is_no_step(text):
    assert read_step(text) is None


def test_thoughts_before_a_step_and_a_missing_wrapper_do_no_harm():
    assert read_step('<think>{"x"</think>{"next": {"answer": "Hi"}}') == Step(words="Hi")
    assert read_step('{"answer": "Hi"}') == Step(words="Hi")


def test_half_of_a_surrogate_pair_reaches_no_store():
    assert read_step(r'{"next": {"answer": "a\udc00"}}') == Step(words="a?")
    assert read_step(r'{"next": {"tool": "look", "arguments": {"what": "\ud800"}}}') == Step(
        tool="look", arguments={"what": "?"}
    )


# ── earlier steps ──


def test_earlier_steps_are_written_as_the_model_writes_them():
    args = {"what": "fish"}
    calls = [{"name": "look", "args": args, "id": str(n)} for n in range(2)]
    image = {"type": "image_url", "image_url": {"url": "data:,"}}
    messages = [
        HumanMessage("go"),
        AIMessage("I look.", tool_calls=calls, additional_kwargs={"tool_calls": [{}]}),
        ToolMessage("saw fish", tool_call_id="0", name="look"),
        ToolMessage("too deep", tool_call_id="1", status="error"),
        AIMessage("A fish."),
        HumanMessage("again"),
        AIMessage("", tool_calls=calls[:1]),
        ToolMessage([image], tool_call_id="0"),
        AIMessage('{"name": "look", "arguments": {"what": 1}}'),
        HumanMessage("That does not fit."),
    ]
    made = written(messages)
    assert [m.type for m in made] == ["human", "ai", "human", "ai", "human", "ai", "human", "ai",
                                      "human"]  # fmt: skip
    lines = [json.loads(line) for line in made[1].text.splitlines()]
    assert lines == [{"next": {"answer": "I look."}}, call("look", **args), call("look", **args)]
    assert not made[1].tool_calls
    assert not made[1].additional_kwargs
    assert made[2].text == "Result of `look`:\nsaw fish\n`look` failed:\ntoo deep"
    assert json.loads(made[3].text) == {"next": {"answer": "A fish."}}
    assert made[6].content == [{"type": "text", "text": "Result of `look`:"}, image]
    assert json.loads(made[7].text) == call("look", what=1)
