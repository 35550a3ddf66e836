"""Hand the results of an unfinished subagent to the agent that started it.

A new message closes a step (`interrupted_steps`). A subagent with an unanswered question ends with
it, and what the person had answered or approved would be lost. So the call that started it gets a
result that lists this.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.types import Interrupt, PregelTask

from bathysphere.engine.events.lineage import tool_call_of
from bathysphere.middleware.turn import UNFINISHED
from bathysphere.upstream import INTERRUPT, TASKS

STOPPED = (
    "Stopped before it was done: the person sent a new message instead of answering everything it"
    " had asked. Its results so far:"
)
MAX_CHARACTERS = 2_000


async def handoff_messages(
    saver: BaseCheckpointSaver[str], config: RunnableConfig, tasks: Iterable[PregelTask]
) -> list[ToolMessage]:
    """Results for the calls of a step's unfinished tasks whose subagents were partly answered."""
    step = await saver.aget_tuple(config)
    if step is None:
        return []
    messages = []
    for task in tasks:
        call = _call(step, task)
        place = f"{task.name}:{task.id}"
        nested = await saver.aget_tuple(_nested_config(config, place)) if call is not None else None
        lines = list(_lines(nested)) if nested is not None else []
        if call is not None and lines:
            text = "\n".join([STOPPED, *lines])
            name, call_id = call["name"], call["id"]
            result = ToolMessage(text, name=name, tool_call_id=call_id, status="error")
            result.additional_kwargs[UNFINISHED] = True
            messages.append(result)
    return messages


def _call(step: CheckpointTuple, task: PregelTask) -> Mapping[str, Any] | None:
    """The tool call that a task was created for."""
    sent = step.checkpoint["channel_values"].get(TASKS) or []
    place = task.path[1] if len(task.path) > 1 else None
    if not isinstance(place, int) or place >= len(sent):
        return None
    return tool_call_of(sent[place].arg)


def _nested_config(config: RunnableConfig, place: str) -> RunnableConfig:
    thread = config["configurable"]["thread_id"]
    return {"configurable": {"thread_id": thread, "checkpoint_ns": place}}


def _lines(nested: CheckpointTuple) -> Iterator[str]:
    """One line per question of the subagent's last step that has a result."""
    questions: dict[str, Any] = {}
    results: dict[str, ToolMessage] = {}
    for task, channel, value in nested.pending_writes or []:
        first = value[0] if isinstance(value, list) and value else value
        if channel == INTERRUPT and isinstance(first, Interrupt):
            questions[task] = first.value
        elif channel == "messages" and isinstance(first, ToolMessage):
            results[task] = first
    for task, message in results.items():
        if task in questions:
            yield f"- {_truncate(_describe(questions[task]))}: {_truncate(message.text)}"


def _describe(value: Any) -> str:
    if not isinstance(value, dict):
        return str(value)
    if "question" in value:
        return str(value["question"])
    call = value.get("tool_call", value)
    return f"{call.get('name')} {json.dumps(call.get('args'), ensure_ascii=False)}"


def _truncate(text: str) -> str:
    return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}…"
