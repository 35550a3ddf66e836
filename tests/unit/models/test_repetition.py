"""What counts as a circle, and what is only a second look."""

import inspect

import pytest
from langchain.agents.middleware import human_in_the_loop
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from bathysphere.middleware.file_approvals import middleware as file_approvals
from bathysphere.middleware.flow import middleware as flow_middleware
from bathysphere.models.repetition import (
    REFUSALS,
    failing_steps,
    has_news,
    is_circle,
    stale_steps,
    steps_of,
)


def history(*made):
    """The steps of a turn: each is (name, args, result), or a list of those for one message."""
    messages = turn(*made)
    steps = steps_of(messages)
    if has_news(messages):  # the short way and the long one agree
        assert not stale_steps(steps)
        assert not failing_steps(steps)
    return steps


def turn(*made):
    messages = [HumanMessage("go")]
    for number, step in enumerate(made):
        calls = step if isinstance(step, list) else [step]
        ids = [f"{number}-{at}" for at in range(len(calls))]
        messages.append(
            AIMessage(
                "",
                tool_calls=[
                    {"name": n, "args": a, "id": i}
                    for (n, a, *_), i in zip(calls, ids, strict=True)
                ],
            )
        )
        for (_, _, result, *status), call_id in zip(calls, ids, strict=True):
            messages.append(
                ToolMessage(result, tool_call_id=call_id, status=(status or ["success"])[0])
            )
    return messages


A, B = ("ls", {"path": "/"}, "a.md"), ("ls", {"path": "/b"}, "b.md")


def call(made):
    return {"name": made[0], "args": made[1]}


def plan(*statuses, words="x"):
    todos = [{"content": words, "status": status} for status in statuses]
    return ("write_todos", {"todos": todos}, f"Updated {words} {statuses}")


def test_the_third_time_is_a_circle():
    assert not is_circle(history(A), [call(A)])
    assert stale_steps(history(A, A)) == 1
    assert is_circle(history(A, A), [call(A)])


def test_two_calls_in_alternation_are_a_circle():
    assert not is_circle(history(A, B, A), [call(B)])
    assert stale_steps(history(A, B, A, B)) == 2
    assert is_circle(history(A, B, A, B), [call(A)])


def test_something_new_is_no_circle():
    assert not is_circle(history(A, A), [call(B)])
    assert not is_circle(history(A, A), [call(A), call(B)])
    assert not is_circle(history(A, A, B), [call(A)])
    changed = ("ls", {"path": "/"}, "a.md, c.md")
    assert stale_steps(history(A, changed)) == 0
    assert not is_circle(history(A, A, changed), [call(A)])


def test_several_calls_in_one_message_are_stale_together():
    assert stale_steps(history([A, B], [A, B])) == 1
    assert stale_steps(history([A], [A, B])) == 0


def test_a_plan_must_advance():
    assert stale_steps(history(plan("pending"), plan("pending", words="y"))) == 1
    assert stale_steps(history(plan("pending"), plan("in_progress"))) == 0
    stuck = history(plan("pending"), plan("pending", words="y"))
    assert is_circle(stuck, [call(plan("pending", words="z"))])
    assert not is_circle(stuck, [call(plan("completed"))])
    assert stale_steps(history(plan("pending"), A, plan("pending", words="y"))) == 0


def test_a_new_message_of_the_person_starts_over():
    messages = [
        HumanMessage("go"),
        *[
            m
            for n in range(2)
            for m in (
                AIMessage("", tool_calls=[{"name": "ls", "args": {}, "id": str(n)}]),
                ToolMessage("a", tool_call_id=str(n)),
            )
        ],
    ]
    assert stale_steps(steps_of(messages)) == 1
    assert steps_of([*messages, HumanMessage("again")]) == []


def test_steps_that_fail_are_counted_from_the_end():
    failed = [("ls", {"path": str(n)}, f"no {n}", "error") for n in range(3)]
    assert failing_steps(history(A, *failed)) == 3
    assert failing_steps(history(*failed, A)) == 0
    assert failing_steps([]) == 0


def test_a_long_history_is_not_read_whole():
    long = history(*[("ls", {"path": str(n)}, "x") for n in range(500)])
    assert len(long) <= 20


def test_news_is_told_without_the_steps():
    failed = ("ls", {"path": "/x"}, "no", "error")
    assert has_news(turn(A))
    assert has_news(turn(A, A, B))
    assert has_news(turn(A, [A, B]))
    assert not has_news(turn(A, A))
    assert not has_news(turn(A, B, A))
    assert not has_news(turn(A, failed))
    assert not has_news(turn(plan("pending")))
    assert not has_news([HumanMessage("go")])


@pytest.mark.parametrize(
    "words",
    [
        flow_middleware.REFUSED.format(name="send"),
        file_approvals.REJECTED.format(name="edit_file", path="/a.md", reason=""),
        "User rejected the tool call for `send` with reason: no",
    ],
)
def test_calls_that_were_refused_are_no_circle_and_no_failures(words):
    refused = ("send", {"to": "x"}, words, "error")
    assert history(*[refused] * 9) == []
    assert not is_circle(history(*[refused] * 9), [call(refused)])
    assert is_circle(history(A, refused, A, refused), [call(A)])


def test_langchain_says_it_in_these_words():
    assert REFUSALS[0] in inspect.getsource(human_in_the_loop)
