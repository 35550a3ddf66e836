"""Clarify: the agent asks, the run waits, the answer is checked and comes back."""

import asyncio

import pytest
from jsonschema import Draft202012Validator
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import ValidationError

from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec
from bathysphere.middleware.clarify import ClarifyMiddleware
from bathysphere.testing import ScriptedChatModel, calls, says, together

OPTIONS = [{"id": "m", "label": "Monetary policy"}, {"id": "t", "label": "Trade"}]


@pytest.fixture(params=["sync", "async"])
def mode(request):
    return request.param


class Talk:
    """One thread with a person in it."""

    def __init__(self, mode, *script, max_questions=3):
        self.model = ScriptedChatModel(script=list(script))
        spec = AgentSpec(
            name="talk",
            model=self.model,
            middleware=(ClarifyMiddleware(max_questions=max_questions),),
        )
        self.graph, self.mode = build(spec, checkpointer=InMemorySaver()), mode

    def step(self, given):
        config = {"configurable": {"thread_id": "1"}}
        if self.mode == "sync":
            return self.graph.invoke(given, config)
        return asyncio.run(self.graph.ainvoke(given, config))

    def say(self, text="help me with my argument"):
        return self.step({"messages": [("user", text)]})

    def answer(self, state, *answers):
        asked = state["__interrupt__"]
        return self.step(Command(resume={i.id: a for i, a in zip(asked, answers, strict=True)}))


def results(state):
    return [m.text for m in state["messages"] if m.type == "tool"]


def test_a_question_pauses_the_run_and_the_answer_resumes_it(mode):
    talk = Talk(mode, calls("ask_user", question="About what?"), says("Good."))
    paused = talk.say()
    assert [i.value for i in paused["__interrupt__"]] == [
        {
            "type": "clarification_request",
            "tool": "ask_user",
            "tool_call_id": "call_1",
            "question": "About what?",
        }
    ]
    final = talk.answer(paused, {"response": "Sound money"})
    assert results(final) == ["Sound money"]
    talk.model.assert_done()


def test_choices_are_offered_and_chosen(mode):
    ask = calls("ask_choices", question="Which?", options=OPTIONS, allow_freeform=True)
    talk = Talk(mode, ask, says("Good."))
    paused = talk.say()
    value = paused["__interrupt__"][0].value
    assert value["options"] == OPTIONS
    assert (value["allow_multiple"], value["allow_freeform"]) == (False, True)
    final = talk.answer(paused, {"selected": ["t"], "freeform": "with China"})
    assert results(final) == ["The person chose: Trade\nThey added: with China"]


@pytest.mark.parametrize(
    "bad",
    [
        {"selected": ["x"]},
        {"selected": ["m", "t"]},
        {"selected": []},
        {"selected": ["m"], "freeform": "words"},
        {"response": "m"},
        "m",
    ],
)
def test_an_answer_that_was_not_offered_is_refused_and_can_be_given_again(mode, bad):
    talk = Talk(mode, calls("ask_choices", question="Which?", options=OPTIONS), says("Good."))
    paused = talk.say()
    with pytest.raises(ValidationError):
        talk.answer(paused, bad)
    assert results(talk.answer(paused, {"selected": ["m"]})) == [
        "The person chose: Monetary policy"
    ]


CHOICES = [
    ({}, {"selected": ["t"]}, {"selected": ["x"]}),
    ({}, {"selected": ["m"]}, {"selected": []}),
    ({}, {"selected": ["m"]}, {}),
    ({}, {"selected": ["m"]}, {"selected": ["m", "t"]}),
    ({"allow_multiple": True}, {"selected": ["m", "t"]}, {"selected": ["m", "m"]}),
    ({"allow_freeform": True}, {"selected": [], "freeform": "both"}, {"freeform": " "}),
]


@pytest.mark.parametrize(("allows", "good", "bad"), CHOICES)
def test_the_published_schema_refuses_what_the_tool_refuses(allows, good, bad):
    """A server has the JSON Schema only: what slips through it would fail the run."""
    ask = calls("ask_choices", question="Which?", options=OPTIONS, **allows)
    (question,) = Talk("sync", ask, says("Good.")).say()["__interrupt__"]
    schema = Draft202012Validator(question.response_schema)
    assert schema.is_valid(good)
    assert not schema.is_valid(bad)


def test_an_answer_of_nothing_but_space_is_none():
    (question,) = Talk("sync", calls("ask_user", question="What?")).say()["__interrupt__"]
    schema = Draft202012Validator(question.response_schema)
    assert [schema.is_valid({"response": text}) for text in ("a b", " ", "")] == [
        True,
        False,
        False,
    ]


def test_several_may_be_chosen_where_that_was_offered(mode):
    ask = calls("ask_choices", question="Which?", options=OPTIONS, allow_multiple=True)
    talk = Talk(mode, ask, says("Good."))
    final = talk.answer(talk.say(), {"selected": ["t", "m"]})
    assert results(final) == ["The person chose: Trade, Monetary policy"]


def test_options_must_differ(mode):
    ask = calls("ask_choices", question="Which?", options=[OPTIONS[0], OPTIONS[0]])
    final = Talk(mode, ask, says("I see.")).say()
    assert "option ids must be unique" in results(final)[0]


def test_two_questions_at_once_are_answered_in_any_order(mode):
    both = together(calls("ask_user", question="A?"), calls("ask_user", question="B?"))
    talk = Talk(mode, both, says("Good."))
    paused = talk.say()
    by_question = {i.value["question"]: i.id for i in paused["__interrupt__"]}
    waiting = talk.step(Command(resume={by_question["B?"]: {"response": "b"}}))
    assert [i.value["question"] for i in waiting["__interrupt__"]] == ["A?"]
    final = talk.answer(waiting, {"response": "a"})
    assert results(final) == ["a", "b"]


def test_the_model_is_told_how_often_it_may_ask_and_then_that_none_is_left(mode):
    three = [calls("ask_user", question=f"{n}?") for n in range(3)]
    talk = Talk(mode, *three, says("I assume so."), max_questions=2)
    state = talk.say()
    for n in range(2):
        state = talk.answer(state, {"response": str(n)})
    assert results(state)[-1].startswith("No questions are left in this run.")
    marks = [m.additional_kwargs.get("answer") for m in state["messages"] if m.type == "tool"]
    assert [mark is not None for mark in marks] == [True, True, False]
    assert (
        "at most 2 questions"
        in talk.graph.nodes["tools"].bound.tools_by_name["ask_user"].description
    )


def test_questions_of_one_message_count_too(mode):
    three = together(*(calls("ask_user", question=f"{n}?") for n in range(3)))
    talk = Talk(mode, three, says("ok"), max_questions=2)
    paused = talk.say()
    assert len(paused["__interrupt__"]) == 2
    final = talk.answer(paused, {"response": "a"}, {"response": "b"})
    assert results(final)[2].startswith("No questions are left")


def test_the_next_run_may_ask_again(mode):
    ask = calls("ask_user", question="?")
    talk = Talk(mode, ask, says("one"), ask, says("two"), max_questions=1)
    talk.answer(talk.say(), {"response": "a"})
    final = talk.answer(talk.say(), {"response": "b"})
    assert results(final) == ["a", "b"]
