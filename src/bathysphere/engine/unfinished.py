"""What an unfinished subagent had been given, told to the agent that sent it out.

A new message ends a step (`closing`). A subagent with a question that nobody answered ends with it,
and what the person had answered it, or let it do, would be known to nobody. So the call that sent
it out gets a result that says so.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.types import Interrupt, PregelTask

from bathysphere.engine.lineage import tool_call_of

STOPPED = (
    "Stopped before it was done: the person wrote a new message instead of answering everything it"
    " had asked. What it had got by then:"
)
MAX_CHARACTERS = 2_000
_SENT = "__pregel_tasks"  # LangGraph's channel of what a step was asked to do, one entry a task
_ASKED = "__interrupt__"


async def left_behind(
    saver: BaseCheckpointSaver[str], config: RunnableConfig, tasks: Iterable[PregelTask]
) -> list[ToolMessage]:
    """Results for the calls of a step's unfinished tasks whose subagents were answered in part."""
    step = await saver.aget_tuple(config)
    if step is None:
        return []
    told = []
    for task in tasks:
        call = _call(step, task)
        place = f"{task.name}:{task.id}"
        nested = await saver.aget_tuple(_at(config, place)) if call is not None else None
        lines = list(_lines(nested)) if nested is not None else []
        if call is not None and lines:
            text = "\n".join([STOPPED, *lines])
            name, call_id = call["name"], call["id"]
            told.append(ToolMessage(text, name=name, tool_call_id=call_id, status="error"))
    return told


def _call(step: CheckpointTuple, task: PregelTask) -> Mapping[str, Any] | None:
    """The tool call that a task was made for."""
    sent = step.checkpoint["channel_values"].get(_SENT) or []
    place = task.path[1] if len(task.path) > 1 else None
    if not isinstance(place, int) or place >= len(sent):
        return None
    return tool_call_of(sent[place].arg)


def _at(config: RunnableConfig, place: str) -> RunnableConfig:
    thread = config["configurable"]["thread_id"]
    return {"configurable": {"thread_id": thread, "checkpoint_ns": place}}


def _lines(nested: CheckpointTuple) -> Iterator[str]:
    """What was asked in the subagent's last step and has a result."""
    asked: dict[str, Any] = {}
    results: dict[str, ToolMessage] = {}
    for task, channel, value in nested.pending_writes or []:
        first = value[0] if isinstance(value, list) and value else value
        if channel == _ASKED and isinstance(first, Interrupt):
            asked[task] = first.value
        elif channel == "messages" and isinstance(first, ToolMessage):
            results[task] = first
    for task, message in results.items():
        if task in asked:
            yield f"- {_short(_asked(asked[task]))}: {_short(message.text)}"


def _asked(value: Any) -> str:
    if not isinstance(value, dict):
        return str(value)
    if "question" in value:
        return str(value["question"])
    call = value.get("tool_call", value)
    return f"{call.get('name')} {json.dumps(call.get('args'), ensure_ascii=False)}"


def _short(text: str) -> str:
    return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}…"
