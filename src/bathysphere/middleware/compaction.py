"""Compaction: summarizes old history when the model's context window fills up.

deepagents' summarization with cached token counts: upstream counts every message and tool schema
again for each model call, which takes a third of the loop's time. The `summary` model writes the
summary, if the spec has one.

Order: as in deepagents, outside the layers that count calls. State: that of deepagents.
"""

import weakref
from collections.abc import Awaitable, Callable, Iterable
from copy import copy
from typing import Any

from deepagents.backends.protocol import BackendProtocol
from deepagents.middleware.summarization import (
    SummarizationMiddleware,
    compute_summarization_defaults,
)
from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, ToolMessage
from langchain_core.messages.utils import count_tokens_approximately

from bathysphere.models.tokens import Limit

AroundSummary = Callable[
    [Callable[[Limit], Awaitable[str]], list[AnyMessage]], Awaitable[str | None]
]
"""Wraps the call that writes a summary; returns None if it must not be written."""


TRUNCATED_TOOLS = frozenset(("write_file", "edit_file"))
"""The tools whose arguments upstream shortens."""


class CompactionMiddleware(SummarizationMiddleware):
    """Summarizes old history, if `allow_summary` permits the model call.

    `around_summary` wraps that call.
    """

    def __init__(
        self,
        model: BaseChatModel,
        backend: BackendProtocol,
        *,
        summary_model: BaseChatModel | None = None,
        allow_summary: Callable[[], bool],
        around_summary: AroundSummary | None = None,
    ) -> None:
        defaults = compute_summarization_defaults(model)
        super().__init__(
            model=model,
            backend=backend,
            trigger=defaults["trigger"],
            keep=defaults["keep"],
            token_counter=TokenCounter(),
            trim_tokens_to_summarize=None,
            truncate_args_settings=defaults["truncate_args_settings"],
            summarizer=summary_model,
        )
        self._allow_summary = allow_summary
        self._around_summary = around_summary

    @property
    def name(self) -> str:
        """The name of the deepagents layer that this one replaces."""
        return "SummarizationMiddleware"

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Shorten the history if needed, then call the model."""
        try:
            return super().wrap_model_call(request, handler)
        except _NoSummaryError:
            return handler(request)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Shorten the history if needed, then call the model."""
        try:
            return await super().awrap_model_call(request, handler)
        except _NoSummaryError:
            return await handler(request)

    def _create_summary(self, messages_to_summarize: list[AnyMessage]) -> str:
        self._check_allowed()
        return super()._create_summary(messages_to_summarize)

    async def _acreate_summary(self, messages_to_summarize: list[AnyMessage]) -> str:
        async def write(limit: Limit) -> str:
            self._check_allowed()
            return str(await self._limited(limit)._acreate_summary(messages_to_summarize))

        if self._around_summary is None:
            return await write(lambda model: model)
        summary = await self._around_summary(write, messages_to_summarize)
        if summary is None:
            raise _NoSummaryError
        return summary

    def _truncate_args(
        self, messages: list[AnyMessage], total_tokens: int
    ) -> tuple[list[AnyMessage], bool]:
        """Shorten long arguments of old file changes, if there are any."""
        if TRUNCATED_TOOLS.isdisjoint(_called(messages)):
            return messages, False
        shortened: tuple[list[AnyMessage], bool] = super()._truncate_args(messages, total_tokens)
        return shortened

    def _limited(self, limit: Limit) -> Any:
        """LangChain's summarization helper, with limited output."""
        helper = copy(self._lc_helper)
        retrying: Any = helper._summary_model
        helper._summary_model = retrying.model_copy(update={"bound": limit(retrying.bound)})
        return helper

    def _check_allowed(self) -> None:
        if not self._allow_summary():
            raise _NoSummaryError


def _called(messages: Iterable[AnyMessage]) -> list[str]:
    """The names of the tools that a history calls."""
    return [
        call["name"]
        for message in messages
        # `isinstance` is slow for a message of another class.
        if type(message) is not ToolMessage and isinstance(message, AIMessage)
        for call in message.tool_calls
    ]


class _NoSummaryError(Exception):
    """No summary is written: a limit is reached, or the call was not paid for."""


class TokenCounter:
    """`count_tokens_approximately` with a cache per message and per set of tools."""

    def __init__(self) -> None:
        self._messages: dict[int, int] = {}
        self._alive: dict[int, weakref.ref[BaseMessage]] = {}
        self._tools: dict[tuple[int, ...], tuple[list[Any], int]] = {}

    def __call__(self, messages: Iterable[Any], *, tools: list[Any] | None = None) -> int:
        """Count the tokens of messages and tool schemas."""
        counted, known = list(messages), self._messages
        for message in [message for message in counted if id(message) not in known]:
            self._add(message)
        return sum(map(known.__getitem__, map(id, counted))) + (
            self._of_tools(tools) if tools else 0
        )

    def _add(self, message: BaseMessage) -> None:
        """Count a message once; its id is forgotten with it, before another object can have it."""
        key = id(message)
        self._messages[key] = count_tokens_approximately([message])
        self._alive[key] = weakref.ref(message, lambda _: self._forget(key))

    def _forget(self, key: int) -> None:
        self._messages.pop(key, None)
        self._alive.pop(key, None)

    def _of_tools(self, tools: list[Any]) -> int:
        key = tuple(map(id, tools))
        known = self._tools.get(key)
        if known is None:
            if len(self._tools) > 64:  # bound the cache when tool lists keep changing
                self._tools.clear()
            # Keep the tools alive, so that their ids are not reused.
            known = self._tools[key] = (list(tools), count_tokens_approximately([], tools=tools))
        return known[1]
