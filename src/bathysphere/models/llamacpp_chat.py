"""The chat model of llama.cpp's server, which tells how much of a prompt it has read.

On a CPU a long prompt takes a minute to read, in which nothing else happens. The server reports its
progress in the stream (`return_progress`); each report becomes a custom event of the run, named
`prompt_progress`, and no part of the answer.
"""

from contextlib import suppress
from typing import Any

from langchain_core.outputs import ChatGenerationChunk
from langchain_openai import ChatOpenAI
from langgraph.config import get_stream_writer

PROMPT_PROGRESS = "prompt_progress"
"""The name of the custom event, and of the field in llama.cpp's stream."""
NOTICEABLE_TOKENS = 256
"""Fewer are read in a moment, and not worth an event."""


class ChatLlamaCpp(ChatOpenAI):
    """Chat completions of llama.cpp."""

    def _convert_chunk_to_generation_chunk(
        self,
        chunk: dict[str, Any],
        default_chunk_class: type,
        base_generation_info: dict[str, Any] | None,
    ) -> ChatGenerationChunk | None:
        progress = chunk.get(PROMPT_PROGRESS)
        if not isinstance(progress, dict):
            return super()._convert_chunk_to_generation_chunk(
                chunk, default_chunk_class, base_generation_info
            )
        if progress["total"] - progress["cache"] >= NOTICEABLE_TOKENS:
            with suppress(RuntimeError):  # outside a run nobody listens
                get_stream_writer()({"name": PROMPT_PROGRESS, "payload": reading(progress)})
        return None


def reading(progress: dict[str, Any]) -> dict[str, Any]:
    """How much of a prompt was read, and about how many seconds the rest will take."""
    total, cached, read = progress["total"], progress["cache"], progress["processed"]
    done = read - cached
    seconds = progress["time_ms"] / 1000 * (total - read) / done if done > 0 else None
    return {
        "read": read,
        "total": total,
        "cached": cached,
        "seconds_left": None if seconds is None else round(seconds, 1),
    }
