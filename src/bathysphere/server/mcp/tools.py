"""Assistants as MCP tools: their names, input schemas and results."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import orjson
from mcp import types
from pydantic.errors import PydanticUserError

from bathysphere.core.identity import Owner
from bathysphere.core.json_text import dumps
from bathysphere.core.writers import Writer
from bathysphere.engine.assistants import Assistant, AssistantFilter
from bathysphere.engine.graphs import Graphs
from bathysphere.engine.records import Run
from bathysphere.server.langgraph_api.assistants import system_assistants
from bathysphere.server.langgraph_api.project_rules import ProjectRules
from bathysphere.server.langgraph_api.thread_states import fields
from bathysphere.server.mcp.questions import question_text
from bathysphere.server.process.services import Services

MESSAGE, THREAD = "message", "thread_id"
_MOST_TOOLS = 200
_MESSAGE_FIELD = {"type": "string", "description": "What to tell the agent."}
_THREAD_FIELD = {
    "type": "string",
    "format": "uuid",
    "description": "A conversation to continue; the result of each call names its own.",
}


async def assistants_by_tool(
    services: Services, *, owner: Owner, rules: ProjectRules | None = None
) -> dict[str, Assistant]:
    """The owner's assistants of the served graphs, by the names of their tools."""
    system = system_assistants(services.graphs)
    stored = await services.assistants.search(
        AssistantFilter(), owner=owner, system=system, limit=_MOST_TOOLS
    )
    served = set(services.graphs.names())
    found = [each for each in stored if each.definition.graph in served]
    if rules is not None:
        found = await rules.shown(found)
    used = Counter(_plain_name(each) for each in found)
    return {_tool_name(each, used): each for each in found}


def tool_of(name: str, assistant: Assistant, graphs: Graphs) -> types.Tool:
    """Describe an assistant as a tool."""
    definition = assistant.definition
    return types.Tool(
        name=name,
        description=definition.description or f"The agent '{definition.name}'.",
        inputSchema=ToolInput.of_graph(graphs, definition.graph).schema,
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolInput:
    """The arguments of an assistant's tool: a message, or the fields that clients may write."""

    schema: dict[str, Any]
    takes_message: bool

    @classmethod
    def of_graph(cls, graphs: Graphs, graph: str) -> Self:
        """Derive the arguments from the input of a graph."""
        schema = _graph_schema(graphs, graph)
        writers = graphs.writers(graph)
        fields = {
            name: field
            for name, field in schema.get("properties", {}).items()
            if not writers or writers.get(name) is Writer.CLIENT
        }
        if "messages" in fields:
            properties = {MESSAGE: _MESSAGE_FIELD, THREAD: _THREAD_FIELD}
            chat = {"type": "object", "properties": properties, "required": [MESSAGE]}
            return cls(schema=chat, takes_message=True)
        own: dict[str, Any] = {
            "type": "object",
            "properties": {**fields, THREAD: _THREAD_FIELD},
            "required": [name for name in schema.get("required", ()) if name in fields],
        }
        definitions = {"$defs": schema["$defs"]} if "$defs" in schema else {}
        return cls(schema={**own, **definitions}, takes_message=False)

    def graph_input(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The input of the graph from the arguments of a call."""
        if self.takes_message:
            return {"messages": [{"role": "user", "content": arguments[MESSAGE]}]}
        return {name: value for name, value in arguments.items() if name != THREAD}


def finished(run: Run, values: Any) -> types.CallToolResult:
    """The result of a run that ended."""
    place = {"thread_id": str(run.thread_id), "run_id": str(run.run_id), "status": run.status}
    if run.status != "success":
        error = run.error or {}
        return _result(error.get("message", f"The run ended: {run.status}"), place, is_error=True)
    plain = orjson.loads(dumps(values))
    text = _last_words(plain)
    if text:
        return _result(text, place)
    return _result(dumps(plain).decode(), {**place, "values": plain})


def waiting(run: Run, questions: Sequence[Mapping[str, Any]]) -> types.CallToolResult:
    """The result of a run that asks something the client cannot be asked."""
    place = {"thread_id": str(run.thread_id), "run_id": str(run.run_id), "status": "interrupted"}
    asked = "\n\n".join(question_text(question) for question in questions)
    text = f"The agent is waiting for an answer. Give it in the workspace at /c/{run.thread_id}."
    found = {**place, "questions": orjson.loads(dumps(list(questions)))}
    return _result(f"{text}\n\n{asked}", found)


def failed(text: str) -> types.CallToolResult:
    """The result of a call that could not be made."""
    return _result(text, None, is_error=True)


def _result(
    text: str, structured: dict[str, Any] | None, *, is_error: bool = False
) -> types.CallToolResult:
    content: list[types.ContentBlock] = [types.TextContent(type="text", text=text)]
    return types.CallToolResult(content=content, structuredContent=structured, isError=is_error)


def _last_words(values: Any) -> str:
    for message in reversed(fields(values).get("messages") or ()):
        if isinstance(message, Mapping) and message.get("type") == "ai":
            content = message.get("content")
            if isinstance(content, str):
                return content
            parts = [part.get("text", "") for part in content or () if isinstance(part, Mapping)]
            return "".join(parts)
    return ""


def _graph_schema(graphs: Graphs, graph: str) -> dict[str, Any]:
    bound = graphs.get(graph)
    try:
        schema: dict[str, Any] = bound.get_input_jsonschema()
    except PydanticUserError:  # a state that has no JSON schema: its fields without their types
        names = [name for name in bound.channels if name.isidentifier() and name[:2] != "__"]
        return {"properties": {name: {} for name in names}}
    return schema


def _plain_name(assistant: Assistant) -> str:
    return re.sub(r"[^A-Za-z0-9_.-]", "_", assistant.definition.name)[:100] or "assistant"


def _tool_name(assistant: Assistant, used: Mapping[str, int]) -> str:
    """The plain name; a stored assistant whose name is taken also has a part of its id."""
    name = _plain_name(assistant)
    if assistant.is_system or used[name] == 1:
        return name
    return f"{name}-{str(assistant.assistant_id)[:8]}"
