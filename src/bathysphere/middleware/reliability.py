"""Reliability: retries transient model errors, falls back to other models, and explains failures.

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

_MAX_DELAY_S = 30.0


class ExplainModelErrors(AgentMiddleware[Any, Any, Any]):
    """Converts a provider's error into a Bathysphere error with a hint."""

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model and explain errors."""
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
        """Call the model and explain errors."""
        try:
            return await handler(request)
        except Exception as error:
            _raise_explained(error, request)
            raise


def reliability(
    settings: ModelSettings, *, fallback: tuple[BaseChatModel, ...] = ()
) -> tuple[AgentMiddleware[Any, Any, Any], ...]:
    """Middleware that retries failed model calls and falls back to other models.

    Args:
        settings: Number of retries and their delay.
        fallback: Models to try next, in order, as in `Models.fallback`.
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
                max_delay=max(_MAX_DELAY_S, settings.retry_delay_s),
            )
        )
    return (*chain, ExplainModelErrors())


def _raise_explained(error: Exception, request: ModelRequest[Any]) -> None:
    explained = explain(error, name_of(request.model))
    if explained is not None:
        raise explained from error
