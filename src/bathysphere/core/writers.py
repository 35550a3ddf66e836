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
"""First segment of store namespaces reserved for nodes; the HTTP API refuses it."""


class Writer(StrEnum):
    """The least trusted party that may write a field; nodes may write all of them."""

    CLIENT = "client"
    """Callers of the API: input, state updates, `command.update`."""
    MODEL = "model"
    """A model, through its answers or tool calls."""
    ENGINE = "engine"
    """Only the code of nodes and middleware; later steps may trust the field."""


ByClient = Annotated[_T, Writer.CLIENT]
ByModel = Annotated[_T, Writer.MODEL]
ByEngine = Annotated[_T, Writer.ENGINE]


def thread_namespace(thread_id: str) -> tuple[str, ...]:
    """Return the store namespace of a thread's data; deleted with the thread."""
    return (RESERVED_NAMESPACE, "threads", thread_id)
