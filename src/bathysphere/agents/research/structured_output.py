"""Structured output: constrained by the provider if supported, otherwise parsed and repaired.

A node passes a Pydantic class and gets an instance, whatever the model. A model that supports JSON
schemas is constrained to it; any other is prompted, and its JSON is extracted from reasoning,
fences and prose. Invalid answers are returned to the model with the reason, a few times.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.runnables import Runnable
from langgraph.constants import TAG_NOSTREAM
from langgraph.runtime import get_runtime
from pydantic import BaseModel, ValidationError

from bathysphere.core.errors import UpstreamError
from bathysphere.core.payments import Purse
from bathysphere.middleware.payments.metering import metered, purse_of
from bathysphere.models.failures import explain
from bathysphere.models.json_text import extract_json
from bathysphere.models.resolve import name_of
from bathysphere.models.structured_output import schema_settings
from bathysphere.models.text_calls import unwrapped
from bathysphere.models.tokens import limit_output, tokenizer_of
from bathysphere.models.tool_schemas import problems

T = TypeVar("T", bound=BaseModel)

# ── prompts ──

FORM = """Answer with one JSON object and nothing else: no prose, no Markdown fences.
It must fit this JSON schema:
{schema}"""
SHORT = "Answer with one JSON object, a {title}."
NOT_JSON = "That was not one JSON object."
UNFIT = "That does not fit the schema: {problems}."
AGAIN = "{why} Answer again with the JSON object alone."


class AnswerUnusable(UpstreamError):
    """A model did not return a valid answer."""

    code = "answer_unusable"


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """Limits on prompts and answers, since small models have small context windows."""

    steps: int = 8
    claims: int = 12
    quotes: int = 3
    sides: int = 3
    contradictions: int = 6
    requests: int = 4
    text: int = 600
    """Characters per string of an answer."""
    sources: int = 12
    excerpt: int = 6_000
    """Characters shown per source."""
    shown: int = 40_000
    """Characters shown of all sources together."""
    repeats_schema: bool = True
    """Whether a constrained model also gets the schema in its prompt, which costs tokens."""


FULL = Sizes()
SMALL = Sizes(
    steps=2,
    claims=2,
    quotes=1,
    sides=2,
    contradictions=1,
    requests=1,
    text=160,
    sources=3,
    excerpt=900,
    shown=1_800,
    repeats_schema=False,
)
"""For a model with a context window of about 4,000 tokens."""

CAPS = {
    "steps": "steps",
    "after": "steps",
    "claims": "claims",
    "quotes": "quotes",
    "sides": "sides",
    "contradictions": "contradictions",
    "requests": "requests",
}
"""List field → size that limits its length."""


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """A valid answer, with its cost."""

    value: T
    tokens: int
    repairs: int
    raw: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Asker:
    """Asks a model for structured output, with fallbacks."""

    model: BaseChatModel
    fallback: tuple[BaseChatModel, ...] = ()
    repairs: int = 2
    sizes: Sizes = field(default_factory=Sizes)

    async def ask(self, form: type[T], *, system: str, user: str, name: str = "") -> Answer[T]:
        """Ask, and ask again with the reason if the answer is invalid.

        Args:
            form: The schema of the answer.
            system: The system prompt.
            user: The material.
            name: Distinguishes concurrent questions of one node.

        Raises:
            AnswerUnusable: No answer was valid.
            BathysphereError: The model is unavailable or failed.
        """
        schema = schema_of(form, self.sizes)
        prompt = f"{system}\n\n{self._form(schema)}"
        messages: list[BaseMessage] = [SystemMessage(prompt), HumanMessage(user)]
        tokens, why = 0, ""
        for attempt in range(self.repairs + 1):
            message = await self._paid(messages, schema, name)
            tokens += _tokens(message)
            text = _text(message)
            try:
                value = form.model_validate(cut(unwrapped(extract_json(text)), schema))
            except ValidationError as error:
                why = UNFIT.format(problems=problems(error))
            except ValueError:
                why = NOT_JSON
            else:
                return Answer(value, tokens, attempt, text)
            messages = [*messages[:2], AIMessage(text), HumanMessage(AGAIN.format(why=why))]
        raise AnswerUnusable(
            f"{name_of(self.model)} did not give a usable {form.__name__}: {why}",
            hint="try again, or choose a stronger model",
        )

    def _form(self, schema: dict[str, Any]) -> str:
        is_constrained = constrained(self.model, schema) is not self.model
        if is_constrained and not self.sizes.repeats_schema:
            return SHORT.format(title=schema["title"])
        return FORM.format(schema=json.dumps(schema, ensure_ascii=False, separators=(",", ":")))

    async def _paid(
        self, messages: list[BaseMessage], schema: dict[str, Any], name: str
    ) -> BaseMessage:
        """Call the model, paying for the call if the run is metered."""
        purse = _purse()
        if purse is None:
            return await self._call(messages, schema)
        done = await metered(
            lambda: self._call(messages, schema, purse.max_output),
            question=lambda: [*messages, schema],
            answer=lambda message: [message],
            purse=purse,
            name=name,
            tokenizer=tokenizer_of(self.model),
        )
        return done.result

    async def _call(
        self, messages: list[BaseMessage], schema: dict[str, Any], limit: int | None = None
    ) -> BaseMessage:
        first, *others = (
            constrained(limit_output(model, limit), schema)
            for model in (self.model, *self.fallback)
        )
        runnable: Runnable[Any, Any] = first.with_fallbacks(others) if others else first
        try:
            # Keep a node's JSON out of the message stream.
            found = await runnable.ainvoke(messages, {"tags": [TAG_NOSTREAM]})
        except Exception as error:
            explained = explain(error, name_of(self.model))
            if explained is not None:
                raise explained from error
            raise
        message: BaseMessage = found["raw"] if isinstance(found, Mapping) else found
        return message


def _purse() -> Purse | None:
    try:
        return purse_of(get_runtime())
    except RuntimeError:  # outside a graph
        return None


def constrained(model: BaseChatModel, schema: dict[str, Any]) -> Runnable[Any, Any]:
    """Constrain the model to the schema, if its client supports that."""
    settings = schema_settings(model, schema)
    if "extra_body" in settings:  # a client that would fail if the answer is cut off
        return model.bind(**settings)
    try:
        return model.with_structured_output(schema, method="json_schema", include_raw=True)
    except (NotImplementedError, TypeError, ValueError):
        return model


def schema_of(form: type[BaseModel], sizes: Sizes) -> dict[str, Any]:
    """The JSON schema of a form, with lists and strings bounded by the sizes."""
    schema = form.model_json_schema()
    bounded: dict[str, Any] = _bounded(schema, sizes)
    return {**bounded, "title": form.__name__, "description": (form.__doc__ or "").strip()}


def _bounded(part: Any, sizes: Sizes, name: str = "") -> Any:
    if isinstance(part, list):
        return [_bounded(item, sizes) for item in part]
    if not isinstance(part, dict):
        return part
    bounded: dict[str, Any] = {
        key: {inner: _bounded(value, sizes, inner) for inner, value in part[key].items()}
        if key in ("properties", "$defs")
        else _bounded(value, sizes, name)
        for key, value in part.items()
        if key not in ("title", "default")
    }
    if bounded.get("type") == "string" and "enum" not in bounded and "const" not in bounded:
        bounded["maxLength"] = min(bounded.get("maxLength", sizes.text), sizes.text)
    if bounded.get("type") == "array" and name in CAPS:
        most = getattr(sizes, CAPS[name])
        bounded["maxItems"] = min(bounded.get("maxItems", most), most)
    return bounded


def cut(value: Any, schema: Mapping[str, Any]) -> Any:
    """Truncate lists that exceed the schema's maximum."""
    if not isinstance(value, dict):
        return value
    parts = schema.get("properties", {})
    return {
        key: item[: parts[key]["maxItems"]]
        if isinstance(item, list) and "maxItems" in parts.get(key, {})
        else item
        for key, item in value.items()
    }


def _text(message: BaseMessage) -> str:
    calls = getattr(message, "tool_calls", None)
    # Some clients implement structured output as a tool call.
    if calls and not message.text.strip():
        return json.dumps(calls[0]["args"], ensure_ascii=False)
    return message.text


def _tokens(message: BaseMessage) -> int:
    usage = getattr(message, "usage_metadata", None)
    return int(usage["total_tokens"]) if usage else 0
