"""Turn an agent's question into a form that an MCP client can show, and the form into an answer.

A form of MCP (elicitation) is an object whose fields are plain values. A question whose
`response_schema` is such an object is passed on as it is; one that offers decisions becomes a
choice with a message; any other is answered with text or JSON.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bathysphere.core.invisible import reveal
from bathysphere.engine.errors import AnswerRefused

Schema = Mapping[str, Any]
_PLAIN = ("string", "number", "integer", "boolean")
_WORDS = ("question", "message", "description", "reason")
_LONGEST = 4000
DECISION, MESSAGE, ANSWER = "decision", "message", "answer"


@dataclass(frozen=True, kw_only=True, slots=True)
class Form:
    """A form, and which kind of question it is for."""

    text: str
    schema: dict[str, Any]
    decisions: Mapping[str, Schema] | None = None
    """Decision → its fields, if the question offers decisions."""
    is_text: bool = False
    """Whether the answer is one text, which may have to be JSON."""
    needs_json: bool = False

    def answer(self, content: Mapping[str, Any]) -> Any:
        """Return the answer of a form that was filled in.

        Raises:
            AnswerRefused: It is not JSON, or none of the decisions.
        """
        if self.decisions is not None:
            return _decision(self.decisions, content)
        if not self.is_text:
            return dict(content)
        text = str(content.get(ANSWER, ""))
        if not self.needs_json:
            return text
        try:
            return json.loads(text)
        except ValueError as error:
            raise AnswerRefused(f"The answer is not valid JSON: {error}") from error


def form_of(question: Mapping[str, Any]) -> Form:
    """Return the form for an open question of a thread's state."""
    schema = question.get("response_schema")
    text = question_text(question)
    if not isinstance(schema, Mapping):
        return Form(text=text, schema=_text_form(None), is_text=True)
    if _is_plain_object(schema):
        fields = {name: dict(field) for name, field in schema["properties"].items()}
        required = list(schema.get("required", ()))
        form = {"type": "object", "properties": fields, "required": required}
        return Form(text=text, schema=form)
    if decisions := _decisions(schema):
        return Form(text=text, schema=_decision_form(decisions), decisions=decisions)
    needs_json = schema.get("type") != "string"
    return Form(text=text, schema=_text_form(schema), is_text=True, needs_json=needs_json)


def question_text(question: Mapping[str, Any]) -> str:
    """The words of a question, with invisible characters shown."""
    value = question.get("value")
    if isinstance(value, Mapping):
        words = [str(value[name]) for name in _WORDS if isinstance(value.get(name), str)]
        rest = {k: v for k, v in value.items() if k not in (*_WORDS, "type", "tool_call_id")}
        details = json.dumps(rest, ensure_ascii=False, default=str) if rest else ""
        text = "\n".join(filter(None, (*words, details)))
    else:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = reveal(text)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _is_plain_object(schema: Schema) -> bool:
    fields = schema.get("properties")
    if schema.get("type") != "object" or not isinstance(fields, Mapping) or not fields:
        return False
    return all(isinstance(f, Mapping) and f.get("type") in _PLAIN for f in fields.values())


def _decisions(schema: Schema) -> dict[str, Schema]:
    """The decisions that need no more than a message, by the constant in their `type`."""
    found = {}
    for variant in _variants(schema):
        fields = variant.get("properties", {})
        constant = fields.get("type", {}).get("const")
        if isinstance(constant, str) and set(variant.get("required", ())) <= {"type", MESSAGE}:
            found[constant] = fields
    return found


def _variants(schema: Schema) -> Iterator[Schema]:
    definitions = schema.get("$defs", {})
    for variant in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        name = str(variant.get("$ref", "")).rpartition("/")[2]
        yield definitions.get(name, variant)


def _decision(decisions: Mapping[str, Schema], content: Mapping[str, Any]) -> dict[str, Any]:
    chosen = content.get(DECISION)
    if not isinstance(chosen, str) or chosen not in decisions:
        raise AnswerRefused(f"Choose one of: {', '.join(decisions)}")
    message = content.get(MESSAGE)
    has_message = bool(message) and MESSAGE in decisions[chosen]
    return {"type": chosen, MESSAGE: message} if has_message else {"type": chosen}


def _decision_form(decisions: Mapping[str, Schema]) -> dict[str, Any]:
    fields: dict[str, Any] = {DECISION: {"type": "string", "enum": list(decisions)}}
    if any(MESSAGE in each for each in decisions.values()):
        fields[MESSAGE] = {"type": "string", "description": "Your reason or reply."}
    return {"type": "object", "properties": fields, "required": [DECISION]}


def _text_form(schema: Schema | None) -> dict[str, Any]:
    field = {"type": "string"}
    if schema is not None and schema.get("type") != "string":
        field["description"] = f"JSON that matches {json.dumps(schema)[:_LONGEST]}"
    return {"type": "object", "properties": {ANSWER: field}, "required": [ANSWER]}
