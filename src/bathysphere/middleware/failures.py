"""Failures: a tool or subagent that fails is a result the model can read, not the end of the run.

In plain LangChain any exception in a tool body, and so in a subagent, ends the whole run and takes
its siblings along. Here it becomes an error result of that one call. Pauses for a person pass
through untouched, and so does a person's answer that does not fit what was asked: it is theirs to
mend, not the model's.

Order: inside Approvals (a bad answer to a question must not be swallowed), outside Limits.
No state.
"""

from langchain.agents.middleware import ToolErrorMiddleware
from langchain.agents.middleware.types import ToolCallRequest
from langgraph.errors import is_invalid_resume

from bathysphere.core.errors import BathysphereError

# ── words to the model ──

TOOL_FAILED = "The tool `{name}` failed: {why}."
SUBAGENT_FAILED = "The subagent `{name}` failed: {why}."
MAX_WORDS = 2_000

# ── middleware ──


class FailuresMiddleware(ToolErrorMiddleware):
    """Turns every exception of a tool call into that call's result."""

    def __init__(self) -> None:
        super().__init__(on_error=describe_failure)


def describe_failure(error: Exception, request: ToolCallRequest) -> str | None:
    """Say what failed and why, in words short enough for the model; `None` lets it pass."""
    if is_invalid_resume(error) or getattr(error, "ends_run", False):
        return None
    call = request.tool_call
    if call["name"] == "task":
        return SUBAGENT_FAILED.format(name=call["args"].get("subagent_type", "?"), why=_why(error))
    return TOOL_FAILED.format(name=call["name"], why=_why(error))


def _why(error: Exception) -> str:
    if isinstance(error, (BathysphereError, TimeoutError)) and str(error):
        return str(error)[:MAX_WORDS]
    return f"{type(error).__name__}: {error}"[:MAX_WORDS]
