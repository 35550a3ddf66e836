"""The frail model fails in the way it is told, the same way for the same seed."""

import json

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool

from bathysphere.testing import FrailChatModel, ScriptError, calls, says
from bathysphere.testing.frail import MODES


@tool
def look(path: str, depth: int = 1) -> str:
    """Look at a path."""
    return path


@tool
def write_todos(todos: list[dict[str, str]]) -> str:
    """Write a plan."""
    return str(todos)


GOOD = calls("look", path="/notes", depth=2)
PLAN = {"objective": "Find it", "steps": [{"tool": "web_search"}]}


def said(mode, *, turn=GOOD, seed=1, messages=None):
    model = FrailChatModel(answer=lambda _: turn, modes=[mode], rate=1.0, seed=seed)
    return model.bind_tools([look, write_todos]).invoke(messages or [HumanMessage("Look.")])


def made(message):
    return [(call["name"], call["args"]) for call in message.tool_calls]


LOOKED = [
    HumanMessage("Look."),
    AIMessage("", tool_calls=[{"name": "look", "args": {"path": "/a"}, "id": "1"}]),
    ToolMessage("/a", tool_call_id="1"),
]


@pytest.mark.parametrize("seed", range(1, 9))
@pytest.mark.parametrize("mode", ["fenced", "tagged", "prose"])
def test_calls_come_as_text(mode, seed):
    message = said(mode, seed=seed)
    assert not message.tool_calls
    assert '"look"' in message.text
    assert '"/notes"' in message.text


def test_the_common_formats_of_local_models_are_among_them():
    texts = [said("tagged", seed=seed).text for seed in range(1, 20)]
    for mark in ("<tool_call>", "[TOOL_CALLS]", "<|python_tag|>"):
        assert any(text.startswith(mark) for text in texts)


def test_the_last_call_is_repeated():
    assert made(said("repeats", messages=LOOKED)) == [("look", {"path": "/a"})]
    assert made(said("repeats")) == [("look", {"path": "/notes", "depth": 2})]


def test_two_calls_alternate():
    first = made(said("alternating"))
    second = made(said("alternating", messages=LOOKED))
    assert [first[0][0], second[0][0]] == ["look", "write_todos"]


def test_a_plan_does_not_advance():
    plans = {json.dumps(made(said("stuck_plan", seed=seed))) for seed in range(1, 9)}
    assert len(plans) > 1
    assert all('"pending"' in plan and "completed" not in plan for plan in plans)


@pytest.mark.parametrize("mode", ["wrong_types", "forgotten_arguments"])
def test_arguments_do_not_fit(mode):
    found = [said(mode, seed=seed) for seed in range(1, 9)]
    native = [message for message in found if message.tool_calls]
    assert 0 < len(native) < len(found)  # some as text
    for message in native:
        with pytest.raises(ValueError, match="path"):
            look.invoke(message.tool_calls[0]["args"])


def test_a_tool_is_called_that_is_not_there():
    for seed in range(1, 9):
        message = said("unknown_tool", seed=seed)
        names = [name for name, _ in made(message)] or [message.text]
        assert "look" not in names[0]


def test_an_answer_is_empty_foreign_or_broken_off():
    assert not said("empty").text.strip()
    assert not said("wrong_language").text.isascii()
    assert not said("premature_end").tool_calls
    assert said("premature_end").text


@pytest.mark.parametrize("mode", MODES)
def test_json_answers_are_spoiled_too(mode):
    text = said(mode, turn=says(json.dumps(PLAN))).text
    assert text != json.dumps(PLAN)


def test_the_same_seed_fails_in_the_same_way():
    def run(seed):
        model = FrailChatModel(answer=lambda _: GOOD, rate=0.5, seed=seed)
        texts = [model.bind_tools([look]).invoke("Look.").model_dump_json() for _ in range(30)]
        return model.failures, [text.partition('"id"')[0] for text in texts]

    assert run(3) == run(3)
    assert run(3)[0] != run(4)[0]
    assert 5 < len(run(3)[0]) < 25
    assert len(set(run(3)[0])) > 4


def test_a_replaced_turn_is_still_to_come():
    model = FrailChatModel(script=[GOOD, says("Done.")], modes=["empty"], rate=0.5, seed=1)
    answers = []
    while "Done." not in answers:
        answers.append(model.bind_tools([look]).invoke("Look.").text)
    assert len(answers) > 2
    model.assert_done()
    with pytest.raises(ScriptError):
        model.invoke("More?")


def test_a_script_that_was_not_played_is_named():
    model = FrailChatModel(script=[says("Done.")], modes=["empty"], rate=1.0)
    model.invoke("Look.")
    with pytest.raises(ScriptError, match="1 of 1 turns"):
        model.assert_done()


def test_without_failures_it_is_a_scripted_model():
    model = FrailChatModel(script=[GOOD], rate=0)
    assert made(model.bind_tools([look]).invoke("Look.")) == [
        ("look", {"path": "/notes", "depth": 2})
    ]
    assert model.failures == []
