"""Faults to plant, which the campaign must find; each is a plausible defect."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from kept import Keys

from bathysphere.core.identity import Owner
from bathysphere.engine import thread_deletion
from bathysphere.engine.assistants import Assistant, Assistants
from bathysphere.engine.attempt_services import owned_store
from bathysphere.engine.attempt_services.file_changes import FileChanges, RecordedChange
from bathysphere.engine.conversations.message_index import MessageIndex, ThreadHit, _by_thread
from bathysphere.engine.crons.records import Cron
from bathysphere.engine.crons.service import Crons
from bathysphere.engine.errors import (
    AssistantNotFound,
    CronNotFound,
    RunNotFound,
    ThreadNotFound,
)
from bathysphere.engine.events import memory_log as events
from bathysphere.engine.events import redis_log as events_redis
from bathysphere.engine.records import Run, Thread
from bathysphere.engine.runs.service import Runs
from bathysphere.engine.threads import Threads
from bathysphere.middleware.memories import middleware as memories
from bathysphere.middleware.memories.storage import NOTES_ROOT, Notebook
from bathysphere.server.langgraph_api import store_items as items
from bathysphere.server.langgraph_api.thread_states import States
from bathysphere.server.mcp import endpoint as mcp_endpoint
from bathysphere.server.routes import memories as memory_routes
from bathysphere.server.sse import StreamRules
from bathysphere.server.workspaces.service import Workspaces
from bathysphere.tenancy.root import Root


async def _one(pool: Any, query: str, *values: Any) -> Any:
    async with pool.connection() as connection:
        return await (await connection.execute(query, values)).fetchone()


async def _all(pool: Any, query: str, *values: Any) -> Any:
    async with pool.connection() as connection:
        return await (await connection.execute(query, values)).fetchall()


async def _any_thread(self: Any, thread_id: Any, *, owner: Any) -> Thread:
    row = await _one(self._pool, "SELECT * FROM engine.threads WHERE thread_id = %s", thread_id)
    if row is None:
        raise ThreadNotFound("none")
    return Thread.from_row(row)


async def _any_threads(self: Any, *, owner: Any, limit: int = 10, **_: Any) -> list[Thread]:
    rows = await _all(self._pool, "SELECT * FROM engine.threads ORDER BY updated_at DESC")
    return [Thread.from_row(row) for row in rows]


async def _any_run(self: Any, run_id: Any, *, owner: Any) -> Run:
    row = await _one(self._pool, "SELECT * FROM engine.runs WHERE run_id = %s", run_id)
    if row is None:
        raise RunNotFound("none")
    return Run.from_row(row, self._pool.encryption)


async def _any_runs(self: Any, thread_id: Any, *, owner: Any, **_: Any) -> list[Run]:
    rows = await _all(self._pool, "SELECT * FROM engine.runs WHERE thread_id = %s", thread_id)
    return [Run.from_row(row, self._pool.encryption) for row in rows]


async def _any_assistant(self: Any, assistant_id: Any, *, owner: Any) -> Assistant:
    row = await _one(
        self._pool,
        "SELECT * FROM engine.assistants"
        " JOIN engine.assistant_versions v USING (tenant, owner, assistant_id, version)"
        " WHERE assistant_id = %s",
        assistant_id,
    )
    if row is None:
        raise AssistantNotFound("none")
    return Assistant.from_row({**row, "updated_at": row["created_at"]})


async def _any_cron(self: Any, cron_id: Any, *, owner: Any) -> Cron:
    row = await _one(self._pool, "SELECT * FROM engine.crons WHERE cron_id = %s", cron_id)
    if row is None:
        raise CronNotFound("none")
    return Cron.from_row(row)


async def _any_crons(self: Any, wanted: Any, *, owner: Any, **_: Any) -> list[Cron]:
    rows = await _all(self._pool, "SELECT * FROM engine.crons ORDER BY created_at DESC")
    return [Cron.from_row(row) for row in rows]


async def _any_changes(self: Any, owner: Any, workspace: str, **_: Any) -> list[RecordedChange]:
    rows = await _all(
        self._pool,
        "SELECT *, NULL::bigint AS undone_by FROM engine.file_changes"
        " WHERE finished_at IS NOT NULL ORDER BY change_id DESC LIMIT 100",
    )
    return [RecordedChange.from_row(row) for row in rows]


async def _any_messages(self: Any, query: str, **_: Any) -> list[ThreadHit]:
    rows = await _all(
        self._pool,
        "SELECT thread_id, message_id, role, body, 1 AS count, metadata, updated_at"
        " FROM engine.message_texts JOIN engine.threads USING (thread_id)",
    )
    return _by_thread(rows, query)


async def _any_thread_row(self: Any, thread_id: Any, owner: Any) -> dict[str, Any]:
    row = await _one(
        self._pool, "SELECT tenant, owner FROM engine.threads WHERE thread_id = %s", thread_id
    )
    if row is None:
        raise ThreadNotFound("none")
    whose = type(owner)(tenant=row["tenant"], user=row["owner"])
    return await _THREAD_ROW(self, thread_id, whose)


_THREAD_ROW = States._thread_row


async def _take_over(self: Any, thread_id: Any, *, owner: Any, **_: Any) -> Thread:
    row = await _one(
        self._pool,
        "INSERT INTO engine.threads (thread_id, tenant, owner) VALUES (%s, %s, %s)"
        " ON CONFLICT (thread_id) DO UPDATE SET tenant = EXCLUDED.tenant, owner = EXCLUDED.owner"
        " RETURNING *",
        thread_id,
        owner.tenant,
        owner.user,
    )
    return Thread.from_row(row)


def _any_root(self: Any, owner: Any, name: str | None) -> Root:
    return Root(tenant="acme", workspace=name or "main")


async def _no_check(self: Any) -> None:
    """Skip the access check of a stream."""


def _without(*words: str) -> tuple[str, ...]:
    return tuple(s for s in thread_deletion.DELETE if not any(word in s for word in words))


def _everything(batch: Any, digest: str) -> Any:
    return batch


def _unchecked_rules(self: StreamRules, *args: Any, **kwargs: Any) -> None:
    _INIT(self, *args, **{**kwargs, "check": lambda: _no_check(self)})


def _one_notebook(self: Any, owner: Any, mode: Any) -> None:
    _NOTEBOOK(self, Owner(tenant="all", user="all"), mode)


def _never_deletes(self: Any, change: Any, by: Any) -> Any:
    return [] if change.text is None else _WRITE(self, change, by)


def _one_root_of_notes(self: Any, namespace: tuple[str, ...]) -> tuple[str, ...]:
    is_note = namespace[: len(NOTES_ROOT)] == NOTES_ROOT
    return ("engine", "all", "all", *namespace) if is_note else _ROOTED(self, namespace)


_ROOTED = owned_store.OwnedStore._rooted
_NOTEBOOK, _WRITE = Notebook.__init__, Notebook.write
_INIT = StreamRules.__init__
_ONE_USER = mcp_endpoint.session_user(Owner(tenant="all", user="all"))
_ROOT = ("owners", "all", "all")

FAULTS: dict[str, Callable[[], list[Any]]] = {
    "H1: a log delivers every owner's events": lambda: [
        patch.object(events, "own_items", _everything),
        patch.object(events_redis, "own_items", _everything),
        patch.object(StreamRules, "with_check", lambda self, also: self),
    ],
    "M2: a stream asks nobody again": lambda: [
        patch.object(StreamRules, "__init__", _unchecked_rules)
    ],
    "M10: sources stay in the store": lambda: [
        patch.object(thread_deletion, "DELETE", _without("DELETE FROM store"))
    ],
    "checkpoints stay after a deletion": lambda: [
        patch.object(thread_deletion, "DELETE", _without("DELETE FROM checkpoint"))
    ],
    "a thread is found by its id alone": lambda: [patch.object(Threads, "get", _any_thread)],
    "threads are listed for everybody": lambda: [patch.object(Threads, "search", _any_threads)],
    "a run is found by its id alone": lambda: [patch.object(Runs, "get", _any_run)],
    "runs are listed by thread alone": lambda: [
        patch.object(Runs, "list_of_thread", _any_runs),
        patch.object(Threads, "get", _any_thread),
    ],
    "a schedule is found by its id alone": lambda: [patch.object(Crons, "get", _any_cron)],
    "schedules are listed for everybody": lambda: [patch.object(Crons, "search", _any_crons)],
    "messages are searched for everybody": lambda: [
        patch.object(MessageIndex, "search", _any_messages)
    ],
    "a state is read by its thread alone": lambda: [
        patch.object(States, "_thread_row", _any_thread_row)
    ],
    "a living thread is taken over": lambda: [patch.object(Threads, "try_create", _take_over)],
    "items have one root for all": lambda: [
        patch.object(owned_store, "owner_namespace", lambda _: _ROOT),
        # Row-level security alone would hide them.
        patch.object(items, "TenantStore", lambda store, owner: store),
    ],
    "an assistant is found by its id alone": lambda: [
        patch.object(Assistants, "get", _any_assistant)
    ],
    "an MCP session answers everybody": lambda: [
        patch.object(mcp_endpoint, "session_user", lambda owner: _ONE_USER)
    ],
    "changes are listed for everybody": lambda: [
        patch.object(FileChanges, "list_of_workspace", _any_changes)
    ],
    "whoever names a workspace gets it": lambda: [
        patch.object(
            Workspaces,
            "root",
            lambda self, owner, name: Root(tenant="acme", workspace=name or "main"),
        )
    ],
    "notes have one root for all": lambda: [
        patch.object(Notebook, "__init__", _one_notebook),
        patch.object(owned_store.OwnedStore, "_rooted", _one_root_of_notes),
        patch.object(memory_routes, "TenantStore", lambda store, owner: store),
    ],
    "a deleted note stays": lambda: [patch.object(Notebook, "write", _never_deletes)],
    "a deleted note stays in its conversation": lambda: [
        patch.object(memories, "_redacted", lambda request: request)
    ],
    "a revoked key goes on": lambda: [patch.object(Keys, "is_valid", lambda self, key: True)],
}


@contextmanager
def planted(name: str) -> Iterator[None]:
    """Apply the fault."""
    patches = FAULTS[name]()
    for one in patches:
        one.start()
    try:
        yield
    finally:
        for one in patches:
            one.stop()
