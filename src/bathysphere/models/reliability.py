"""Reliability: passing errors are tried again, then other models, and what is left is explained.

Order: `ModelFallbackMiddleware` outside, `ModelRetryMiddleware` inside it, so that every model of
the chain gets its retries; `ExplainModelErrors` innermost, where the model that failed is known.
Put the same middlewares on the main agent and on every subagent.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import (
    AgentMiddleware,
    ModelFallbackMiddleware,
    ModelRequest,
    ModelResponse,
    ModelRetryMiddleware,
)
from langchain_core.language_models import BaseChatModel

from bathysphere.models.failures import explain, is_transient
from bathysphere.models.resolve import name_of
from bathysphere.models.settings import ModelSettings

_LONGEST_DELAY_S = 30.0


class ExplainModelErrors(AgentMiddleware[Any, Any, Any]):
    """Turns a provider's error into one of ours: a sentence and what to do about it."""

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model; explain its failure."""
        try:
            return handler(request)
        except Exception as error:
            _raise_explained(error, request)
            raise

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Call the model; explain its failure."""
        try:
            return await handler(request)
        except Exception as error:
            _raise_explained(error, request)
            raise


def reliability(
    settings: ModelSettings, *, fallback: tuple[BaseChatModel, ...] = ()
) -> tuple[AgentMiddleware[Any, Any, Any], ...]:
    """The middlewares that keep an agent going when a model fails.

    Args:
        settings: How often to try again, and how long to wait before that.
        fallback: The models to try next, in order, as `Models.fallback` has them.
    """
    chain: list[AgentMiddleware[Any, Any, Any]] = []
    if fallback:
        chain.append(ModelFallbackMiddleware(*fallback))
    if settings.retries:
        chain.append(
            ModelRetryMiddleware(
                max_retries=settings.retries,
                retry_on=is_transient,
                on_failure="error",
                initial_delay=settings.retry_delay_s,
                max_delay=max(_LONGEST_DELAY_S, settings.retry_delay_s),
            )
        )
    return (*chain, ExplainModelErrors())


def _raise_explained(error: Exception, request: ModelRequest[Any]) -> None:
    explained = explain(error, name_of(request.model))
    if explained is not None:
        raise explained from error
