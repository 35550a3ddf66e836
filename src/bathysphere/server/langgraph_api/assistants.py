"""Assistants in LangGraph's format: one per served graph, and those that users store.

The assistant of a graph is addressed by the graph's name or an id derived from it, which is the
same on every server, so that clients may store it. It is read-only and visible to everyone. A
stored assistant is visible to its owner only.
"""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from bathysphere.core.errors import CallerError
from bathysphere.core.identity import Owner
from bathysphere.engine.assistants import Assistant, AssistantDefinition
from bathysphere.engine.errors import AssistantNotFound, GraphNotFound
from bathysphere.engine.graphs import Graphs
from bathysphere.engine.records import Work
from bathysphere.server.langgraph_api.assistant_ids import assistant_id
from bathysphere.server.langgraph_api.chosen_model import MODEL
from bathysphere.server.langgraph_api.graph_names import graph_name
from bathysphere.server.process.services import Services

Json = dict[str, Any]
_CREATED_AT = datetime(2026, 1, 1, tzinfo=UTC)


class AssistantReadOnly(CallerError):
    """The assistant of a graph cannot be changed."""

    code = "assistant_read_only"


def system_assistants(graphs: Graphs) -> list[Assistant]:
    """The assistants of all graphs."""
    return [_system_assistant(graphs, name) for name in graphs.names()]


def find_system_assistant(graphs: Graphs, name: str) -> Assistant | None:
    """Return the assistant of a graph by the graph's name, an alias of it or its own id."""
    names = graphs.names()
    name = graph_name(graphs, name)
    graph = name if name in names else next((g for g in names if assistant_id(g) == name), None)
    return _system_assistant(graphs, graph) if graph is not None else None


async def find_assistant(services: Services, name: str, *, owner: Owner) -> Assistant:
    """Return an assistant by its id, or the assistant of a graph by the graph's name.

    Raises:
        GraphNotFound: There is none, or it belongs to another owner.
    """
    graphs = services.graphs
    if (system := find_system_assistant(graphs, name)) is not None:
        return system
    try:
        return await services.assistants.get(UUID(name), owner=owner)
    except (ValueError, AssistantNotFound):
        hint = f"available: {', '.join(graphs.names())}"
        raise GraphNotFound(f"Unknown assistant {name!r}", hint=hint) from None


async def find_stored(services: Services, name: str, *, owner: Owner) -> UUID:
    """Return the id of an assistant that its owner may change.

    Raises:
        AssistantReadOnly: It is the assistant of a graph.
        GraphNotFound: There is none, or it belongs to another owner.
    """
    found = await find_assistant(services, name, owner=owner)
    if found.is_system:
        raise AssistantReadOnly(
            f"The assistant of graph {found.definition.graph!r} is read-only",
            hint="create an assistant with this graph_id instead",
        )
    return found.assistant_id


def assistant_json(assistant: Assistant) -> Json:
    """An assistant in LangGraph's format."""
    view = assistant.to_json()
    return {"graph_id": view.pop("graph"), **view}


def without_context(assistant: Assistant) -> Assistant:
    """The same without a context: an answer keeps the context of the run that asked."""
    return replace(assistant, definition=replace(assistant.definition, context={}))


def thread_marks(assistant: Assistant, work: Work) -> dict[str, str]:
    """What a thread's metadata says of the assistant and the chosen model it was last used with."""
    graph, identity = assistant.definition.graph, str(assistant.assistant_id)
    chosen = {MODEL: work.model} if work.model is not None else {}
    return {"graph_id": graph, "assistant_id": identity, **chosen}


def _system_assistant(graphs: Graphs, graph: str) -> Assistant:
    is_default = graph == graphs.default
    return Assistant(
        assistant_id=UUID(assistant_id(graph)),
        version=1,
        definition=AssistantDefinition(
            graph=graph,
            name=graph,
            description=graphs.description(graph),
            metadata={"created_by": "system", **({"default": True} if is_default else {})},
        ),
        created_at=_CREATED_AT,
        updated_at=_CREATED_AT,
        is_system=True,
    )
