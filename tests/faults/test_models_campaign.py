"""A short campaign of `make faults-models`: every agent with every way to fail, once."""

import asyncio

from langchain_core.messages import AIMessage
from models_campaign import WRONG
from models_cases import AGENTS, all_cases, is_raw, judged, tally

from bathysphere.testing.frail import MODES


def test_every_failure_ends_in_an_answer_or_a_sentence():
    found = tally(all_cases([1]))
    assert found == {"cases": len(AGENTS) * len(MODES), **dict.fromkeys(WRONG, 0)}


def test_what_goes_wrong_would_be_counted():
    def counts(text, **state):
        return judged({"messages": [AIMessage(text)], **state}, [text], 1)

    assert counts("Done.") == dict.fromkeys(WRONG, 0)
    assert counts(" ")["silent"] == 1
    assert counts("Step 1:")["silent"] == 1
    assert counts('{"name": "ls", "arguments": {}}')["raw_calls_shown"] == 1
    stopped = {"run": "r", "by": {}, "stopped": {"limit": "model_calls", "max": 60}}
    assert counts("Stopped.", usage=stopped)["endless"] == 1
    assert not is_raw("Note: the model wrote this as a call of a tool, `x`. \n<tool_call>")


def test_a_case_is_the_same_every_time():
    from models_cases import play

    case = ("simple", "unknown_tool", 2)
    assert asyncio.run(play(case)) == asyncio.run(play(case))
