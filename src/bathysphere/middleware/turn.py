"""Turn: what happens once, when a new message from the person starts a run.

Gives the run its id, by which the agents of the tree find what they share, and answers tool calls
that an earlier, cancelled run left open (deepagents' `PatchToolCallsMiddleware`, whose place this
takes). A run that pauses and resumes keeps its id; a subagent has its parent's.

Order: core of the stack, before anything that counts. State: `run_id`.
"""

from typing import Any, NotRequired

from deepagents.middleware.patch_tool_calls import PatchToolCallsMiddleware
from langchain.agents import AgentState
from langgraph.runtime import Runtime

from bathysphere.core.ids import new_id


class TurnState(AgentState[Any]):
    """What Turn remembers between steps."""

    run_id: NotRequired[str]


class TurnMiddleware(PatchToolCallsMiddleware):
    """Starts a run: a fresh id for the tree, no dangling tool calls."""

    state_schema = TurnState

    @property
    def name(self) -> str:
        """The name of the deepagents layer that this one replaces."""
        return PatchToolCallsMiddleware.__name__

    def before_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Name the run and close what was left open."""
        update = super().before_agent(state, runtime) or {}
        if not (state.get("run_id") and _inside_another_run(runtime)):
            update["run_id"] = new_id("run")
        return update


def _inside_another_run(runtime: Runtime[Any]) -> bool:
    """Whether this graph is a subagent: its namespace has a parent."""
    info = runtime.execution_info
    return info is not None and "|" in info.checkpoint_ns
