"""A step of an agent as one JSON object, for models that call tools only when constrained to.

A step is words, `{"next": {"answer": "…"}}`, or one call of an offered tool,
`{"next": {"tool": "…", "arguments": {…}}}`. Here are its JSON schema, how it is read from what a
model wrote, and how earlier steps are written for it. The root is an object and holds the choice in
a property: not every server takes `anyOf` at the root.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from bathysphere.models.json_text import decode, without_thoughts

RESULT = "Result of `{name}`:"
FAILED = "`{name}` failed:"

_ANYTHING = {"type": ["string", "number", "boolean", "object", "array", "null"]}
_MAX_DEPTH = 12
"""Levels of a schema that are written out; below them, and in cycles, anything is allowed."""
_OPENING = re.compile(r'\s*\{\s*"next"\s*:\s*\{\s*"answer"\s*:\s*"')
_TOOL = re.compile(r'\s*\{\s*"next"\s*:\s*\{\s*"tool"\s*:\s*"([^"\\]+)"')
_CHARACTERS = re.compile(
    r'(?:[^"\\]|\\["\\/bfnrt]|\\u(?![dD][89abAB])[0-9a-fA-F]{4}'
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[0-9a-fA-F]{4})*"
)
"""The whole characters that the rest of a JSON string starts with."""


# ── the schema ──


def functions_of(tools: Sequence[Any], choice: Any = None) -> list[dict[str, Any]]:
    """The tools that a model may call, as OpenAI's functions; none if one of them has no schema.

    Args:
        tools: The tools of a request.
        choice: Its `tool_choice`.
    """
    made = []
    for tool in tools:
        if isinstance(tool, Mapping) and not {"function", "parameters"} & tool.keys():
            return []  # run by the provider
        made.append(convert_to_openai_tool(tool)["function"])
    name = _chosen(choice)
    return [one for one in made if name in (None, one["name"])]


def must_call(choice: Any) -> bool:
    """Whether a `tool_choice` leaves no room for words."""
    return choice in ("any", "required", True) or _chosen(choice) is not None


def step_schema(functions: Iterable[Mapping[str, Any]], *, words: bool = True) -> dict[str, Any]:
    """The JSON schema of a step: a call of one of the functions, or words if they are allowed."""
    forms = [
        _object(
            {"tool": {"type": "string", "const": one["name"]}, "arguments": _arguments(one)},
            required=["tool", "arguments"],
        )
        for one in functions
    ]
    if words:
        forms.insert(0, _object({"answer": {"type": "string"}}, required=["answer"]))
    root = _object({"next": {"anyOf": forms}}, required=["next"])
    return {"title": "step", "description": "The next step.", **root}


def _chosen(choice: Any) -> str | None:
    """The name of the tool that a `tool_choice` demands."""
    if isinstance(choice, Mapping):
        choice = (choice.get("function") or choice).get("name")
    return choice if isinstance(choice, str) and choice not in _CHOICES else None


_CHOICES = ("auto", "any", "required", "none")


def _object(properties: Mapping[str, Any], *, required: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


def _arguments(function: Mapping[str, Any]) -> dict[str, Any]:
    schema = function.get("parameters") or {}
    definitions = {**schema.get("definitions", {}), **schema.get("$defs", {})}
    plain = _plain({"properties": {}, **schema, "type": "object"}, definitions, 0)
    return {**plain, "additionalProperties": plain.get("additionalProperties", False)}


def _plain(schema: Any, definitions: Mapping[str, Any], depth: int) -> dict[str, Any]:
    """A schema with the keywords that every server knows, and without references.

    References are from the root, which is another one here. Servers differ in lengths, bounds and
    patterns, which the tool checks itself.
    """
    if not isinstance(schema, Mapping) or depth > _MAX_DEPTH:
        return dict(_ANYTHING)
    if "$ref" in schema:
        name = str(schema["$ref"]).rpartition("/")[2]
        others = {key: value for key, value in definitions.items() if key != name}  # no cycles
        return _plain(definitions.get(name), others, depth + 1)
    for key in ("anyOf", "oneOf"):
        if branches := schema.get(key):
            return {"anyOf": [_plain(each, definitions, depth + 1) for each in branches]}
    parts = schema.get("allOf")
    if isinstance(parts, list) and len(parts) == 1:
        return _plain(parts[0], definitions, depth + 1)
    if "const" in schema or "enum" in schema:
        return {key: schema[key] for key in ("type", "const", "enum") if key in schema}
    kind = schema.get("type") or ("object" if "properties" in schema else None)
    if kind == "object":
        return _plain_object(schema, definitions, depth)
    if kind == "array":
        return {"type": "array", "items": _plain(schema.get("items"), definitions, depth + 1)}
    return {"type": kind} if kind else dict(_ANYTHING)


def _plain_object(
    schema: Mapping[str, Any], definitions: Mapping[str, Any], depth: int
) -> dict[str, Any]:
    plain: dict[str, Any] = {"type": "object"}
    if isinstance(known := schema.get("properties"), Mapping):
        plain["properties"] = {n: _plain(v, definitions, depth + 1) for n, v in known.items()}
        plain["required"] = [name for name in schema.get("required") or () if name in known]
    more = schema.get("additionalProperties")
    if isinstance(more, Mapping):
        plain["additionalProperties"] = _plain(more, definitions, depth + 1)
    elif known and more is not True:
        plain["additionalProperties"] = False
    return plain


# ── what a model wrote ──


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """A step that was read: words, or a call, which is cut off if it has no arguments."""

    words: str | None = None
    tool: str = ""
    arguments: dict[str, Any] | None = None


def read_step(text: str) -> Step | None:
    """Read a step, even one that was cut off; None if the text is something else."""
    text = without_thoughts(text).strip()
    for missing in ("", "}", "}}"):  # all that can be cut off after the arguments
        value, _ = decode(text + missing)
        if isinstance(value, dict):
            return _step_of(value.get("next", value))
    words = Words()
    shown = words.feed(text)
    if words.is_open:
        return Step(words=shown)
    cut = _TOOL.match(text)
    return Step(tool=cut[1]) if cut else None


def _step_of(value: Any) -> Step | None:
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("answer"), str) and len(value) == 1:
        return Step(words=clean(value["answer"]))
    if isinstance(value.get("tool"), str) and isinstance(value.get("arguments"), dict):
        return Step(tool=value["tool"], arguments=clean(value["arguments"]))
    return None


class Words:
    """The words of a step that is still being written."""

    def __init__(self) -> None:
        self.is_open = False
        """Whether the step is an answer, and its words have begun."""
        self._rest = ""

    def feed(self, text: str) -> str:
        """Take a piece of the step; returns the words that are new."""
        self._rest += text
        if not self.is_open:
            opening = _OPENING.match(self._rest)
            if opening is None:
                return ""
            self.is_open, self._rest = True, self._rest[opening.end() :]
        found = _CHARACTERS.match(self._rest)
        raw = found[0] if found else ""
        self._rest = self._rest[len(raw) :]
        words: str = json.loads(f'"{raw}"', strict=False)
        return str(clean(words))


def clean(value: Any) -> Any:
    """A JSON value without halves of surrogate pairs, which no store takes."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode() if not value.isascii() else value
    if isinstance(value, list):
        return [clean(each) for each in value]
    if isinstance(value, dict):
        return {clean(key): clean(each) for key, each in value.items()}
    return value


