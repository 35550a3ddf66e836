"""Turn: setup at the start of a run, when the person sends a message.

Assigns the run id, by which the agents of the tree share data, and answers tool calls that a
cancelled run left open, like deepagents' `PatchToolCallsMiddleware`, which it replaces. A run keeps
its id across pauses; a subagent has its parent's.

A result that only closes such a call is marked `UNFINISHED` in its `additional_kwargs`, so that a
client can distinguish failed calls from abandoned ones.

Order: core of the stack, before anything that counts. State: `run_id`.
"""

from collections.abc import Iterable
from typing import Any, NotRequired

from deepagents.middleware.patch_tool_calls import PatchToolCallsMiddleware
from langchain.agents import AgentState
from langchain_core.messages import AnyMessage, ToolMessage
from langgraph.runtime import Runtime

from bathysphere.core.ids import new_id
from bathysphere.core.writers import ByEngine

UNFINISHED = "unfinished"


class TurnState(AgentState[Any]):
    """State of the Turn layer."""

    run_id: NotRequired[ByEngine[str]]


class TurnMiddleware(PatchToolCallsMiddleware):
    """Starts a run with a new id and no dangling tool calls."""

    state_schema = TurnState

    @property
    def name(self) -> str:
        """The name of the deepagents layer that this one replaces."""
        return PatchToolCallsMiddleware.__name__

    def before_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Assign the run id and close open tool calls."""
        update = super().before_agent(state, runtime) or {}
        _mark_closed(update.get("messages", ()), before=state["messages"])
        if not (state.get("run_id") and _is_nested(runtime)):
            update["run_id"] = new_id("run")
        return update


def _mark_closed(messages: Iterable[AnyMessage], *, before: Iterable[AnyMessage]) -> None:
    """Mark the synthetic results that close a call."""
    known = {id(message) for message in before}
    for message in messages:
        if isinstance(message, ToolMessage) and id(message) not in known:
            message.additional_kwargs[UNFINISHED] = True


def _is_nested(runtime: Runtime[Any]) -> bool:
    """Whether this graph is a subagent: its namespace has a parent."""
    info = runtime.execution_info
    return info is not None and "|" in info.checkpoint_ns
