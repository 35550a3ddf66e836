"""Declaration of who may write a field of an agent's state.

    class State(TypedDict):
        question: ByClient[str]
        plan: ByModel[dict[str, Any]]
        approvals: Annotated[ByEngine[list[Approval]], append]

The server takes a field from a client only if it is declared `ByClient`. A graph that declares no
writer at all keeps LangGraph's behaviour: clients write every field.
"""

from enum import StrEnum
from typing import Annotated, TypeVar

_T = TypeVar("_T")

RESERVED_NAMESPACE = "@bathysphere"
"""First part of every store namespace that only nodes may use; the HTTP API refuses it."""


class Writer(StrEnum):
    """The least trusted party that may write a field; nodes may write all of them."""

    CLIENT = "client"
    """Whoever calls the API: input, state updates, `command.update`."""
    MODEL = "model"
    """A model, by what it answers or by the tools it calls."""
    ENGINE = "engine"
    """Only the code of nodes and middleware. A later step may rely on it."""


ByClient = Annotated[_T, Writer.CLIENT]
ByModel = Annotated[_T, Writer.MODEL]
ByEngine = Annotated[_T, Writer.ENGINE]


def thread_namespace(thread_id: str) -> tuple[str, ...]:
    """Return the store namespace of a thread's data; deleted with the thread."""
    return (RESERVED_NAMESPACE, "threads", thread_id)
