"""The state every agent of the harness has, main and sub."""

from collections.abc import Sequence
from typing import Annotated, Any, Required

from deepagents._messages_reducer import _messages_delta_reducer
from deepagents.graph import DeepAgentState
from langchain_core.messages import AnyMessage, BaseMessage, RemoveMessage
from langgraph.channels.delta import DeltaChannel

SNAPSHOT_EVERY = 50
"""Steps between full copies of the history. A checkpoint in between stores only what is new."""


def merge_messages(messages: list[AnyMessage] | None, writes: Sequence[Any]) -> list[AnyMessage]:
    """The reducer of deepagents, with a short way for what nearly every step does: append."""
    known = messages or []
    new = [m for write in writes for m in (write if isinstance(write, list) else [write])]
    if all(isinstance(m, BaseMessage) and not isinstance(m, RemoveMessage) for m in new):
        ids = {m.id for m in known if isinstance(m, BaseMessage) and m.id is not None}
        fresh = [m.id for m in new if m.id is not None]
        if len(ids) == len(known) and len(ids | set(fresh)) == len(ids) + len(new):
            return [*known, *new]
    return _messages_delta_reducer(messages, list(writes))


class HarnessState(DeepAgentState):
    """Messages as a delta channel: a thread's checkpoints do not grow with the square of its steps.

    A subclass adds fields that the main agent and its subagents share.
    """

    messages: Required[
        Annotated[list[AnyMessage], DeltaChannel(merge_messages, snapshot_frequency=SNAPSHOT_EVERY)]
    ]
