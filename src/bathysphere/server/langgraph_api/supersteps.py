"""Create a thread with a history: the updates of each superstep, as if its nodes had run."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from langgraph.errors import InvalidUpdateError
from langgraph.types import Command, Send, StateUpdate

from bathysphere.core.identity import Owner
from bathysphere.engine.database.sealed_saver import SealedSaver
from bathysphere.engine.graphs import Graphs
from bathysphere.server.errors import InvalidRequest, NotSupported
from bathysphere.server.langgraph_api.client_writes import check_order, check_values
from bathysphere.server.langgraph_api.run_requests import goto_targets, node_names
from bathysphere.server.process.services import Services
from bathysphere.server.schemas.threads import Superstep, SuperstepUpdate


def check_supersteps(graphs: Graphs, graph: Any, supersteps: Sequence[Superstep]) -> None:
    """Check that a client may write these updates to a new thread of the graph.

    Raises:
        InvalidRequest: The thread names no graph.
        FieldNotWritable: An update writes a field that clients may not write, or chooses a node.
    """
    if not isinstance(graph, str):
        raise InvalidRequest("`supersteps` needs a graph", hint="send metadata.graph_id")
    graphs.require(graph)
    for update in (update for step in supersteps for update in step.updates):
        command = update.command
        if command is not None and command.resume is not None:
            raise NotSupported("`resume` cannot be part of a superstep", hint="start a run with it")
        check_values(graphs, graph, command.update if command is not None else update.values)
        nodes = node_names(goto_targets(command.goto)) if command is not None else ()
        check_order(graphs, graph, [update.as_node, *nodes], option="as_node")


async def write_supersteps(
    services: Services, thread_id: UUID, supersteps: Sequence[Superstep], *, owner: Owner
) -> None:
    """Write the history of a thread that was just created; on failure it is deleted again.

    Raises:
        InvalidRequest: The graph cannot apply an update.
    """
    graph = await services.states.graph_of(thread_id, owner=owner)
    updates = [[_state_update(update) for update in step.updates] for step in supersteps]
    try:
        async with services.threads.lock_idle(thread_id, owner=owner) as connection:
            cipher = services.pool.encryption.tenant(owner.tenant)
            saver = SealedSaver(connection, cipher)
            bound = services.graphs.bind(str(graph), checkpointer=saver)
            place = {"thread_id": str(thread_id), "checkpoint_ns": ""}
            await bound.abulk_update_state({"configurable": place}, updates)
    except (InvalidUpdateError, ValueError, TypeError, KeyError) as error:
        await services.threads.delete(thread_id, owner=owner)
        raise InvalidRequest(f"Invalid supersteps: {error}") from error


def _state_update(update: SuperstepUpdate) -> StateUpdate:
    values: Any = update.values
    if update.command is not None:
        targets = goto_targets(update.command.goto)
        goto = [target if isinstance(target, str) else Send(**target) for target in targets]
        values = Command(update=update.command.update, goto=goto)
    return StateUpdate(values=values, as_node=update.as_node)
