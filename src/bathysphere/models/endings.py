"""Messages with which a middleware ends a run: a limit was reached, a payment was declined, a loop.

They take the place of a model's answer. Middleware that inspects answers, and may send the run back
to the model, must leave these alone.
"""

from typing import Literal

from langchain_core.messages import AIMessage, BaseMessage

EndedBy = Literal["limits", "payments", "loops", "text_calls"]
_MARK = "bathysphere_ended_by"


def ending(text: str, layer: EndedBy) -> AIMessage:
    """Create the last message of a run that a middleware ends."""
    return AIMessage(text, response_metadata={_MARK: layer})


def ended_by(message: BaseMessage) -> str | None:
    """Return the middleware that ended the run with this message; None for a model's answer."""
    return getattr(message, "response_metadata", {}).get(_MARK)
