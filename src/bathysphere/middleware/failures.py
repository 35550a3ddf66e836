"""Failures: an error in a tool or subagent becomes a tool result instead of ending the run.

In plain LangChain any exception in a tool, and so in a subagent, ends the whole run and its
parallel calls. Here it becomes an error result of that call. Interrupts pass through, and so does a
person's invalid answer, which the person must correct, not the model.

Order: inside Approvals (an invalid answer must not be swallowed), outside Limits.
No state.
"""

from langchain.agents.middleware import ToolErrorMiddleware
from langchain.agents.middleware.types import ToolCallRequest
from langgraph.errors import is_invalid_resume

from bathysphere.core.errors import BathysphereError

# ── text for the model ──

TOOL_FAILED = "The tool `{name}` failed: {why}."
SUBAGENT_FAILED = "The subagent `{name}` failed: {why}."
MAX_CHARACTERS = 2_000

# ── middleware ──


class FailuresMiddleware(ToolErrorMiddleware):
    """Turns exceptions of a tool call into its result."""

    def __init__(self) -> None:
        super().__init__(on_error=describe_failure)


def describe_failure(error: Exception, request: ToolCallRequest) -> str | None:
    """Describe a failure briefly for the model; None to re-raise the error."""
    if is_invalid_resume(error) or getattr(error, "ends_run", False):
        return None
    call = request.tool_call
    if call["name"] == "task":
        return SUBAGENT_FAILED.format(name=call["args"].get("subagent_type", "?"), why=_why(error))
    return TOOL_FAILED.format(name=call["name"], why=_why(error))


def _why(error: Exception) -> str:
    if isinstance(error, (BathysphereError, TimeoutError)) and str(error):
        return str(error)[:MAX_CHARACTERS]
    return f"{type(error).__name__}: {error}"[:MAX_CHARACTERS]
