"""The progress of a tour, read from the history: the ids of its tool calls name its steps."""

import re
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, field
from typing import Any, Self

from langchain_core.messages import AIMessage, BaseMessage, ToolMessage

_ID = "tour_"
_MAX_QUOTE = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class TourTurn:
    """One answer of a tour: a text and at most one tool call."""

    text: str
    step: str | None = None
    tool: str = ""
    args: dict[str, Any] = field(default_factory=dict)

    @property
    def call_id(self) -> str:
        """The id of the tool call, from which the tour later recognises the step."""
        return f"{_ID}{self.step}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Past:
    """The past steps of a tour and their results."""

    messages: Sequence[BaseMessage]
    tools: Set[str]
    called: frozenset[str]
    results: dict[str, ToolMessage]

    @classmethod
    def of(cls, messages: Sequence[BaseMessage], tools: Set[str]) -> Self:
        """Read the steps from a history."""
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
        """Return the id of a step's tool call."""
        return f"{_ID}{step}"

    def open(self, step: str, tool: str) -> bool:
        """Whether `step` was not taken yet and its tool is available."""
        return step not in self.called and tool in self.tools

    def done(self, step: str) -> bool:
        """Whether `step` was taken and succeeded."""
        result = self.results.get(step)
        return result is not None and result.status != "error"

    def text_of(self, step: str) -> str:
        """Return the result of a successful step, else an empty string."""
        return self.results[step].text if self.done(step) else ""

    def has_said(self, text: str) -> bool:
        """Whether `text` is in an earlier answer of the tour."""
        return any(isinstance(m, AIMessage) and text in m.text for m in self.messages)


def quoted(text: str) -> str:
    """Return a text on one line, truncated."""
    line = re.sub(r"\s+", " ", text).strip()
    return line if len(line) <= _MAX_QUOTE else f"{line[:_MAX_QUOTE]}…"


def todos(contents: Sequence[str], statuses: Iterable[str]) -> dict[str, Any]:
    """Build the arguments of `write_todos`."""
    pairs = zip(contents, statuses, strict=True)
    return {"todos": [{"content": content, "status": status} for content, status in pairs]}
