"""How much of a prompt llama.cpp has read: an event of the run, and no part of the answer."""

from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk
from langgraph.graph import END, START, StateGraph

from bathysphere.models.llamacpp_chat import ChatLlamaCpp, reading


def chunk(delta, **more):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": None}], **more}


def progress(read, total=2281, cached=0, ms=0):
    told = {"total": total, "cache": cached, "processed": read, "time_ms": ms}
    return chunk({"role": "assistant", "content": None}, prompt_progress=told)


def model():
    return ChatLlamaCpp(model="small", base_url="http://127.0.0.1:9/v1", api_key="none")


def converted(each):
    return model()._convert_chunk_to_generation_chunk(each, AIMessageChunk, {})


async def events_of(*chunks):
    """The custom events of a graph whose node reads these chunks."""

    async def node(state):
        return {"texts": [made.text for each in chunks if (made := converted(each))]}

    graph = StateGraph(dict[str, Any])
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    graph.add_edge("node", END)
    return [event async for event in graph.compile().astream({}, stream_mode="custom")]


async def test_each_report_is_an_event_and_none_is_a_part_of_the_answer():
    told = await events_of(progress(0), progress(512, ms=4000), chunk({"content": "Hi"}))
    assert [event["name"] for event in told] == ["prompt_progress", "prompt_progress"]
    assert told[0]["payload"] == {"read": 0, "total": 2281, "cached": 0, "seconds_left": None}
    assert told[1]["payload"]["seconds_left"] == pytest.approx(13.8)
    assert converted(progress(512)) is None
    assert converted(chunk({"content": "Hi"})).text == "Hi"


async def test_a_prompt_that_is_cached_or_short_is_not_worth_an_event():
    assert await events_of(progress(0, total=200), progress(2100, cached=2100)) == []


def test_outside_a_run_nobody_is_told_and_nothing_fails():
    assert converted(progress(0)) is None


def test_what_is_cached_does_not_count_for_the_speed():
    told = reading({"total": 300, "cache": 100, "processed": 200, "time_ms": 1000})
    assert told["seconds_left"] == 1.0
