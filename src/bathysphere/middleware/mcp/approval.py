"""The question before a tool of an MCP server runs, and what its answer allows.

The same question as for other tools (`tool_approval`), with one more answer: `approve` with
`always` allows the tool for the rest of the conversation.
"""

from typing import Annotated, Any, Literal, NamedTuple

from langchain.agents.middleware.types import ToolCallRequest
from langchain_core.messages import ToolCall, ToolMessage
from langgraph.types import interrupt
from pydantic import BaseModel, ConfigDict, Discriminator, Field, RootModel

from bathysphere.flow import consent
from bathysphere.tools.mcp.tools import RemoteTool

# ── text for the person and the model ──

DESCRIPTION = "A tool of the MCP server '{server}', which may change something."
REJECTED = "The person rejected the call{reason}. It was not executed; do not try it again."


class _Decision(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Approve(_Decision):
    """Run it as it is."""

    type: Literal["approve"]
    always: bool = Field(
        default=False, description="Allow this tool for the rest of this conversation."
    )


class EditedAction(_Decision):
    """The call as the person edited it."""

    name: str
    args: dict[str, Any]


class Edit(_Decision):
    """Run it with other arguments."""

    type: Literal["edit"]
    edited_action: EditedAction


class Reject(_Decision):
    """Do not run it."""

    type: Literal["reject"]
    message: str | None = Field(default=None, max_length=20_000)


class Respond(_Decision):
    """Do not run it; the person gives the result."""

    type: Literal["respond"]
    message: str = Field(max_length=20_000)


class Decision(RootModel[Annotated[Approve | Edit | Reject | Respond, Discriminator("type")]]):
    """An answer to the question."""


class Approved(NamedTuple):
    """A call that may run."""

    request: ToolCallRequest
    tool: RemoteTool
    always: bool


def ask(request: ToolCallRequest, tool: RemoteTool) -> Approved | ToolMessage:
    """Ask the person; the call to run, or the result in its place."""
    call = request.tool_call
    decision = interrupt(_question(call, tool), response_schema=Decision).root
    match decision:
        case Approve():
            consent.report(call, "approved")
            return Approved(request, tool, decision.always)
        case Edit():
            edited = ToolCall({**call, "args": decision.edited_action.args})
            consent.report(edited, "approved")
            return Approved(request.override(tool_call=edited), tool, always=False)
        case Respond():
            consent.report(call, "answered")
            return _result(request, decision.message, status="success")
    consent.report(call, "refused")
    reason = f" and says: {decision.message}" if decision.message else ""
    return _result(request, REJECTED.format(reason=reason), status="error")


def _question(call: ToolCall, tool: RemoteTool) -> dict[str, Any]:
    """The question, with the reasons of flow control if it has any."""
    why = consent.explanation(str(call["id"]), tool.flow)
    description = DESCRIPTION.format(server=tool.server)
    return {
        "type": "tool_approval",
        "tool_call_id": call["id"],
        "name": call["name"],
        "args": call["args"],
        "description": f"{description}\n{why.text}" if why.text else description,
        **why.fields,
    }


def _result(
    request: ToolCallRequest, text: str, *, status: Literal["success", "error"]
) -> ToolMessage:
    call = request.tool_call
    return ToolMessage(text, tool_call_id=call["id"], name=call["name"], status=status)
