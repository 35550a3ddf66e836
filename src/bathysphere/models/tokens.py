"""Token limits and counts for calls that are charged per token.

`limit_output` limits a model to the output that was paid for. `count_input` counts the tokens that
a call sends: with the model's tokenizer if it has one (`custom_get_token_ids`), else with an upper
bound of one token per byte of UTF-8. The byte-level and byte-fallback tokenizers of today's chat
models never produce more tokens than bytes, and no tighter bound holds for every text: random
letters and emoji come close. If the provider reports usage, the bound only determines how much is
reserved.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

Tokenizer = Callable[[str], list[int]]
Limit = Callable[[BaseChatModel], BaseChatModel]
"""Limits the output of a model."""

TOKENS_PER_PART = 24
"""Overhead of a chat template per message or tool: role, separators, special tokens."""
TOKENS_PER_IMAGE = 4096
"""Providers count images by their size in pixels; this is about the maximum."""

_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict")
"""Names that clients use for the maximum number of output tokens."""
_IMAGES = {"image", "image_url", "input_image"}


def limit_output(model: BaseChatModel, tokens: int | None) -> BaseChatModel:
    """Return the model limited to `tokens` per answer; its own lower limit is kept.

    A model whose client has no such limit is returned unchanged.
    """
    field = next((name for name in _LIMITS if name in type(model).model_fields), None)
    if tokens is None or field is None or _is_lower(getattr(model, field), tokens):
        return model
    return model.model_copy(update={field: tokens})


def limit_settings(settings: Mapping[str, Any], tokens: int | None) -> dict[str, Any]:
    """Return the settings of a call, with output limits capped at `tokens`."""
    if tokens is None:
        return dict(settings)
    return {
        name: tokens if name in _LIMITS and not _is_lower(value, tokens) else value
        for name, value in settings.items()
    }


def _is_lower(limit: int | None, tokens: int) -> bool:
    # Ollama writes "no limit" as a negative number.
    return limit is not None and 0 < limit <= tokens


def tokenizer_of(model: BaseChatModel) -> Tokenizer | None:
    """Return the model's configured tokenizer, if any; never uses the network."""
    return getattr(model, "custom_get_token_ids", None)


def count_input(parts: Iterable[Any], tokenizer: Tokenizer | None = None) -> int:
    """Count the tokens of messages, tools and schemas; an upper bound without a tokenizer."""
    return sum(TOKENS_PER_PART + _count_part(part, tokenizer) for part in parts)


def _count_part(part: Any, tokenizer: Tokenizer | None) -> int:
    if isinstance(part, BaseMessage):
        return _count_message(part, tokenizer)
    if isinstance(part, str | tuple):
        return _count_text(str(part), tokenizer)
    shape = part if isinstance(part, Mapping) else convert_to_openai_tool(part)
    return _count_text(_json(shape), tokenizer)


def _count_message(message: BaseMessage, tokenizer: Tokenizer | None) -> int:
    texts = [message.name or ""]
    images = 0
    content = message.content
    for block in [content] if isinstance(content, str) else content:
        if isinstance(block, str):
            texts.append(block)
        elif block.get("type") in _IMAGES:
            images += 1
        else:
            texts.append(_json(block))
    if isinstance(message, AIMessage) and message.tool_calls:
        texts.append(_json(message.tool_calls))
    if isinstance(message, ToolMessage):
        texts.append(message.tool_call_id)
    return images * TOKENS_PER_IMAGE + sum(_count_text(text, tokenizer) for text in texts)


def _count_text(text: str, tokenizer: Tokenizer | None) -> int:
    if tokenizer is not None:
        return len(tokenizer(text))
    return len(text.encode("utf-8", "surrogatepass"))


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
