"""One step: the agent makes one tool call at a time, and sees its result before the next.

For models that lose track of several: of the calls in one answer only the first is kept. The model
makes the others again if it still needs them.

Order: inside Flow and Approvals, so that they judge only the call that is made. No state.
"""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from langchain.agents.middleware.types import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage

CALL_BLOCKS = frozenset({"tool_use", "tool_call", "function_call"})
"""Types of content blocks that are calls, by provider."""


class OneStepMiddleware(AgentMiddleware[Any, Any, Any]):
    """Keeps the first tool call of an answer."""

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model and keep its first call."""
        return _first_call(handler(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Call the model and keep its first call."""
        return _first_call(await handler(request))


def _first_call(response: ModelResponse[Any]) -> ModelResponse[Any]:
    return replace(response, result=[_with_one_call(message) for message in response.result])


def _with_one_call(message: BaseMessage) -> Any:
    if not isinstance(message, AIMessage) or len(message.tool_calls) < 2:
        return message
    first = message.tool_calls[0]
    changed = {"tool_calls": [first], "content": _content(message.content, first["id"])}
    raw = message.additional_kwargs.get("tool_calls")
    if isinstance(raw, list):
        kept = [call for call in raw if call.get("id") == first["id"]]
        changed["additional_kwargs"] = {**message.additional_kwargs, "tool_calls": kept}
    return message.model_copy(update=changed)


def _content(content: Any, kept: str | None) -> Any:
    """The content without the blocks of other calls; some providers repeat calls there."""
    if not isinstance(content, list):
        return content
    return [
        block
        for block in content
        if not isinstance(block, dict)
        or block.get("type") not in CALL_BLOCKS
        or kept in (block.get("id"), block.get("call_id"))
    ]
