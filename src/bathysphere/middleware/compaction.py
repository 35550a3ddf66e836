"""Compaction: old history becomes a summary when the model's window fills.

deepagents' summarization, with a token count that remembers what it counted: upstream counts every
message and every tool schema again for each model call, a third of the loop's time. The summary is
written by the `summary` model where a specification names one.

Order: as in deepagents, outside the layers that count calls. State: deepagents' own.
"""

import weakref
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from deepagents.backends.protocol import BackendProtocol
from deepagents.middleware.summarization import (
    SummarizationMiddleware,
    compute_summarization_defaults,
)
from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AnyMessage, BaseMessage
from langchain_core.messages.utils import count_tokens_approximately

AroundSummary = Callable[[Callable[[], Awaitable[str]], list[AnyMessage]], Awaitable[str | None]]
"""Writes a summary, given how and of what; None: it is not to be written."""


class CompactionMiddleware(SummarizationMiddleware):
    """Summarises old history; `allow_summary` is asked before the model call that takes.

    `around_summary` makes that call.
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
        """Make the history fit, then call the model."""
        try:
            return super().wrap_model_call(request, handler)
        except _NoSummaryError:
            return handler(request)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Make the history fit, then call the model."""
        try:
            return await super().awrap_model_call(request, handler)
        except _NoSummaryError:
            return await handler(request)

    def _create_summary(self, messages_to_summarize: list[AnyMessage]) -> str:
        self._ask()
        return super()._create_summary(messages_to_summarize)

    async def _acreate_summary(self, messages_to_summarize: list[AnyMessage]) -> str:
        async def write() -> str:
            self._ask()
            return await inherited(messages_to_summarize)

        inherited = super()._acreate_summary
        if self._around_summary is None:
            return await write()
        summary = await self._around_summary(write, messages_to_summarize)
        if summary is None:
            raise _NoSummaryError
        return summary

    def _ask(self) -> None:
        if not self._allow_summary():
            raise _NoSummaryError


class _NoSummaryError(Exception):
    """No summary is written: the run is at a limit, or nobody pays for it."""


class TokenCounter:
    """`count_tokens_approximately`, each message and each set of tools counted once."""

    def __init__(self) -> None:
        self._messages: dict[int, tuple[weakref.ref[BaseMessage], int]] = {}
        self._tools: dict[tuple[int, ...], tuple[list[Any], int]] = {}

    def __call__(self, messages: Iterable[Any], *, tools: list[Any] | None = None) -> int:
        """Tokens of the messages and tool schemas together."""
        return sum(map(self._of_message, messages)) + (self._of_tools(tools) if tools else 0)

    def _of_message(self, message: BaseMessage) -> int:
        key = id(message)
        known = self._messages.get(key)
        if known is not None and known[0]() is message:
            return known[1]
        tokens = count_tokens_approximately([message])
        gone = weakref.ref(message, lambda _: self._messages.pop(key, None))
        self._messages[key] = (gone, tokens)
        return tokens

    def _of_tools(self, tools: list[Any]) -> int:
        key = tuple(map(id, tools))
        known = self._tools.get(key)
        if known is None:
            if len(self._tools) > 64:  # tool lists that change with every call must not pile up
                self._tools.clear()
            # The tools are kept with their count, so that an id cannot come to mean another tool.
            known = self._tools[key] = (list(tools), count_tokens_approximately([], tools=tools))
        return known[1]
