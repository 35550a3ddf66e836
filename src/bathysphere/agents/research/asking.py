"""Asking a model for an answer in a form: constrained where the provider can, repaired where not.

A node gives a Pydantic class and gets an object of it, whatever the model: one that takes a JSON
schema is held to it while it writes; any other is asked in words, and its JSON is looked for among
thoughts, fences and prose. What does not fit goes back with the reason, a few times.
"""

import json
import re
from collections.abc import Mapping, Sequence
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
from bathysphere.models.failures import explain
from bathysphere.models.metering import metered, purse_of
from bathysphere.models.resolve import name_of

T = TypeVar("T", bound=BaseModel)

# ── words to the model ──

FORM = """Answer with one JSON object and nothing else: no prose, no Markdown fences.
It must fit this JSON schema:
{schema}"""
SHORT = "Answer with one JSON object, a {title}."
NOT_JSON = "That was not one JSON object."
UNFIT = "That does not fit the schema: {problems}."
AGAIN = "{why} Answer again with the JSON object alone."


class AnswerUnusable(UpstreamError):
    """A model did not give an answer in the form that was asked for."""

    code = "answer_unusable"


@dataclass(frozen=True, kw_only=True, slots=True)
class Sizes:
    """How much is asked of a model at a time: small models have small windows."""

    steps: int = 8
    claims: int = 12
    quotes: int = 3
    sides: int = 3
    contradictions: int = 6
    requests: int = 4
    text: int = 600
    """Characters of one text of an answer."""
    sources: int = 12
    excerpt: int = 6_000
    """Characters of one source that are shown."""
    shown: int = 40_000
    """Characters of all sources together."""
    repeats_schema: bool = True
    """Whether a model that is held to the schema also reads it; it takes room and time."""


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
"""For a model with a window of about 4,000 tokens."""

CAPS = {
    "steps": "steps",
    "after": "steps",
    "claims": "claims",
    "quotes": "quotes",
    "sides": "sides",
    "contradictions": "contradictions",
    "requests": "requests",
}
"""Lists of the answers → the size that bounds their length further."""


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """What came back."""

    value: T
    tokens: int
    repairs: int
    raw: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Asker:
    """Asks one model; others take its place when it fails."""

    model: BaseChatModel
    fallback: tuple[BaseChatModel, ...] = ()
    repairs: int = 2
    sizes: Sizes = field(default_factory=Sizes)

    async def ask(self, form: type[T], *, system: str, user: str, name: str = "") -> Answer[T]:
        """Ask, and ask again with the reason where the answer does not fit.

        Args:
            form: What the answer must be.
            system: What the model is told.
            user: The material.
            name: Tells questions apart that one node asks at the same time.

        Raises:
            AnswerUnusable: No answer fitted.
            BathysphereError: The model cannot be used or failed, in one sentence.
        """
        schema = schema_of(form, self.sizes)
        told = f"{system}\n\n{self._form(schema)}"
        messages: list[BaseMessage] = [SystemMessage(told), HumanMessage(user)]
        tokens, why = 0, ""
        for attempt in range(self.repairs + 1):
            message = await self._paid(messages, schema, name)
            tokens += _tokens(message)
            text = _text(message)
            try:
                value = form.model_validate(cut(extract_json(text), schema))
            except ValidationError as error:
                why = UNFIT.format(problems=_problems(error))
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
        is_held = constrained(self.model, schema) is not self.model
        if is_held and not self.sizes.repeats_schema:
            return SHORT.format(title=schema["title"])
        return FORM.format(schema=json.dumps(schema, ensure_ascii=False, separators=(",", ":")))

    async def _paid(
        self, messages: list[BaseMessage], schema: dict[str, Any], name: str
    ) -> BaseMessage:
        """What the model answers, once the call is paid for, where runs are."""
        purse = _purse()
        if purse is None:
            return await self._call(messages, schema)
        done = await metered(
            lambda: self._call(messages, schema),
            question=lambda: messages,
            answer=lambda message: [message],
            purse=purse,
            name=name,
        )
        return done.result

    async def _call(self, messages: list[BaseMessage], schema: dict[str, Any]) -> BaseMessage:
        first, *others = (constrained(model, schema) for model in (self.model, *self.fallback))
        runnable: Runnable[Any, Any] = first.with_fallbacks(others) if others else first
        try:
            # The JSON of a node is not for the readers of the run's messages.
            found = await runnable.ainvoke(messages, {"tags": [TAG_NOSTREAM]})
        except Exception as error:
            told = explain(error, name_of(self.model))
            if told is not None:
                raise told from error
            raise
        message: BaseMessage = found["raw"] if isinstance(found, Mapping) else found
        return message


def _purse() -> Purse | None:
    try:
        return purse_of(get_runtime().context)
    except RuntimeError:  # asked outside of a graph
        return None


def constrained(model: BaseChatModel, schema: dict[str, Any]) -> Runnable[Any, Any]:
    """The model, held to the schema if its client knows how; else as it is."""
    try:
        return model.with_structured_output(schema, method="json_schema", include_raw=True)
    except (NotImplementedError, TypeError, ValueError):
        return model


def schema_of(form: type[BaseModel], sizes: Sizes) -> dict[str, Any]:
    """The JSON schema of a form, with the lists and texts no longer than the sizes allow."""
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
    """An answer of a model that was not held to the schema, with lists that are too long cut."""
    if not isinstance(value, dict):
        return value
    parts = schema.get("properties", {})
    return {
        key: item[: parts[key]["maxItems"]]
        if isinstance(item, list) and "maxItems" in parts.get(key, {})
        else item
        for key, item in value.items()
    }


_THOUGHT = re.compile(r"<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)


def extract_json(text: str) -> dict[str, Any]:
    """The first JSON object of a text that may hold thoughts, fences and prose around it.

    Raises:
        ValueError: There is none.
    """
    text = _THOUGHT.sub("", text)
    decoder = json.JSONDecoder(strict=False)
    for start in (found.start() for found in re.finditer(r"\{", text)):
        try:
            value, _ = decoder.raw_decode(text, start)
        except ValueError:
            continue
        if isinstance(value, dict):
            return value
    raise ValueError("no JSON object")


def _text(message: BaseMessage) -> str:
    calls = getattr(message, "tool_calls", None)
    # Some clients get structure by a tool call of the schema's name.
    if calls and not message.text.strip():
        return json.dumps(calls[0]["args"], ensure_ascii=False)
    return message.text


def _tokens(message: BaseMessage) -> int:
    usage = getattr(message, "usage_metadata", None)
    return int(usage["total_tokens"]) if usage else 0


def _problems(error: ValidationError) -> str:
    found: Sequence[Any] = error.errors(include_input=False, include_url=False)[:4]
    return "; ".join(f"{'.'.join(map(str, one['loc'])) or 'it'}: {one['msg']}" for one in found)
