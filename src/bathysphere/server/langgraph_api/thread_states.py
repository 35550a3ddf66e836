"""Read and update a thread's state: values, next nodes, open questions, history.

Reading needs the graph that wrote the state: that of the thread's newest run.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.errors import InvalidUpdateError
from langgraph.types import Interrupt, StateSnapshot

from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Pool
from bathysphere.engine.database.sealed_saver import SealedSaver
from bathysphere.engine.database.tenant_reads import NewestSaver, TenantSaver, tenant_connection
from bathysphere.engine.errors import GraphNotFound, ThreadNotFound
from bathysphere.engine.graphs import Graph, Graphs
from bathysphere.engine.threads import Threads
from bathysphere.server.errors import CheckpointNotFound, InvalidRequest
from bathysphere.server.langgraph_api.bounded_answers import AnswerLimits, ReadTurns, encode
from bathysphere.server.langgraph_api.client_writes import START, check_order, check_values

State = dict[str, Any]
_PAGE_STATES = 10
_PAGE_BYTES = 2 * 1024 * 1024  # decoded per page, on the event loop


class States:
    """Thread states, accessible to their owners only."""

    def __init__(
        self,
        pool: Pool,
        threads: Threads,
        graphs: Graphs,
        *,
        limits: AnswerLimits | None = None,
    ) -> None:
        self.limits = limits or AnswerLimits()
        self.reads = ReadTurns()
        self._pool = pool
        self._threads = threads
        self._graphs = graphs

    async def graph_of(self, thread_id: UUID, *, owner: Owner) -> str | None:
        """The graph that the thread was last used with; None if it is not served here.

        Raises:
            ThreadNotFound: The thread is missing, or is not this owner's.
        """
        name: str | None = (await self._thread_row(thread_id, owner))["graph"]
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
        """Read the current state, or the state at a checkpoint.

        Raises:
            ThreadNotFound: The thread is missing, or is not this owner's.
            CheckpointNotFound: The thread has no such checkpoint.
        """
        thread = await self._thread_row(thread_id, owner)
        if thread["graph"] is None:
            return _empty(thread_id, is_busy=thread["status"] == "busy")
        graph = self._bind(thread["graph"], owner)
        config = _config(thread_id, checkpoint_id=checkpoint_id, namespace=namespace)
        snapshot = await _get(graph, config, subgraphs=subgraphs)
        is_missing = snapshot.created_at is None
        if is_missing and (checkpoint_id is not None or namespace):
            raise CheckpointNotFound(f"Checkpoint not found in thread {thread_id}")
        state = as_json(snapshot, thread_id=thread_id)
        if checkpoint_id is None:
            answered = await self._answered([thread_id], owner) if state["interrupts"] else {}
            _apply_live_status(state, answered.get(thread_id, set()), status=thread["status"])
        return state

    async def read_several(self, thread_ids: Sequence[UUID], *, owner: Owner) -> dict[UUID, State]:
        """Read the current states of several threads in three queries; missing ones are omitted."""
        found = await self._thread_rows(thread_ids, owner)
        saver = NewestSaver(self._pool, owner)
        await saver.fetch(thread_id for thread_id, thread in found.items() if thread["graph"])
        answered = await self._answered(thread_ids, owner)
        states = {}
        for thread_id, thread in found.items():
            if thread["graph"] is None:
                states[thread_id] = _empty(thread_id, is_busy=thread["status"] == "busy")
                continue
            graph = self._graphs.bind(thread["graph"], checkpointer=saver)
            state = as_json(await _get(graph, _config(thread_id)), thread_id=thread_id)
            _apply_live_status(state, answered.get(thread_id, set()), status=thread["status"])
            states[thread_id] = state
        return states

    async def history(
        self,
        thread_id: UUID,
        *,
        owner: Owner,
        limit: int = 10,
        before: str | None = None,
        namespace: str = "",
        metadata: Mapping[str, Any] | None = None,
    ) -> AsyncGenerator[tuple[State, bytes], None]:
        """Yield the thread's past states, newest first, each also encoded as JSON.

        They are read page by page, so that stopping early is cheap.
        """
        thread = await self._thread_row(thread_id, owner)
        if thread["graph"] is None:
            return
        graph = self._bind(thread["graph"], owner)
        config = _config(thread_id, namespace=namespace)
        wanted = dict(metadata) if metadata else None
        page = 1
        while limit > 0:
            cursor = _config(thread_id, checkpoint_id=before, namespace=namespace)
            found = graph.aget_state_history(
                config, filter=wanted, before=cursor if before else None, limit=min(page, limit)
            )
            count, largest = 0, 1
            async for snapshot in _readable(found):
                state = as_json(snapshot, thread_id=thread_id)
                encoded = await encode(state)
                count, largest = count + 1, max(largest, len(encoded))
                before = state["checkpoint_id"]
                yield state, encoded
            if count < min(page, limit):
                return
            limit -= count
            page = max(1, min(_PAGE_STATES, _PAGE_BYTES // largest))

    async def update(
        self,
        thread_id: UUID,
        values: Any,
        *,
        owner: Owner,
        as_node: str | None = None,
        checkpoint_id: str | None = None,
    ) -> RunnableConfig:
        """Update the state as if a node had written it; from an older checkpoint this forks.

        Raises:
            ThreadBusy: The thread has an active run.
            InvalidRequest: The values or the node are invalid for the graph.
            FieldNotWritable: Clients may not write one of the fields.
        """
        thread = await self._thread_row(thread_id, owner)
        if thread["graph"] is None:
            raise GraphNotFound(
                f"Thread {thread_id} has no graph yet", hint="start a run on it first"
            )
        check_values(self._graphs, thread["graph"], values)
        check_order(self._graphs, thread["graph"], [as_node] if as_node else [], option="as_node")
        async with self._threads.lock_idle(thread_id, owner=owner) as connection:
            saver = SealedSaver(connection, self._pool.encryption.tenant(owner.tenant))
            graph = self._graphs.bind(thread["graph"], checkpointer=saver)
            config = _config(thread_id, checkpoint_id=checkpoint_id)
            if checkpoint_id is not None:
                snapshot = await _get(graph, config)
                if snapshot.created_at is None:
                    raise CheckpointNotFound(f"Checkpoint not found in thread {thread_id}")
            return await _update(graph, config, values, as_node)

    async def has_checkpoint(self, thread_id: UUID, checkpoint_id: str, *, owner: Owner) -> bool:
        """Whether the owner's thread has this root checkpoint."""
        async with tenant_connection(self._pool, owner) as connection:
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

    async def namespaces(self, thread_id: UUID, *, owner: Owner) -> list[tuple[str, ...]]:
        """Namespaces of the subgraphs that have checkpoints, oldest first."""
        async with tenant_connection(self._pool, owner) as connection:
            rows = await (
                await connection.execute(
                    "SELECT checkpoint_ns FROM checkpoints"
                    " WHERE thread_id = %s AND checkpoint_ns <> ''"
                    " GROUP BY checkpoint_ns ORDER BY min(checkpoint_id)",
                    (str(thread_id),),
                )
            ).fetchall()
        return [tuple(row["checkpoint_ns"].split("|")) for row in rows]

    async def _answered(self, thread_ids: Sequence[UUID], owner: Owner) -> dict[UUID, set[str]]:
        async with tenant_connection(self._pool, owner) as connection:
            rows = await (await connection.execute(_ANSWERED, (list(thread_ids),))).fetchall()
        return {row["thread_id"]: set(row["answered"]) for row in rows}

    def _bind(self, name: str, owner: Owner) -> Graph:
        return self._graphs.bind(name, checkpointer=TenantSaver(self._pool, owner))

    async def _thread_row(self, thread_id: UUID, owner: Owner) -> dict[str, Any]:
        found = await self._thread_rows([thread_id], owner)
        if thread_id not in found:
            raise ThreadNotFound(f"Thread {thread_id} not found")
        return found[thread_id]

    async def _thread_rows(
        self, thread_ids: Sequence[UUID], owner: Owner
    ) -> dict[UUID, dict[str, Any]]:
        parameters = {
            "threads": list(thread_ids),
            "names": [str(thread_id) for thread_id in thread_ids],
            "tenant": owner.tenant,
            "owner": owner.user,
        }
        async with tenant_connection(self._pool, owner) as connection:
            rows = await (await connection.execute(_THREADS, parameters)).fetchall()
        served = self._graphs.names()
        return {
            row["thread_id"]: {**row, "graph": row["graph"] if row["graph"] in served else None}
            for row in rows
        }


