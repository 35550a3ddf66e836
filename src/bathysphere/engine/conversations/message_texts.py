"""The texts of a conversation: what a person and the agent said to each other."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage

from bathysphere.engine.conversations.words import MAX_TEXT

Role = Literal["person", "agent"]
_INTERNAL = "lc_source"  # names middleware that wrote a message for the model, as a summary
_ANSWER = "answer"  # the mark of a person's answer on the result of the call that asked
_ASKING = ("ask_user", "ask_choices")
_MAX_ID = 200


@dataclass(frozen=True, slots=True)
class MessageText:
    """What a message says. An answer to a question has the id of the message that asked it."""

    message_id: str
    role: Role
    text: str


def texts_of(messages: Iterable[Any]) -> list[MessageText]:
    """Return what was said, in its order; tool calls and their results are left out."""
    found: dict[tuple[str, Role], MessageText] = {}
    asked_by: dict[str, str] = {}
    for message in messages:
        if not isinstance(message, BaseMessage) or _INTERNAL in message.additional_kwargs:
            continue
        if isinstance(message, AIMessage):
            asked_by |= {str(call["id"]): str(message.id) for call in message.tool_calls}
        said = _said(message, asked_by)
        if said is None:
            continue
        before = found.get((said.message_id, said.role))
        text = said.text if before is None else f"{before.text}\n{said.text}"
        found[said.message_id, said.role] = MessageText(said.message_id, said.role, text)
    return list(found.values())


def last_text(texts: Sequence[MessageText], role: Role) -> str:
    """Return the last words of a role; empty if there are none."""
    return next((each.text for each in reversed(texts) if each.role == role), "")


def _said(message: BaseMessage, asked_by: dict[str, str]) -> MessageText | None:
    if isinstance(message, HumanMessage):
        return _text(message.id, "person", message.text)
    if isinstance(message, AIMessage):
        asked = [str(call["args"].get("question", "")) for call in _questions(message)]
        return _text(message.id, "agent", "\n\n".join(filter(None, (message.text, *asked))))
    answer = message.additional_kwargs.get(_ANSWER)
    if isinstance(message, ToolMessage) and isinstance(answer, str):
        return _text(asked_by.get(message.tool_call_id), "person", answer)
    return None


def _questions(message: AIMessage) -> list[ToolCall]:
    return [call for call in message.tool_calls if call["name"] in _ASKING]


def _text(message_id: str | None, role: Role, text: str) -> MessageText | None:
    """A text that PostgreSQL can store; None if there is nothing to store."""
    clean = _storable(text[:MAX_TEXT])
    if not message_id or len(message_id) > _MAX_ID or not clean.strip():
        return None
    return MessageText(_storable(message_id), role, clean)


def _storable(text: str) -> str:
    return text.replace("\0", "").encode(errors="replace").decode()
