"""What a history says about a tour so far: its tool calls have ids that name its steps."""

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Self

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

_ID = "tour_"
_LONGEST_QUOTE = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class TourTurn:
    """One answer of a tour: words, and at most one tool call."""

    text: str
    step: str | None = None
    tool: str = ""
    args: dict[str, Any] = field(default_factory=dict)

    @property
    def call_id(self) -> str:
        """The id of the tool call, which is how the tour knows its step later."""
        return f"{_ID}{self.step}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Past:
    """The steps of a tour that are behind, and what came of them."""

    messages: Sequence[BaseMessage]
    tools: Set[str]
    called: frozenset[str]
    results: dict[str, ToolMessage]

    @classmethod
    def of(cls, messages: Sequence[BaseMessage], tools: Set[str]) -> Self:
        """Read a history."""
        called = {
            (call["id"] or "").removeprefix(_ID)
            for message in messages
            if isinstance(message, AIMessage)
            for call in message.tool_calls
        }
        results = {
            message.tool_call_id.removeprefix(_ID): message
            for message in messages
            if isinstance(message, ToolMessage)
        }
        return cls(messages=messages, tools=tools, called=frozenset(called), results=results)

    @staticmethod
    def id_of(step: str) -> str:
        """The id of the tool call that takes a step."""
        return f"{_ID}{step}"

    def open(self, step: str, tool: str) -> bool:
        """Whether `step` is still to be taken and its tool is there."""
        return step not in self.called and tool in self.tools

    def done(self, step: str) -> bool:
        """Whether `step` was taken and went through."""
        result = self.results.get(step)
        return result is not None and result.status != "error"

    def text_of(self, step: str) -> str:
        """What came of a step that went through."""
        return self.results[step].text if self.done(step) else ""

    def said(self, text: str) -> bool:
        """Whether the tour said `text` before."""
        return any(isinstance(m, AIMessage) and text in m.text for m in self.messages)


def quoted(text: str) -> str:
    """A text on one line, not too long."""
    line = re.sub(r"\s+", " ", text).strip()
    return line if len(line) <= _LONGEST_QUOTE else f"{line[:_LONGEST_QUOTE]}…"


def todos(contents: Sequence[str], statuses: Iterable[str]) -> dict[str, Any]:
    """The arguments of a call that writes a todo list."""
    pairs = zip(contents, statuses, strict=True)
    return {"todos": [{"content": content, "status": status} for content, status in pairs]}
