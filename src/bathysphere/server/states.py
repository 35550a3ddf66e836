"""A thread's state as its clients read it: values, what comes next, open questions, history.

Reading needs the graph that wrote the state, which is the one of the thread's newest run.
"""

from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.errors import InvalidUpdateError
from langgraph.types import Interrupt, StateSnapshot

from bathysphere.engine.database import Pool
from bathysphere.engine.errors import GraphNotFound, ThreadNotFound
from bathysphere.engine.graphs import Graph, Graphs
from bathysphere.engine.records import Owner
from bathysphere.engine.threads import Threads
from bathysphere.server.errors import CheckpointNotFound, InvalidRequest

State = dict[str, Any]
START = "__start__"


class States:
    """The states of all threads, each seen by its owner only."""

    def __init__(self, pool: Pool, threads: Threads, graphs: Graphs) -> None:
        self._pool = pool
        self._threads = threads
        self._graphs = graphs

    async def graph_of(self, thread_id: UUID, *, owner: Owner) -> str | None:
        """The name of the graph the thread was last used with, if any is served here.

        Raises:
            ThreadNotFound: The thread is missing, or is not this owner's.
        """
        name: str | None = (await self._about(thread_id, owner))["graph"]
        return name

    async def read(
        self,
        thread_id: UUID,
        *,
        owner: Owner,
        checkpoint_id: str | None = None,
        namespace: str = "",
        subgraphs: bool = False,
    ) -> State:
        """The state now, or at a checkpoint.

        Raises:
            ThreadNotFound: The thread is missing, or is not this owner's.
            CheckpointNotFound: The thread has no such checkpoint.
        """
        about = await self._about(thread_id, owner)
        if about["graph"] is None:
            return _empty(thread_id, is_busy=about["status"] == "busy")
        graph = self._bind(about["graph"])
        config = _config(thread_id, checkpoint_id=checkpoint_id, namespace=namespace)
        snapshot = await _get(graph, config, subgraphs=subgraphs)
        is_missing = snapshot.created_at is None
        if is_missing and (checkpoint_id is not None or namespace):
            raise CheckpointNotFound(f"no such checkpoint in thread {thread_id}")
        state = as_json(snapshot, thread_id=thread_id)
        if state["interrupts"] and checkpoint_id is None:
            _hide(state, await self._answered(thread_id))
        if checkpoint_id is None and not state["next"] and about["status"] == "busy":
            # A run waits in the queue: a client that comes now must know that there is more.
            state["next"] = [START]
        return state

    async def history(
        self,
        thread_id: UUID,
        *,
        owner: Owner,
        limit: int = 10,
        before: str | None = None,
        namespace: str = "",
        metadata: Mapping[str, Any] | None = None,
    ) -> list[State]:
        """The states the thread went through, newest first."""
        about = await self._about(thread_id, owner)
        if about["graph"] is None:
            return []
        graph = self._bind(about["graph"])
        config = _config(thread_id, namespace=namespace)
        cursor = _config(thread_id, checkpoint_id=before, namespace=namespace) if before else None
        found = graph.aget_state_history(
            config, filter=dict(metadata) if metadata else None, before=cursor, limit=limit
        )
        return [as_json(snapshot, thread_id=thread_id) async for snapshot in _readable(found)]

    async def update(
        self,
        thread_id: UUID,
        values: Any,
        *,
        owner: Owner,
        as_node: str | None = None,
        checkpoint_id: str | None = None,
    ) -> RunnableConfig:
        """Change the state by hand, as if a node had; from an older checkpoint this forks.

        Raises:
            ThreadBusy: A run is at work on the thread.
            InvalidRequest: The values or the node do not fit the graph.
        """
        about = await self._about(thread_id, owner)
        if about["graph"] is None:
            raise GraphNotFound("the thread has no graph yet", hint="start a run on it first")
        async with self._threads.hold(thread_id, owner=owner) as connection:
            graph = self._graphs.bind(about["graph"], checkpointer=AsyncPostgresSaver(connection))
            config = _config(thread_id, checkpoint_id=checkpoint_id)
            if checkpoint_id is not None:
                snapshot = await _get(graph, config)
                if snapshot.created_at is None:
                    raise CheckpointNotFound(f"no such checkpoint in thread {thread_id}")
            return await _update(graph, config, values, as_node)

    async def has_checkpoint(self, thread_id: UUID, checkpoint_id: str, *, owner: Owner) -> bool:
        """Whether the owner's thread has the checkpoint, at its root."""
        async with self._pool.connection() as connection:
            row = await (
                await connection.execute(
                    "SELECT 1 FROM engine.threads t JOIN checkpoints c"
                    " ON c.thread_id = t.thread_id::text AND c.checkpoint_ns = ''"
                    " WHERE t.thread_id = %s AND t.tenant = %s AND t.owner = %s"
                    " AND c.checkpoint_id = %s",
                    (thread_id, owner.tenant, owner.user, checkpoint_id),
                )
            ).fetchone()
        return row is not None

    async def namespaces(self, thread_id: UUID) -> list[tuple[str, ...]]:
        """The subgraphs that have left a checkpoint, oldest first."""
        async with self._pool.connection() as connection:
            rows = await (
                await connection.execute(
                    "SELECT checkpoint_ns FROM checkpoints"
                    " WHERE thread_id = %s AND checkpoint_ns <> ''"
                    " GROUP BY checkpoint_ns ORDER BY min(checkpoint_id)",
                    (str(thread_id),),
                )
            ).fetchall()
        return [tuple(row["checkpoint_ns"].split("|")) for row in rows]

    async def _answered(self, thread_id: UUID) -> set[str]:
        async with self._pool.connection() as connection:
            rows = await (await connection.execute(_ANSWERED, (thread_id,))).fetchall()
        return {row["interrupt_id"] for row in rows}

    def _bind(self, name: str) -> Graph:
        return self._graphs.bind(name, checkpointer=AsyncPostgresSaver(self._pool))

    async def _about(self, thread_id: UUID, owner: Owner) -> dict[str, Any]:
        async with self._pool.connection() as connection:
            row = await (
                await connection.execute(
                    _ABOUT, {"thread": thread_id, "tenant": owner.tenant, "owner": owner.user}
                )
            ).fetchone()
        if row is None:
            raise ThreadNotFound(f"no thread {thread_id}")
        return {**row, "graph": row["graph"] if row["graph"] in self._graphs.names() else None}


