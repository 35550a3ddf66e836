"""Partial answers: what the person read of a stopped answer is saved in the thread.

LangGraph keeps nothing of a step that did not finish, so the text of a stopped model call would
exist only in the event log, and expire with it. It is written to the thread's messages as text,
under the id it was streamed with and marked as stopped: a client that has the streamed message
replaces it, and the next model call sees it. Incomplete tool calls and reasoning are left out;
providers reject both.
"""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START
from langgraph.types import StateSnapshot

from bathysphere.engine.graphs import Graph

MESSAGES = "messages"
STOPPED = {"stopped": True}
"""The `response_metadata` of a stopped answer."""
SPEAKERS = ("model", "agent")
"""Nodes whose model calls answer the person; those of other nodes are internal."""
_INTERNAL = "lc_source"  # names middleware that calls a model for its own use, as to summarize


class PartialAnswer:
    """The main agent's answer, as far as it was streamed."""

    def __init__(self) -> None:
        self.messages: list[Any] | None = None
        """The thread's messages after the last finished step; None if they are not known."""
        self._id: str | None = None
        self._texts: list[str] = []

    def process(self, part: Mapping[str, Any]) -> None:
        """Process one part of the run's stream."""
        if part["ns"]:
            return
        if part["type"] == "updates":
            self._id, self._texts = None, []  # the step is over: its messages are in the state
        elif part["type"] == "values":
            values = part["data"]
            self.messages = values.get(MESSAGES) if isinstance(values, Mapping) else None
        elif part["type"] == "messages":
            message, metadata = part["data"]
            is_answer = metadata.get("langgraph_node") in SPEAKERS and _INTERNAL not in metadata
            if is_answer and isinstance(message, AIMessageChunk):
                self._add(message)

    def _add(self, chunk: AIMessageChunk) -> None:
        if chunk.id != self._id:  # a retry of the same call starts over
            self._id, self._texts = chunk.id, []
        self._texts.append(str(chunk.text))

    def message(self) -> AIMessage | None:
        """Return the answer so far; None if none is being written."""
        text = "".join(self._texts)
        if self._id is None or not text.strip():
            return None
        return AIMessage(text, id=self._id, response_metadata=dict(STOPPED))


async def save_answer(
    graph: Graph, config: RunnableConfig, answer: AIMessage, *, run_id: UUID
) -> None:
    """Write a stopped answer to the thread, at most once.

    Does nothing if the thread has moved on, or if its step has open questions: a write would close
    them.
    """
    if MESSAGES not in graph.channels:
        return
    state = await graph.aget_state(config)
    if (state.metadata or {}).get("run_id") != str(run_id) or state.interrupts:
        return
    if state.tasks and not _has_answer(state, answer):
        # Keep what finished in parallel, which may include the complete answer.
        await graph.aupdate_state(config, None, as_node=END)
        state = await graph.aget_state(config)
    if not _has_answer(state, answer):
        await graph.aupdate_state(config, {MESSAGES: [answer]}, as_node=START)


def _has_answer(state: StateSnapshot, answer: AIMessage) -> bool:
    messages = state.values.get(MESSAGES) or []
    return any(getattr(message, "id", None) == answer.id for message in messages)
