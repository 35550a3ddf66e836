"""Observation of model calls: whether they streamed anything, and the usage they reported.

LangChain's `get_usage_metadata_callback` registers a hook per use and never removes it; this one
registers once per process.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.tracers.context import register_configure_hook
from langgraph.constants import TAG_NOSTREAM


class CallObserver(AsyncCallbackHandler):
    """Records the streaming and usage of the model calls in one block."""

    def __init__(self) -> None:
        self.has_streamed = False
        """Whether any part of an answer was streamed to the run's clients."""
        self.input_tokens = 0
        self.output_tokens = 0

    async def on_llm_new_token(
        self,
        token: Any,  # noqa: ARG002  # LangChain's signature
        *,
        tags: list[str] | None = None,
        **kwargs: Any,  # noqa: ARG002
    ) -> None:
        """Record that something was streamed."""
        self.has_streamed = self.has_streamed or TAG_NOSTREAM not in (tags or ())

    async def on_stream_event(
        self,
        event: Any,  # noqa: ARG002
        *,
        tags: list[str] | None = None,
        **kwargs: Any,  # noqa: ARG002
    ) -> None:
        """Record that something was streamed, in LangChain's newer protocol."""
        self.has_streamed = self.has_streamed or TAG_NOSTREAM not in (tags or ())

    async def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:  # noqa: ARG002
        """Add the usage that the provider reported."""
        for generation in (each for batch in response.generations for each in batch):
            message = generation.message if isinstance(generation, ChatGeneration) else None
            usage: Any = getattr(message, "usage_metadata", None) or {}
            self.input_tokens += int(usage.get("input_tokens", 0))
            self.output_tokens += int(usage.get("output_tokens", 0))


_observer: ContextVar[CallObserver | None] = ContextVar("call_observer", default=None)


@cache
def _register() -> None:
    register_configure_hook(_observer, inheritable=True)


@contextmanager
def observed() -> Iterator[CallObserver]:
    """Observe the model calls made inside the block."""
    _register()
    observer = CallObserver()
    token = _observer.set(observer)
    try:
        yield observer
    finally:
        _observer.reset(token)