# ── earlier steps ──


def written(messages: Iterable[AnyMessage]) -> list[AnyMessage]:
    """Messages as the model wrote and read them: steps in JSON, results as words to it.

    The request has no tools, so calls and their results cannot be sent as such.
    """
    made: list[AnyMessage] = []
    results: list[ToolMessage] = []
    names: dict[str, str] = {}
    for message in messages:
        if isinstance(message, ToolMessage):
            results.append(message)
            continue
        made += _told(results, names)
        results = []
        names |= {call["id"] or "": call["name"] for call in getattr(message, "tool_calls", ())}
        made.append(_as_step(message) if isinstance(message, AIMessage) else message)
    return [*made, *_told(results, names)]


def _as_step(message: AIMessage) -> AIMessage:
    steps: list[dict[str, Any]] = [_said(message.text)] if message.text.strip() else []
    steps += [{"tool": call["name"], "arguments": call["args"]} for call in message.tool_calls]
    lines = [json.dumps({"next": step}, ensure_ascii=False) for step in steps]
    return AIMessage("\n".join(lines), id=message.id)


def _said(text: str) -> dict[str, Any]:
    """Words; or the call that did not fit, when the model is asked for it again."""
    value, end = decode(text.strip())
    if isinstance(value, dict) and value.keys() == {"name", "arguments"} and end == len(text):
        return {"tool": value["name"], "arguments": value["arguments"]}
    return {"answer": text}


def _told(results: Sequence[ToolMessage], names: Mapping[str, str]) -> list[AnyMessage]:
    """The results of one step, in one message."""
    blocks: list[Any] = []
    for result in results:
        name = result.name or names.get(result.tool_call_id) or "?"
        title = (FAILED if result.status == "error" else RESULT).format(name=name)
        content = result.content if isinstance(result.content, list) else [result.content]
        blocks += [title, *content]
    if not blocks:
        return []
    if all(isinstance(block, str) for block in blocks):
        return [HumanMessage("\n".join(blocks))]
    as_blocks = [{"type": "text", "text": b} if isinstance(b, str) else b for b in blocks]
    return [HumanMessage(as_blocks)]
