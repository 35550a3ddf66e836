"""A person's messages in a history, found fast: most messages are a model's and its tools'."""

from collections.abc import Iterable

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

_NOT_A_PERSONS = frozenset((AIMessage, ToolMessage))
"""Checked first, since `isinstance` is slow for a message that is of another class."""


def human_messages(messages: Iterable[AnyMessage]) -> list[tuple[int, HumanMessage]]:
    """The human messages, each with its place in the history; some are synthetic."""
    return [
        (place, message)
        for place, message in enumerate(messages)
        if type(message) not in _NOT_A_PERSONS and isinstance(message, HumanMessage)
    ]