def as_json(snapshot: StateSnapshot, *, thread_id: UUID) -> State:
    """A snapshot in the form LangGraph's clients know."""
    return {
        "values": {k: v for k, v in _mapping(snapshot.values).items() if k != "__interrupt__"},
        "next": list(snapshot.next),
        "tasks": [_task(task, thread_id) for task in snapshot.tasks],
        "metadata": snapshot.metadata or {},
        "created_at": snapshot.created_at,
        "checkpoint": _place(snapshot.config, thread_id),
        "parent_checkpoint": _place(snapshot.parent_config, thread_id),
        "checkpoint_id": _id(snapshot.config),
        "parent_checkpoint_id": _id(snapshot.parent_config),
        "interrupts": questions(snapshot.interrupts),
    }


def questions(interrupts: Iterable[Interrupt]) -> list[dict[str, Any]]:
    """Interrupts as clients read them; the schema is there when the answer is checked."""
    return [
        {"id": i.id, "value": i.value}
        | ({"response_schema": i.response_schema} if i.response_schema is not None else {})
        for i in interrupts
    ]


def _hide(state: State, answered: set[str]) -> None:
    """Leave out questions whose answers are on their way to the graph."""
    for holder in (state, *state["tasks"]):
        holder["interrupts"] = [q for q in holder["interrupts"] if q["id"] not in answered]


def _task(task: Any, thread_id: UUID) -> dict[str, Any]:
    state = task.state
    nested = as_json(state, thread_id=thread_id) if isinstance(state, StateSnapshot) else None
    place = state if isinstance(state, dict) else state.config if nested else None
    return {
        "id": task.id,
        "name": task.name,
        "path": list(task.path),
        "error": repr(task.error) if task.error is not None else None,
        "interrupts": questions(task.interrupts),
        "checkpoint": _place(place, thread_id),
        "state": nested,
        "result": task.result,
    }


def _mapping(values: Any) -> Mapping[str, Any]:
    return values if isinstance(values, Mapping) else {"value": values}


def _place(config: Any, thread_id: UUID) -> dict[str, Any] | None:
    if not config:
        return None
    place = config["configurable"]
    return {
        "thread_id": str(thread_id),
        "checkpoint_ns": place.get("checkpoint_ns", ""),
        "checkpoint_id": place.get("checkpoint_id"),
        "checkpoint_map": place.get("checkpoint_map"),
    }


def _id(config: Any) -> str | None:
    return config["configurable"].get("checkpoint_id") if config else None


def _config(
    thread_id: UUID, *, checkpoint_id: str | None = None, namespace: str = ""
) -> RunnableConfig:
    place: dict[str, Any] = {"thread_id": str(thread_id), "checkpoint_ns": namespace}
    if checkpoint_id is not None:
        place["checkpoint_id"] = checkpoint_id
    return {"configurable": place}


def _empty(thread_id: UUID, *, is_busy: bool) -> State:
    place = {"thread_id": str(thread_id), "checkpoint_ns": "", "checkpoint_id": None}
    return {
        "values": {},
        "next": [START] if is_busy else [],
        "tasks": [],
        "metadata": {},
        "created_at": None,
        "checkpoint": place,
        "parent_checkpoint": None,
        "checkpoint_id": None,
        "parent_checkpoint_id": None,
        "interrupts": [],
    }


async def _get(graph: Graph, config: RunnableConfig, *, subgraphs: bool = False) -> StateSnapshot:
    try:
        return await graph.aget_state(config, subgraphs=subgraphs)
    except ValueError as error:  # a namespace that names no subgraph
        raise CheckpointNotFound(str(error)) from error


async def _readable(found: AsyncIterator[StateSnapshot]) -> AsyncIterator[StateSnapshot]:
    try:
        async for snapshot in found:
            yield snapshot
    except ValueError as error:  # a namespace that names no subgraph
        raise CheckpointNotFound(str(error)) from error


async def _update(
    graph: Graph, config: RunnableConfig, values: Any, as_node: str | None
) -> RunnableConfig:
    try:
        return await graph.aupdate_state(config, values, as_node=as_node)
    except (InvalidUpdateError, ValueError, TypeError, KeyError) as error:
        raise InvalidRequest(f"the state cannot be changed so: {error}") from error


_ABOUT = """
SELECT t.status, COALESCE(
       (SELECT graph FROM engine.runs WHERE thread_id = t.thread_id ORDER BY seq DESC LIMIT 1),
       (SELECT metadata ->> 'graph' FROM checkpoints
         WHERE thread_id = t.thread_id::text AND checkpoint_ns = ''
         ORDER BY checkpoint_id DESC LIMIT 1),
       t.metadata ->> 'graph_id') AS graph
  FROM engine.threads t
 WHERE t.thread_id = %(thread)s AND t.tenant = %(tenant)s AND t.owner = %(owner)s
"""
_ANSWERED = """
SELECT answer.interrupt_id FROM engine.answers answer LEFT JOIN engine.runs run USING (run_id)
 WHERE answer.thread_id = %s
   AND (answer.run_id IS NULL OR run.status IN ('pending', 'running'))
"""
