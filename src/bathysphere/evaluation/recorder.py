"""Records the calls and the tokens of a run, of any agent of the tree, by LangChain's callbacks."""

from typing import Any, NamedTuple
from uuid import UUID

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatGeneration, LLMResult


class MadeCall(NamedTuple):
    """A tool call that ran."""

    tool: str
    args: dict[str, Any]


class Recorder(AsyncCallbackHandler):
    """Counts what a run did, in the same way for every harness."""

    def __init__(self) -> None:
        self.calls: list[MadeCall] = []
        self.model_calls = 0
        self.input_tokens = 0
        self.output_tokens = 0

    async def on_chat_model_start(
        self,
        serialized: dict[str, Any],  # noqa: ARG002  # LangChain's signature
        messages: list[list[BaseMessage]],  # noqa: ARG002
        **kwargs: Any,  # noqa: ARG002
    ) -> None:
        """Count a model call."""
        self.model_calls += 1

    async def on_tool_start(
        self,
        serialized: dict[str, Any],
        input_str: str,  # noqa: ARG002
        *,
        run_id: UUID,  # noqa: ARG002
        inputs: dict[str, Any] | None = None,
        **kwargs: Any,  # noqa: ARG002
    ) -> None:
        """Record a tool call."""
        self.calls.append(MadeCall(str(serialized.get("name")), dict(inputs or {})))

    async def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:  # noqa: ARG002
        """Add the usage that the provider reported."""
        for generation in (each for batch in response.generations for each in batch):
            message = generation.message if isinstance(generation, ChatGeneration) else None
            usage: Any = getattr(message, "usage_metadata", None) or {}
            self.input_tokens += int(usage.get("input_tokens", 0))
            self.output_tokens += int(usage.get("output_tokens", 0))
