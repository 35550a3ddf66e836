"""Planning: a todo list (`write_todos`) for the main agent and every subagent.

LangChain's todo list, without its graph step per model call: the rule "one list at a time" is
checked where the tool runs, and the guidance is part of the agent's prompt instead of being added
to every request.

Order: anywhere. State: `todos`.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import TodoListMiddleware
from langchain.agents.middleware.types import AgentMiddleware, ToolCallRequest
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import StructuredTool
from langgraph.types import Command

from bathysphere.models.short_tool import shortened

# ── text for the model ──

GUIDANCE = """## Planning
For work of several steps, first list them with `write_todos`, one item in progress at a time.
For a simple question, answer without a list."""

WRITE_TODOS = """Write your list of steps; each call replaces the whole list.

When to Use This Tool: for work of three or more steps, or several tasks; NOT for less. Mark a step
`in_progress` before you start it and `completed` as soon as it is fully done; if you are stuck,
keep it in progress and add what must be solved. The list is no answer: what the person asked for
comes as text after it."""

LEAN_GUIDANCE = """## Steps
Take one step at a time: one tool call, then look at its result. Never repeat a call that gave you
its result. When the work is done, answer in words."""

LEAN_TODOS = "Write your list of steps, for work of three or more; each call replaces the list."

ONE_LIST = "Only one `write_todos` at a time: each call replaces the whole list. Send one list."

# ── middleware ──


class PlanningMiddleware(TodoListMiddleware):
    """Gives the agent a todo list."""

    def __init__(self, *, lean: bool = False) -> None:
        words = LEAN_TODOS if lean else WRITE_TODOS
        super().__init__(system_prompt="", tool_description=words)
        self.tools = [
            shortened(tool) if isinstance(tool, StructuredTool) else tool for tool in self.tools
        ]

    after_model = AgentMiddleware.after_model
    aafter_model = AgentMiddleware.aafter_model
    wrap_model_call = AgentMiddleware.wrap_model_call  # type: ignore[assignment]  # wider result
    awrap_model_call = AgentMiddleware.awrap_model_call  # type: ignore[assignment]  # wider

    @property
    def name(self) -> str:
        """The name of the LangChain layer that this one replaces."""
        return TodoListMiddleware.__name__

    def wrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], ToolMessage | Command[Any]],
    ) -> ToolMessage | Command[Any]:
        """Reject two lists in one message."""
        return _refusal(request) or handler(request)

    async def awrap_tool_call(
        self,
        request: ToolCallRequest,
        handler: Callable[[ToolCallRequest], Awaitable[ToolMessage | Command[Any]]],
    ) -> ToolMessage | Command[Any]:
        """Reject two lists in one message."""
        return _refusal(request) or await handler(request)


def _refusal(request: ToolCallRequest) -> ToolMessage | None:
    if request.tool_call["name"] != "write_todos":
        return None
    last = next(m for m in reversed(request.state["messages"]) if isinstance(m, AIMessage))
    if sum(call["name"] == "write_todos" for call in last.tool_calls) < 2:
        return None
    return ToolMessage(
        ONE_LIST, tool_call_id=request.tool_call["id"], name="write_todos", status="error"
    )
