"""Earlier calls that wrote a note, without its text: the store has what still holds."""

from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage

REDACTED = "(see your notes)"
TEXTS = ("content", "old_string", "new_string")
"""Arguments of the file tools that hold a note's text."""
_RAW = ("tool_calls", "function_call")  # the provider's own form of the calls


def without_texts(message: AnyMessage, is_note: Callable[[Mapping[str, Any]], bool]) -> AnyMessage:
    """The message with the texts of notes taken out of its calls."""
    if not isinstance(message, AIMessage) or not any(map(is_note, message.tool_calls)):
        return message
    calls = [
        {**call, "args": _without_text(call["args"])} if is_note(call) else call
        for call in message.tool_calls
    ]
    given = {call["id"]: call["args"] for call in calls}
    content = message.content
    if isinstance(content, list):  # some providers repeat the call in a content block
        content = [
            {**block, "input": given[block["id"]]}
            if isinstance(block, dict) and block.get("type") == "tool_use" and block["id"] in given
            else block
            for block in content
        ]
    extra = {key: value for key, value in message.additional_kwargs.items() if key not in _RAW}
    return message.model_copy(
        update={"tool_calls": calls, "content": content, "additional_kwargs": extra}
    )


def _without_text(args: Mapping[str, Any]) -> dict[str, Any]:
    return {key: REDACTED if key in TEXTS else value for key, value in args.items()}
