"""The planning call: a model turns the person's words into steps, before anything is read.

It sees the messages that the person wrote and the schemas of known tools, and nothing else; of an
MCP server's tools only names and types, since a description could contain a wish.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from typing import Any

from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.messages import AnyMessage, HumanMessage, SystemMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from bathysphere.flow import FlowPolicy, Step, ledger, merge, read_steps
from bathysphere.flow.declarations import does
from bathysphere.flow.ledger import Entries
from bathysphere.middleware.flow.defaults import OWN_TOOLS, SCRATCH_TOOLS
from bathysphere.models.declared_tool import DeclaredTool
from bathysphere.models.history import human_messages
from bathysphere.models.structured_output import without_stream
from bathysphere.models.tool_names import tool_name

PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,39}")
TYPES = ("string", "integer", "number", "boolean", "array", "object")
COMMIT_PLAN = "commit_plan"
COMMIT_PLAN_TOOL: Mapping[str, Any] = {
    "type": "function",
    "function": {
        "name": COMMIT_PLAN,
        "description": "Commit the steps that the person asked for.",
        "parameters": {
            "type": "object",
            "properties": {
                "steps": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "id": {"type": "string", "description": "s1, s2, …"},
                            "tool": {"type": "string"},
                            "arguments": {"type": "object"},
                            "references": {
                                "type": "object",
                                "additionalProperties": {"type": "string"},
                            },
                            "many": {"type": "boolean"},
                        },
                        "required": ["id", "tool"],
                    },
                }
            },
            "required": ["steps"],
        },
    },
}


def planning(request: ModelRequest[Any], policy: FlowPolicy) -> ModelRequest[Any]:
    """The request for a plan, in place of the agent's own."""
    text = files(__package__).joinpath("prompt.md").read_text(encoding="utf-8")
    rows = (_row(tool, policy) for tool in request.tools if _can_be_planned(tool, policy))
    return request.override(
        model=without_stream(request.model),
        system_message=SystemMessage(text.replace("{tools}", "\n".join(rows)).strip()),
        messages=[HumanMessage(words) for _, words in words_of(request.state["messages"])],
        tools=[dict(COMMIT_PLAN_TOOL)],
        tool_choice=None,
        response_format=None,
    )


def read_plan(response: ModelResponse[Any]) -> list[Step]:
    """The steps of a planner's answer; none if it committed none."""
    for message in response.result:
        for call in getattr(message, "tool_calls", ()):
            if call["name"] == COMMIT_PLAN:
                return read_steps(call["args"].get("steps"))
    return []


def words_of(messages: Iterable[AnyMessage]) -> Iterator[tuple[str, str]]:
    """The person's words in a main agent's messages, by message; summaries are not theirs."""
    return _words(human_messages(messages))


def heard(messages: Iterable[AnyMessage]) -> Entries:
    """What a main agent's messages add to its ledger; attachments are not the person's words."""
    entries: Entries = {}
    known = human_messages(messages)
    for message_id, words in _words(known):
        entries = merge(entries, ledger.said(message_id, words))
    if any(_has_attachment(message) for _, message in known):
        entries = merge(entries, ledger.marked("untrusted"))
    return entries


def _words(messages: Iterable[tuple[int, HumanMessage]]) -> Iterator[tuple[str, str]]:
    for place, message in messages:
        if "lc_source" not in message.additional_kwargs:
            yield message.id or str(place), message.text


def _can_be_planned(tool: Any, policy: FlowPolicy) -> bool:
    """Whether a tool is known, and not just the harness's own way of working."""
    name = tool_name(tool)
    is_own = policy.tools.get(name) == {**OWN_TOOLS, **SCRATCH_TOOLS}.get(name)
    return name in policy.tools and not is_own


def _row(tool: Any, policy: FlowPolicy) -> str:
    schema = convert_to_openai_tool(tool)["function"]
    if isinstance(tool, DeclaredTool) and tool.is_foreign:
        schema = {"name": tool.name, "arguments": _named_types(schema)}
    what = does(policy.of(tool_name(tool)))
    return f"- {what}: {json.dumps(schema, ensure_ascii=False, sort_keys=True)}"


def _named_types(schema: Mapping[str, Any]) -> dict[str, str]:
    """The arguments of a tool that others described: plain names and types, none of their words."""
    properties = (schema.get("parameters") or {}).get("properties") or {}
    types = {name: of.get("type") for name, of in properties.items() if isinstance(of, Mapping)}
    plain = {name: of for name, of in types.items() if PLAIN_NAME.fullmatch(name)}
    return {name: of if of in TYPES else "any" for name, of in plain.items()}


def _has_attachment(message: HumanMessage) -> bool:
    if isinstance(message.content, str):
        return False
    return any(isinstance(b, Mapping) and b.get("type") != "text" for b in message.content)
