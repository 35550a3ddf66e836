"""Circles end, silence is broken, and the model is told before."""

import pytest
from langchain_core.tools import tool
from trees import by_role, results, run, send_out, tree

from bathysphere.core.usage import Limits, total
from bathysphere.models.endings import ended_by
from bathysphere.testing import ScriptedChatModel, calls, says
from bathysphere.testing.scripted import Turn

CHINESE = "好的，我已经明白您的要求，现在就为您处理这个文件，请稍等片刻，谢谢。"


@tool
def look(what: str) -> str:
    """Look at something."""
    return f"saw {what}"


@tool
def fail(what: str) -> str:
    """Fail."""
    raise ValueError(what)


def corrections(state) -> dict:
    return dict(total(state["usage"]).corrections)


def test_the_second_time_the_model_is_told_and_the_third_ends_the_run(mode):
    model = ScriptedChatModel(answer=lambda _: calls("look", what="a"))
    state = run(tree(model, look), mode)
    assert results(state) == ["saw a", "saw a"]
    assert "You made this call before" not in model.requests[1][-1].text
    assert model.requests[2][-1].text.startswith("saw a\n\n[You made this call before")
    last = state["messages"][-1]
    assert last.text == (
        "Stopped: the model made the same calls again without a new result. "
        'Tried: `look` {"what": "a"} (2 times).'
    )
    assert ended_by(last) == "loops"
    assert corrections(state) == {"repeated_call": 1}
    assert len(model.requests) == 3


def test_a_model_that_listens_goes_on(mode):
    def answer(messages):
        told = "before" in messages[-1].text
        return says("It is a.") if told else calls("look", what="a")

    state = run(tree(ScriptedChatModel(answer=answer), look), mode)
    assert state["messages"][-1].text == "It is a."
    assert corrections(state) == {"repeated_call": 1}


def test_two_calls_in_alternation_end(mode):
    def answer(messages):
        return calls("look", what="ab"[len(messages) // 2 % 2])

    state = run(tree(ScriptedChatModel(answer=answer), look), mode)
    assert len(results(state)) == 4
    assert "Stopped" in state["messages"][-1].text
    assert "(2 times)" in state["messages"][-1].text


def test_a_plan_that_does_not_advance_ends(mode):
    def answer(messages):
        words = f"do it, version {len(messages)}"
        return calls("write_todos", todos=[{"content": words, "status": "pending"}])

    model = ScriptedChatModel(answer=answer)
    state = run(tree(model), mode)
    assert "The plan is no further" in model.requests[2][-1].text
    assert "without doing a step" in state["messages"][-1].text
    assert corrections(state) == {"stuck_plan": 1}
    assert len(model.requests) == 3


def test_calls_that_only_fail_end(mode):
    model = ScriptedChatModel(answer=lambda messages: calls("fail", what=str(len(messages))))
    state = run(tree(model, fail), mode)
    assert "8 steps in a row failed" in state["messages"][-1].text
    assert corrections(state) == {"failing_calls": 1}


def test_work_that_brings_something_new_goes_on(mode):
    steps = [calls("look", what=str(n // 2 if n % 2 else "a")) for n in range(40)]
    state = run(tree(ScriptedChatModel(script=[*steps, says("done")]), look), mode)
    assert state["messages"][-1].text == "done"


@pytest.mark.parametrize("silence", ["", " \n", "<think>Hm.</think>"])
def test_an_empty_answer_is_asked_for_again(mode, silence):
    model = ScriptedChatModel(script=[says(silence), says("Here I am.")])
    state = run(tree(model), mode)
    assert [m.text for m in state["messages"]] == ["go", "Here I am."]
    assert corrections(state) == {"empty_answer": 1}
    assert total(state["usage"]).model_calls == 2


def test_an_empty_answer_twice_is_said(mode):
    model = ScriptedChatModel(script=[calls("look", what="a"), says(""), says("")])
    state = run(tree(model, look), mode)
    assert state["messages"][-1].text == (
        'The model gave no answer, even when asked again. Tried: `look` {"what": "a"}.'
    )


def test_the_wrong_language_is_asked_for_again(mode):
    model = ScriptedChatModel(script=[says(CHINESE), says("Fine.")])
    state = run(tree(model), mode, text="What is in this folder?")
    assert state["messages"][-1].text == "Fine."
    assert "language of the person" in model.requests[1][-1].text
    assert corrections(state) == {"wrong_language": 1}


def test_what_is_still_in_another_language_is_shown_with_a_note(mode):
    model = ScriptedChatModel(script=[says(CHINESE), says(CHINESE)])
    last = run(tree(model), mode)["messages"][-1].text
    assert last == f"Note: the model did not answer in your language.\n\n{CHINESE}"


def test_an_announcement_is_no_answer(mode):
    model = ScriptedChatModel(
        script=[says("Let me look at it."), calls("look", what="a"), says("It is a.")]
    )
    state = run(tree(model, look), mode)
    assert "You made no call" in model.requests[1][-1].text
    assert [m.text for m in state["messages"]][1:] == ["", "saw a", "It is a."]
    assert corrections(state) == {"premature_end": 1}


def test_an_announcement_twice_has_a_note(mode):
    model = ScriptedChatModel(script=[says("Let me look at it."), says("Step 1:")])
    last = run(tree(model, look), mode)["messages"][-1].text
    assert last == (
        "Note: the model announced this and stopped. Nothing was done after it.\n\nStep 1:"
    )


def test_a_language_that_was_asked_for_is_right(mode):
    model = ScriptedChatModel(script=[says(CHINESE)])
    state = run(tree(model), mode, text="Translate it to Chinese.")
    assert state["messages"][-1].text == CHINESE


def test_a_subagent_in_a_circle_reports_it(mode):
    model = by_role(
        main=lambda n: says("back") if n else send_out("a"),
        worker=lambda _, __: calls("look", what="a"),
    )
    state = run(tree(model, look), mode)
    assert results(state)[0].startswith("Stopped: the model made the same calls again")
    assert state["messages"][-1].text == "back"
    assert corrections(state) == {"repeated_call": 1}


def test_a_call_in_text_can_be_a_circle(mode):
    model = ScriptedChatModel(answer=lambda _: says('{"name": "look", "arguments": {"what": "a"}}'))
    state = run(tree(model, look), mode)
    assert len(results(state)) == 2
    assert "Stopped" in state["messages"][-1].text


def test_asking_again_counts_against_the_limit(mode):
    model = ScriptedChatModel(answer=lambda _: says(""))
    state = run(tree(model, limits=Limits(model_calls=1)), mode)
    assert len(model.requests) == 1
    assert "limit of 1 model calls" in state["messages"][-1].text


def test_the_end_replaces_the_message_that_was_streamed(mode):
    model = ScriptedChatModel(answer=lambda _: Turn(calls=calls("look", what="a").calls, text="Hm"))
    state = run(tree(model, look), mode)
    ids = [m.id for m in state["messages"]]
    assert len(set(ids)) == len(ids)
    assert not state["messages"][-1].tool_calls