def as_json(snapshot: StateSnapshot, *, thread_id: UUID) -> State:
    """Serialize a snapshot in LangGraph's format."""
    return {
        "values": _without_questions(snapshot.values),
        "next": list(snapshot.next),
        "tasks": [_task(task, thread_id) for task in snapshot.tasks],
        "metadata": snapshot.metadata or {},
        "created_at": snapshot.created_at,
        "checkpoint": _checkpoint(snapshot.config, thread_id),
        "parent_checkpoint": _checkpoint(snapshot.parent_config, thread_id),
        "checkpoint_id": _id(snapshot.config),
        "parent_checkpoint_id": _id(snapshot.parent_config),
        "interrupts": questions(snapshot.interrupts),
    }


def questions(interrupts: Iterable[Interrupt]) -> list[dict[str, Any]]:
    """Serialize interrupts; with a schema if the answer is validated."""
    return [
        {"id": i.id, "value": i.value}
        | ({"response_schema": i.response_schema} if i.response_schema is not None else {})
        for i in interrupts
    ]


def _apply_live_status(state: State, answered: set[str], *, status: str) -> None:
    """Apply what the database knows and the newest checkpoint does not."""
    # Questions whose answers are being delivered are no longer open.
    for holder in (state, *state["tasks"]):
        holder["interrupts"] = [q for q in holder["interrupts"] if q["id"] not in answered]
    if not state["next"] and status == "busy":
        # A run is queued: clients must see that there is more to come.
        state["next"] = [START]


