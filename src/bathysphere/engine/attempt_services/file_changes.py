"""The record of file changes in PostgreSQL, per tenant."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self
from uuid import UUID

from bathysphere.backends.object_store.changes import Change
from bathysphere.core.errors import CallerError
from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Pool, storage_errors
from bathysphere.engine.database.tenant_reads import tenant_connection
from bathysphere.engine.fencing import FENCE, superseded
from bathysphere.engine.records import Run


class ChangeNotFound(CallerError):
    """The change does not exist in this workspace."""

    code = "change_not_found"


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedChange:
    """A recorded file change."""

    change_id: int
    workspace: str
    path: str
    action: str
    asked_by: str
    approver: str
    thread_id: UUID | None
    run_id: UUID | None
    call: str
    """The id of the tool call; for a file of a deleted folder, followed by its path."""
    before_version: str
    before: bytes | None
    after_version: str | None
    undoes: int | None
    undone_by: int | None
    begun_at: datetime
    finished_at: datetime | None

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Build a change from a row of `engine.file_changes`, joined with its undo."""
        return cls(**{name: row[name] for name in cls.__dataclass_fields__})


class RunChangeLog:
    """The changes of one run, recorded by the attempt that holds it."""

    def __init__(self, pool: Pool, run: Run) -> None:
        self._pool = pool
        self._run = run

    async def begin(self, change: Change) -> None:
        """Record a change before it is made; repeating this changes nothing.

        Raises:
            Superseded: Another attempt has the run, so this one must not change anything.
        """
        row = await self._do(
            _BEGIN,
            workspace=change.workspace,
            path=change.path,
            action=change.action,
            approver=change.approver,
            call=change.call,
            before_version=change.before_version,
            before=change.before,
        )

        if row is None:
            raise superseded(self._run.run_id)

    async def finish(self, call: str, *, after_version: str) -> None:
        """Record that the change was made.

        Not fenced: it did happen, and must be listed whichever attempt has the run now.
        """
        await self._do(_FINISH, call=call, after_version=after_version)

    async def drop(self, call: str) -> None:
        """Drop the record of a change that was not made."""
        await self._do(_DROP, call=call)

    async def _do(self, statement: str, **values: Any) -> Mapping[str, Any] | None:
        run = self._run
        owner = {"tenant": run.owner.tenant, "user": run.owner.user}
        place = {"thread": run.thread_id, "run": run.run_id, "token": run.token}
        with storage_errors():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(statement.encode(), {**owner, **place, **values})
                return await cursor.fetchone() if cursor.description else None


class FileChanges:
    """The recorded changes, to list and undo."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def list_of_workspace(
        self, owner: Owner, workspace: str, *, limit: int = 100, before: int | None = None
    ) -> list[RecordedChange]:
        """Return a workspace's finished changes, newest first."""
        values = {"tenant": owner.tenant, "workspace": workspace, "limit": limit, "before": before}
        async with tenant_connection(self._pool, owner) as connection:
            rows = await (await connection.execute(_LIST.encode(), values)).fetchall()
        return [RecordedChange.from_row(row) for row in rows]

    async def get(self, owner: Owner, workspace: str, change_id: int) -> RecordedChange:
        """Return a change.

        Raises:
            ChangeNotFound: It does not exist in this workspace of this tenant.
        """
        values = {"tenant": owner.tenant, "workspace": workspace, "id": change_id}
        async with tenant_connection(self._pool, owner) as connection:
            row = await (await connection.execute(_ONE.encode(), values)).fetchone()
        if row is None:
            raise ChangeNotFound(f"Change {change_id} not found")
        return RecordedChange.from_row(row)

    async def record_undo(
        self, owner: Owner, change: RecordedChange, *, before: bytes | None, after_version: str
    ) -> None:
        """Record that a person undid a change."""
        values = {
            "tenant": owner.tenant,
            "workspace": change.workspace,
            "path": change.path,
            "user": owner.user,
            "call": f"undo-{change.change_id}",
            "before_version": change.after_version,
            "before": before,
            "after_version": after_version,
            "undoes": change.change_id,
        }
        async with self._pool.connection() as connection:
            await connection.execute(_UNDO.encode(), values)


_BEGIN = f"""{FENCE}, begun AS (
INSERT INTO engine.file_changes
       (tenant, workspace, path, action, asked_by, approver, thread_id, run_id, call,
        before_version, before)
SELECT %(tenant)s, %(workspace)s, %(path)s, %(action)s, %(user)s, %(approver)s, %(thread)s,
       %(run)s, %(call)s, %(before_version)s, %(before)s FROM fence
ON CONFLICT (tenant, thread_id, call) DO UPDATE
   SET before_version = EXCLUDED.before_version, before = EXCLUDED.before
 WHERE engine.file_changes.finished_at IS NULL
)
SELECT 1 AS passed FROM fence
"""  # noqa: S608  # our own constants
_FINISH = """
UPDATE engine.file_changes SET after_version = %(after_version)s, finished_at = now()
 WHERE tenant = %(tenant)s AND thread_id = %(thread)s AND call = %(call)s AND finished_at IS NULL
"""
_DROP = """
DELETE FROM engine.file_changes
 WHERE tenant = %(tenant)s AND thread_id = %(thread)s AND call = %(call)s AND finished_at IS NULL
"""
_COLUMNS = ", ".join(
    f"change.{name}" for name in RecordedChange.__dataclass_fields__ if name != "undone_by"
)
_SELECT = f"""
SELECT {_COLUMNS}, undo.change_id AS undone_by
  FROM engine.file_changes change
  LEFT JOIN engine.file_changes undo ON undo.undoes = change.change_id
 WHERE change.tenant = %(tenant)s AND change.workspace = %(workspace)s
   AND change.finished_at IS NOT NULL
"""  # noqa: S608  # our own constant
_LIST = f"""{_SELECT}
   AND (%(before)s::bigint IS NULL OR change.change_id < %(before)s)
 ORDER BY change.change_id DESC LIMIT %(limit)s
"""
_ONE = f"{_SELECT} AND change.change_id = %(id)s"
_UNDO = """
INSERT INTO engine.file_changes
       (tenant, workspace, path, action, asked_by, approver, call, before_version, before,
        after_version, undoes, finished_at)
VALUES (%(tenant)s, %(workspace)s, %(path)s, 'undo', %(user)s, %(user)s, %(call)s,
        %(before_version)s, %(before)s, %(after_version)s, %(undoes)s, now())
"""
