"""The state every agent of the harness has, main and sub."""

from typing import Annotated, Required

from deepagents._messages_reducer import _messages_delta_reducer
from deepagents.graph import DeepAgentState
from langchain_core.messages import AnyMessage
from langgraph.channels.delta import DeltaChannel

SNAPSHOT_EVERY = 50
"""Steps between full copies of the history. A checkpoint in between stores only what is new."""


class HarnessState(DeepAgentState):
    """Messages as a delta channel: a thread's checkpoints do not grow with the square of its steps.

    A subclass adds fields that the main agent and its subagents share.
    """

    messages: Required[
        Annotated[
            list[AnyMessage],
            DeltaChannel(_messages_delta_reducer, snapshot_frequency=SNAPSHOT_EVERY),
        ]
    ]
