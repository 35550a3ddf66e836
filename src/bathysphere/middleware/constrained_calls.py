"""Constrained calls: a model that makes no native calls is held to words or one valid call.

For a model whose report says that it calls no tool, but keeps to a JSON schema
(`ModelReport.needs_constraint`), each step is one JSON object in the provider's own way of
constraining answers (`response_format`, Ollama's `format`). The tools are described once, at the
end of the system prompt, and are not sent as tools: servers refuse both together, or tools that the
model's template does not know. What comes back is an ordinary answer or an ordinary call.

If the server refuses the schema, but not the same request without it, the agent goes on with calls
in text for that model, and the log says so once.

Order: directly inside Text calls, which asks again if a call does not fit or was cut off, and
outside Limits. State: none.
"""

import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from http import HTTPStatus
from typing import Any

from langchain.agents.middleware.types import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.callbacks import adispatch_custom_event, dispatch_custom_event
from langchain_core.exceptions import ContextOverflowError
from langchain_core.messages import AIMessage, SystemMessage, ToolCall
from langchain_core.messages.tool import invalid_tool_call

from bathysphere.core.ids import new_id
from bathysphere.core.usage import CORRECTION_EVENT
from bathysphere.models.constrained_calls import (
    Step,
    functions_of,
    must_call,
    read_step,
    step_schema,
    written,
)
from bathysphere.models.corrections import answer_of
from bathysphere.models.failures import status_of
from bathysphere.models.held_text import marked
from bathysphere.models.resolve import calls_constrained, name_of
from bathysphere.models.structured_output import schema_settings
from bathysphere.models.tool_names import tool_name
from bathysphere.models.tool_schemas import misfit

# ── text for the model ──

FORMS = 'Answer with one JSON object. To call a tool: {"next": {"tool": "NAME", "arguments": {…}}}.'
WORDS = ' To say something to the person: {"next": {"answer": "…"}}.'
TOOLS = "Tools, with the JSON schemas of their arguments:"

REFUSED = "%s refused a JSON schema for tool calls; calls in text are used instead: %s"
_REFUSALS = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.INTERNAL_SERVER_ERROR,  # Ollama, for a schema it cannot convert
    HTTPStatus.NOT_IMPLEMENTED,
)
_SCHEMA_SETTINGS = ("response_format", "format", "extra_body")

log = logging.getLogger(__name__)


class ConstrainedCallsMiddleware(AgentMiddleware[Any, Any, Any]):
    """Constrains the steps of a model that makes no native calls."""

    def __init__(self) -> None:
        super().__init__()
        self._refused: set[str] = set()

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model, constrained if it needs to be."""
        asked = self._constrained(request)
        if asked is None:
            return handler(request)
        try:
            return _translated(handler(asked), request.tools)
        except Exception as error:
            if _may_be_schema(error):
                response = handler(request)  # raises if the schema was not the reason
                data = self._remember(request, error)
                with suppress(RuntimeError):  # outside a run there is no trace
                    dispatch_custom_event(CORRECTION_EVENT, data)
                return response
            raise

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Call the model, constrained if it needs to be."""
        asked = self._constrained(request)
        if asked is None:
            return await handler(request)
        try:
            return _translated(await handler(asked), request.tools)
        except Exception as error:
            if _may_be_schema(error):
                response = await handler(request)
                data = self._remember(request, error)
                with suppress(RuntimeError):
                    await adispatch_custom_event(CORRECTION_EVENT, data)
                return response
            raise

    def _constrained(self, request: ModelRequest[Any]) -> ModelRequest[Any] | None:
        is_free = not calls_constrained(request.model) or name_of(request.model) in self._refused
        return None if is_free else constrained(request)

    def _remember(self, request: ModelRequest[Any], error: Exception) -> dict[str, str]:
        name = name_of(request.model)
        if name not in self._refused:
            log.warning(REFUSED, name, error)
        self._refused.add(name)
        return {"kind": "schema_refused", "about": name}


def _may_be_schema(error: Exception) -> bool:
    """Whether a server may have refused a request because of the schema."""
    return status_of(error) in _REFUSALS and not isinstance(error, ContextOverflowError)


def constrained(request: ModelRequest[Any]) -> ModelRequest[Any] | None:
    """The request with a schema in place of its tools; None if that cannot be.

    It cannot without tools, if the agent asks for a form of its own, or if the provider has no way
    to constrain answers.
    """
    is_taken = request.response_format is not None or any(
        key in request.model_settings for key in _SCHEMA_SETTINGS
    )
    if not request.tools or request.tool_choice == "none" or is_taken:
        return None
    functions = functions_of(request.tools, request.tool_choice)
    has_words = not must_call(request.tool_choice)
    if not functions:
        return None
    settings = schema_settings(request.model, step_schema(functions, words=has_words))
    if not settings:
        return None
    return request.override(
        model=marked(request.model, is_step=True),
        system_message=_described(request.system_message, functions, has_words=has_words),
        messages=written(request.messages),
        tools=[],
        tool_choice=None,
        model_settings={**request.model_settings, **settings},
    )


def _described(
    prompt: SystemMessage | None, functions: Sequence[dict[str, Any]], *, has_words: bool
) -> SystemMessage:
    """The system prompt, then the tools: what is the same in each step comes first."""
    rows = [json.dumps(one, ensure_ascii=False, separators=(",", ":")) for one in functions]
    words = "\n".join([FORMS + (WORDS if has_words else ""), TOOLS, *rows])
    if prompt is not None and isinstance(prompt.content, list):
        return SystemMessage([*prompt.content, {"type": "text", "text": f"\n\n{words}"}])
    return SystemMessage(f"{prompt.text if prompt else ''}\n\n{words}".strip())


def _translated(response: ModelResponse[Any], tools: Sequence[Any]) -> ModelResponse[Any]:
    """The response with an ordinary message in place of a step."""
    answer = answer_of(response)
    if answer is None or answer.tool_calls:
        return response
    step = read_step(answer.text)
    if step is None:
        return response  # the server ignored the schema; Text calls reads it
    return replace(response, result=[answer.model_copy(update=_fields(step, answer, tools))])


def _fields(step: Step, answer: AIMessage, tools: Sequence[Any]) -> dict[str, Any]:
    if step.words is not None:
        return {"content": step.words}
    if step.arguments is None:
        cut = invalid_tool_call(name=step.tool, args=answer.text, id=new_id("call"), error=None)
        return {"content": "", "invalid_tool_calls": [cut]}
    tool = next((each for each in tools if tool_name(each) == step.tool), None)
    if tool is None or misfit(tool, step.arguments):
        # In the form in which Text calls finds it, and asks for it again with the reason.
        text = json.dumps({"name": step.tool, "arguments": step.arguments}, ensure_ascii=False)
        return {"content": text}
    call = ToolCall(name=step.tool, args=step.arguments, id=new_id("call"), type="tool_call")
    return {"content": "", "tool_calls": [call]}
