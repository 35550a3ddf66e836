"""A talk with a graph that was not built here: whatever form its messages have, they are shown."""

import io

import pytest
from langchain_core.messages import AIMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from bathysphere.cli.talk.answers import Answers
from bathysphere.cli.talk.screen import Screen
from bathysphere.cli.talk.session import Session


def shown(*updates):
    """What the terminal shows for nodes that return these messages, one after the other."""
    graph = StateGraph(MessagesState)
    before = START
    for number, update in enumerate(updates):
        name = f"node_{number}"
        graph.add_node(name, lambda state, update=update: {"messages": update})
        graph.add_edge(before, name)
        before = name
    out = io.StringIO()
    screen = Screen(out=out, source=io.StringIO())
    answers = Answers(screen=screen, approve="none", unattended=True)
    graph = graph.compile(checkpointer=InMemorySaver())
    Session(graph=graph, screen=screen, answers=answers, has_map=False).once("Hello")
    return out.getvalue()


@pytest.mark.parametrize(
    "update",
    [
        {"role": "assistant", "content": "Ahoy there"},
        [{"role": "assistant", "content": "Ahoy there"}],
        [{"type": "ai", "content": "Ahoy there"}],
        ("ai", "Ahoy there"),
        [("assistant", "Ahoy there")],
        AIMessage("Ahoy there"),
        [AIMessage("Ahoy there")],
    ],
    ids=["dict", "list", "type", "pair", "pairs", "message", "messages"],
)
def test_an_answer_is_shown_once_in_every_form_that_langgraph_takes(update):
    assert shown(update).count("Ahoy there") == 1


def test_what_a_node_says_for_the_person_is_not_an_answer():
    text = shown({"role": "user", "content": "Between us"}, {"role": "assistant", "content": "Aye"})
    assert "Between us" not in text
    assert "Aye" in text


def test_a_tool_call_in_a_dict_is_shown():
    call = {"name": "dig", "args": {"deep": "3 m"}, "id": "c1", "type": "tool_call"}
    said = {"role": "assistant", "content": "", "tool_calls": [call]}
    done = {"role": "tool", "tool_call_id": "c1", "name": "dig", "content": "dug it"}
    text = shown([said], [done])
    assert "dig" in text
    assert "dug it" in text