STEP_FAILED = "The step failed; see the error of its run."


def _task(task: Any, thread_id: UUID) -> dict[str, Any]:
    state = task.state
    nested = as_json(state, thread_id=thread_id) if isinstance(state, StateSnapshot) else None
    place = state if isinstance(state, dict) else state.config if nested else None
    return {
        "id": task.id,
        "name": task.name,
        "path": list(task.path),
        # The text may contain anything; the run's error is safe for clients.
        "error": STEP_FAILED if task.error is not None else None,
        "interrupts": questions(task.interrupts),
        "checkpoint": _checkpoint(place, thread_id),
        "state": nested,
        "result": task.result,
    }


def fields(values: Any) -> Mapping[str, Any]:
    """The fields of a state; the state of a function is whatever it returned, or None."""
    return values if isinstance(values, Mapping) else {}


def _without_questions(values: Any) -> Any:
    if not isinstance(values, Mapping):
        return values
    return {key: value for key, value in values.items() if key != "__interrupt__"}


def _checkpoint(config: Any, thread_id: UUID) -> dict[str, Any] | None:
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
    except ValueError as error:  # the namespace is not a subgraph
        raise CheckpointNotFound(str(error)) from error


async def _readable(found: AsyncIterator[StateSnapshot]) -> AsyncIterator[StateSnapshot]:
    try:
        async for snapshot in found:
            yield snapshot
    except ValueError as error:  # the namespace is not a subgraph
        raise CheckpointNotFound(str(error)) from error


async def _update(
    graph: Graph, config: RunnableConfig, values: Any, as_node: str | None
) -> RunnableConfig:
    try:
        return await graph.aupdate_state(config, values, as_node=as_node)
    except (InvalidUpdateError, ValueError, TypeError, KeyError) as error:
        raise InvalidRequest(f"Invalid state update: {error}") from error


# Names, because row-level security comes before a condition with a cast: no index would be used.
_THREADS = """
SELECT t.thread_id, t.status, COALESCE(
       (SELECT graph FROM engine.runs WHERE thread_id = t.thread_id ORDER BY seq DESC LIMIT 1),
       (SELECT metadata ->> 'graph' FROM checkpoints
         WHERE thread_id = wanted.name AND checkpoint_ns = ''
         ORDER BY checkpoint_id DESC LIMIT 1),
       t.metadata ->> 'graph_id') AS graph
  FROM unnest(%(threads)s::uuid[], %(names)s::text[]) AS wanted (thread_id, name)
  JOIN engine.threads t USING (thread_id)
 WHERE t.tenant = %(tenant)s AND t.owner = %(owner)s
"""
_ANSWERED = """
SELECT answer.thread_id, array_agg(answer.interrupt_id) AS answered
  FROM engine.answers answer LEFT JOIN engine.runs run USING (run_id)
 WHERE answer.thread_id = ANY(%s)
   AND (answer.run_id IS NULL OR run.status IN ('pending', 'running'))
 GROUP BY answer.thread_id
"""
