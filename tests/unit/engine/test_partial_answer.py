"""Which of a run's streamed words are the answer that a person reads."""

from typing import Any

from langchain_core.messages import AIMessageChunk, HumanMessage, ToolMessage

from bathysphere.engine.checkpoints.partial_answer import PartialAnswer


def words(text: Any, *, id: str = "a", ns: tuple[str, ...] = (), **about: Any) -> dict[str, Any]:
    chunk = AIMessageChunk(content=text, id=id)
    return {"type": "messages", "ns": ns, "data": (chunk, {"langgraph_node": "model", **about})}


def seen(*parts: dict[str, Any]) -> Any:
    answer = PartialAnswer()
    for part in parts:
        answer.process(part)
    return answer.message()


def test_the_words_so_far_are_one_message_under_the_streamed_id():
    message = seen(words("The "), words("reef"))
    assert (message.id, message.content) == ("a", "The reef")
    assert message.response_metadata == {"stopped": True}


def test_text_blocks_are_kept_and_thoughts_and_calls_are_not():
    message = seen(
        words([{"type": "reasoning", "reasoning": "hmm", "index": 0}]),
        words([{"type": "text", "text": "The reef", "index": 1}]),
        words([{"type": "tool_call_chunk", "name": "sound", "args": "{", "id": "c", "index": 2}]),
    )
    assert message.content == "The reef"
    assert not message.tool_calls


def test_a_retried_call_starts_over():
    message = seen(words("The r", id="a"), words("A wreck", id="b"))
    assert (message.id, message.content) == ("b", "A wreck")


def test_a_step_that_is_over_leaves_nothing_to_keep():
    assert seen(words("The reef"), {"type": "updates", "ns": (), "data": {"model": {}}}) is None


def test_a_step_of_a_subagent_does_not_end_the_answer():
    update = {"type": "updates", "ns": ("tools:1",), "data": {"model": {}}}
    assert seen(words("The reef"), update).content == "The reef"


def test_what_is_not_the_main_agents_answer_is_not_kept():
    assert seen(words("x", ns=("tools:1",))) is None
    assert seen(words("x", lc_source="summarization")) is None
    assert seen(words("x", langgraph_node="thinker")) is None
    for message in (HumanMessage("x", id="a"), ToolMessage("x", tool_call_id="c")):
        whole = {"type": "messages", "ns": (), "data": (message, {"langgraph_node": "model"})}
        assert seen(whole) is None


def test_an_answer_without_words_is_none():
    assert seen() is None
    assert seen(words(" \n")) is None
