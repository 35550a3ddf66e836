"""Keeping the context small: eviction, summaries, repaired history, prompt caching, checkpoints."""

import pytest
from langchain_anthropic import ChatAnthropic
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool

from bathysphere.harness.spec import SubagentSpec
from bathysphere.testing import ScriptedChatModel, calls, says

LARGE = 80_000
"""Characters (20,000 tokens) from which a tool result goes to a file."""


@tool
def report(size: int) -> str:
    """Make a text of a size."""
    row = "x" * 99 + "\n"
    return (row * (size // 100 + 1))[:size]


# ── large results ──


def test_a_result_over_80000_characters_goes_to_a_file_and_the_model_sees_both_ends(run):
    ran = run(
        calls("report", {"size": LARGE + 1}, id="r1"),
        calls("read_file", file_path="/large_tool_results/r1", limit=1),
        tools=(report,),
    )
    assert "saved in the filesystem at this path: /large_tool_results/r1" in ran.texts[0]
    assert "lines truncated" in ran.texts[0]
    assert len(ran.texts[0]) < 10_000
    assert len(ran.files["/large_tool_results/r1"]) == LARGE + 1
    assert ran.texts[1].startswith("@@ lines 1-1 of 801 | next offset 1 @@\nxxx")


def test_a_result_of_80000_characters_stays_where_it_is(run):
    ran = run(calls("report", size=LARGE), tools=(report,))
    assert len(ran.texts[0]) == LARGE
    assert not ran.files


def test_a_subagent_large_result_is_evicted_too(run):
    helper = ScriptedChatModel(script=[calls("report", {"size": LARGE * 2}, id="r1"), says("Ok.")])
    ran = run(
        calls("task", description="Report.", subagent_type="helper"),
        subagents=(SubagentSpec(name="helper", description="Helps.", model=helper),),
        tools=(report,),
    )
    assert "/large_tool_results/r1" in helper.requests[1][-1].text
    assert "/large_tool_results/r1" in ran.files


# ── summaries ──


def history(messages: int, characters: int) -> list:
    kinds = [HumanMessage, AIMessage]
    return [kinds[i % 2](f"{i} " + "w" * characters) for i in range(messages)]


def test_from_170000_tokens_old_messages_become_a_summary_and_six_stay(talk):
    agent = talk(says("They spoke of w."))
    state = agent.send({"messages": [*history(8, 100_000), HumanMessage("And now?")]})
    summarise, answer = agent.model.requests
    assert summarise[-1].text.count("w" * 100_000) == 3  # nine messages, the last six stay
    kept = [m for m in answer if m.type != "system"]
    assert "They spoke of w." in kept[0].text
    assert [m.text[:4] for m in kept[1:]] == ["3 ww", "4 ww", "5 ww", "6 ww", "7 ww", "And "]
    assert len(state["messages"]) == 10  # what was said is not lost from state
    agent.done()


def test_below_170000_tokens_the_history_is_sent_as_it_is(talk):
    agent = talk()
    agent.send({"messages": [*history(6, 100_000), HumanMessage("And now?")]})
    assert len(agent.model.requests) == 1
    assert len(agent.model.requests[0]) == 8


def test_the_summarised_history_is_kept_in_a_file_the_agent_can_read(talk):
    agent = talk(says("They spoke of w."))
    state = agent.send({"messages": [*history(8, 100_000), HumanMessage("And now?")]})
    [path] = state["files"]
    assert path.startswith("/conversation_history/session_")
    assert "w" * 100_000 in state["files"][path]["content"]
    assert path in agent.model.requests[1][1].text


def test_a_model_that_knows_its_window_is_summarised_at_85_percent_of_it(talk):
    model = ScriptedChatModel(
        script=[says("Brief."), says("Done.")], profile={"max_input_tokens": 40_000}
    )
    agent = talk(model=model)
    agent.send({"messages": [*history(8, 20_000), HumanMessage("And now?")]})
    assert len(model.requests) == 2
    assert "Brief." in model.requests[1][1].text


def test_the_summary_model_of_a_spec_writes_the_summary(talk):
    summary_model = ScriptedChatModel(script=[says("Brief.")])
    agent = talk(summary_model=summary_model)
    agent.send({"messages": [*history(8, 100_000), HumanMessage("And now?")]})
    summary_model.assert_done()
    agent.done()


# ── repaired history ──


def test_a_tool_call_left_open_by_an_earlier_run_is_answered(talk):
    agent = talk()
    open_call = AIMessage("", tool_calls=[{"name": "ls", "args": {"path": "/"}, "id": "c1"}])
    state = agent.send({"messages": [HumanMessage("a"), open_call, HumanMessage("b")]})
    asked = agent.model.requests[0]
    assert [m.type for m in asked] == ["system", "human", "ai", "tool", "human"]
    assert asked[3].tool_call_id == "c1"
    assert "did not complete" in asked[3].text
    assert state["messages"][-1].text == "Done."


# ── prompt caching ──


class Recorder(ChatAnthropic):
    """The real Anthropic client up to the wire; it remembers what it would have sent."""

    sent: list

    def _answer(self, messages, kwargs):
        self.sent.append(self._get_request_payload(messages, **kwargs))
        return ChatResult(generations=[ChatGeneration(message=AIMessage("Done."))])

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        return self._answer(messages, kwargs)

    async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
        return self._answer(messages, kwargs)


def test_an_anthropic_model_is_told_what_it_may_cache(talk):
    model = Recorder(model="claude-sonnet-4-6", api_key="none", sent=[])
    talk(model=model, prompt="You are careful.").send()
    assert "'cache_control': {'type': 'ephemeral'" in str(model.sent[0])


def test_an_anthropic_subagent_is_told_too(run):
    model = Recorder(model="claude-sonnet-4-6", api_key="none", sent=[])
    run(calls("task", description="Go.", subagent_type="general-purpose"), subagent_model=model)
    assert "'cache_control': {'type': 'ephemeral'" in str(model.sent[0])


def test_prompt_caching_leaves_other_models_alone(run):
    assert "cache_control" not in str(run().model.requests)


# ── checkpoints ──


def stored_bytes(saver) -> int:
    blobs = sum(len(value[1]) for value in saver.blobs.values())
    writes = sum(len(w[2][1]) for at in saver.writes.values() for w in at.values())
    return blobs + writes


@pytest.mark.parametrize("where", ["main", "subagent"])
def test_what_a_thread_stores_does_not_grow_with_the_square_of_its_steps(talk, where):
    steps, size = 40, 2_000
    turns = [calls("report", size=size + n) for n in range(steps)]
    if where == "subagent":
        task = calls("task", description="Report.", subagent_type="general-purpose")
        turns = [task, *turns, says("Reported.")]
    agent = talk(*turns, tools=(report,))
    agent.send()
    agent.done()
    assert stored_bytes(agent.saver) < 4 * steps * size  # plain create_agent stores 55 times


def test_a_thread_goes_on_from_its_checkpoint(talk):
    agent = talk(says("Hello."))
    agent.send("Hi, I am Ada.")
    agent.send("Who am I?")
    assert [m.text for m in agent.model.requests[1]][1:] == ["Hi, I am Ada.", "Hello.", "Who am I?"]
