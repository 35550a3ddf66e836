"""Stored assistants: graphs with settings of their own, in versions, each visible to its owner."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, Literal, Self
from uuid import UUID

from psycopg.types.json import Jsonb

from bathysphere.core.identity import Owner
from bathysphere.core.json_text import dumps
from bathysphere.engine.database.pool import Connection, Pool
from bathysphere.engine.database.stored_bytes import StoredBytes
from bathysphere.engine.database.tenant_reads import tenant_connection
from bathysphere.engine.errors import AssistantExists, AssistantNotFound, TooManyAssistants

SortBy = Literal["assistant_id", "graph_id", "name", "created_at", "updated_at"]
SortOrder = Literal["asc", "desc"]


@dataclass(frozen=True, kw_only=True, slots=True)
class AssistantLimits:
    """How many assistants a user may store, and how many versions of each."""

    per_user: int = 1000
    versions: int = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class AssistantDefinition:
    """What a version of an assistant says."""

    graph: str
    name: str
    description: str | None = None
    config: Mapping[str, Any] = field(default_factory=dict)
    context: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The columns of the definition."""
        return {one.name: getattr(self, one.name) for one in fields(self)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Assistant:
    """An assistant at one of its versions."""

    assistant_id: UUID
    version: int
    definition: AssistantDefinition
    created_at: datetime
    updated_at: datetime
    is_system: bool = False
    """Whether it is the read-only assistant of a graph, which belongs to nobody."""

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Build an assistant from a row of the two tables."""
        names = [one.name for one in fields(AssistantDefinition)]
        return cls(
            assistant_id=row["assistant_id"],
            version=row["version"],
            definition=AssistantDefinition(**{name: row[name] for name in names}),
            created_at=row["created_at"],
            updated_at=row["updated_at"],
        )

    def to_json(self) -> dict[str, Any]:
        """A row of both tables, as JSON."""
        return {
            "assistant_id": str(self.assistant_id),
            "version": self.version,
            "created_at": self.created_at.isoformat(),
            "updated_at": self.updated_at.isoformat(),
            **self.definition.to_json(),
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class AssistantFilter:
    """Which assistants to list."""

    graph: str | None = None
    name: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def values(self, owner: Owner, system: Sequence[Assistant]) -> dict[str, Any]:
        """Parameters of the statements below."""
        return {
            "tenant": owner.tenant,
            "owner": owner.user,
            "system": Jsonb([assistant.to_json() for assistant in system]),
            "graph": self.graph,
            "name": self.name or "",
            "metadata": Jsonb(dict(self.metadata)),
        }


class Assistants:
    """The stored assistants of all owners; each call acts for one of them."""

    def __init__(
        self,
        pool: Pool,
        *,
        stored: StoredBytes,
        limits: AssistantLimits | None = None,
    ) -> None:
        self._pool = pool
        self._stored = stored
        self._limits = limits or AssistantLimits()

    async def create(
        self, assistant_id: UUID, definition: AssistantDefinition, *, owner: Owner
    ) -> Assistant:
        """Store an assistant.

        Raises:
            AssistantExists: This owner has an assistant with this id.
            TooManyAssistants: The owner has reached the limit.
            StorageFull: The user or the tenant has reached its storage limit.
        """
        await self._reserve(definition, owner)
        values = _key(assistant_id, owner)
        async with self._pool.connection() as connection, connection.transaction():
            await self._check_count(connection, owner)
            cursor = await connection.execute(_INSERT, values)
            if await cursor.fetchone() is None:
                raise AssistantExists(f"Assistant id {assistant_id} is already in use")
            await connection.execute(_INSERT_VERSION, {**values, **_columns(definition, 1)})
        return await self.get(assistant_id, owner=owner)

    async def get(self, assistant_id: UUID, *, owner: Owner) -> Assistant:
        """Return an assistant at its current version.

        Raises:
            AssistantNotFound: It does not exist or belongs to another owner.
        """
        async with tenant_connection(self._pool, owner) as connection:
            row = await (await connection.execute(_GET, _key(assistant_id, owner))).fetchone()
        if row is None:
            raise _missing(assistant_id)
        return Assistant.from_row(row)

    async def update(
        self, assistant_id: UUID, changes: Mapping[str, Any], *, owner: Owner
    ) -> Assistant:
        """Store a new version with these changes and make it the current one.

        Metadata is merged; everything else is replaced.

        Raises:
            AssistantNotFound: It does not exist or belongs to another owner.
            TooManyAssistants: It has too many versions.
            StorageFull: The user or the tenant has reached its storage limit.
        """
        key = _key(assistant_id, owner)
        await self._reserve((await self.get(assistant_id, owner=owner)).definition, owner, changes)
        async with self._pool.connection() as connection, connection.transaction():
            # Two statements: the second one sees what the lock waited for.
            await connection.execute(_LOCK, key)
            row = await (await connection.execute(_NEWEST, key)).fetchone()
            if row is None:
                raise _missing(assistant_id)
            if row["versions"] >= self._limits.versions:
                message = f"Assistant {assistant_id} has {row['versions']} versions"
                raise TooManyAssistants(message, hint="delete it and create it again")
            values = {**key, **_columns(_changed(row, changes), row["newest"] + 1)}
            await connection.execute(_INSERT_VERSION, values)
            await connection.execute(_SET_VERSION, values)
        return await self.get(assistant_id, owner=owner)

    async def set_version(self, assistant_id: UUID, version: int, *, owner: Owner) -> Assistant:
        """Make a version the current one.

        Raises:
            AssistantNotFound: There is no such assistant or version.
        """
        async with self._pool.connection() as connection:
            values = {**_key(assistant_id, owner), "version": version}
            cursor = await connection.execute(_SET_VERSION, values)
        if not cursor.rowcount:
            raise _missing(assistant_id, version)
        return await self.get(assistant_id, owner=owner)

    async def versions(
        self,
        assistant_id: UUID,
        *,
        owner: Owner,
        metadata: Mapping[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
    ) -> list[Assistant]:
        """Return the versions of an assistant, newest first.

        Raises:
            AssistantNotFound: It does not exist or belongs to another owner.
        """
        await self.get(assistant_id, owner=owner)
        values = {
            **_key(assistant_id, owner),
            "metadata": Jsonb(dict(metadata or {})),
            "limit": limit,
            "offset": offset,
        }
        async with tenant_connection(self._pool, owner) as connection:
            rows = await (await connection.execute(_VERSIONS, values)).fetchall()
        return [Assistant.from_row(row) for row in rows]

    async def delete(self, assistant_id: UUID, *, owner: Owner) -> None:
        """Delete an assistant and its versions.

        Raises:
            AssistantNotFound: It does not exist or belongs to another owner.
        """
        async with self._pool.connection() as connection:
            cursor = await connection.execute(_DELETE, _key(assistant_id, owner))
        if not cursor.rowcount:
            raise _missing(assistant_id)

    async def search(
        self,
        wanted: AssistantFilter,
        *,
        owner: Owner,
        system: Sequence[Assistant] = (),
        sort_by: SortBy = "created_at",
        sort_order: SortOrder = "desc",
        limit: int = 10,
        offset: int = 0,
    ) -> list[Assistant]:
        """Return the owner's assistants and those of the system, in one order."""
        order = f"{_ORDER[sort_by]} {'ASC' if sort_order == 'asc' else 'DESC'}, name, assistant_id"
        values = {**wanted.values(owner, system), "limit": limit, "offset": offset}
        query = f"{_LISTED} ORDER BY {order} LIMIT %(limit)s OFFSET %(offset)s"
        async with tenant_connection(self._pool, owner) as connection:
            rows = await (await connection.execute(query.encode(), values)).fetchall()
        known = {assistant.assistant_id: assistant for assistant in system}
        return [known.get(row["assistant_id"]) or Assistant.from_row(row) for row in rows]

    async def count(
        self, wanted: AssistantFilter, *, owner: Owner, system: Sequence[Assistant] = ()
    ) -> int:
        """Count the owner's assistants and those of the system."""
        query = f"SELECT count(*) AS n FROM ({_LISTED}) listed"  # noqa: S608  # our constant
        async with tenant_connection(self._pool, owner) as connection:
            cursor = await connection.execute(query.encode(), wanted.values(owner, system))
            row = await cursor.fetchone()
        return int(row["n"]) if row is not None else 0

    async def _reserve(
        self,
        definition: AssistantDefinition,
        owner: Owner,
        changes: Mapping[str, Any] | None = None,
    ) -> None:
        size = len(dumps({**definition.to_json(), **(changes or {})}))
        await self._stored.reserve(owner, size)

    async def _check_count(self, connection: Connection, owner: Owner) -> None:
        # Concurrent requests of a user are counted one after the other.
        await connection.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))",
            (f"assistants:{owner.tenant}:{owner.user}",),
        )
        row = await (
            await connection.execute(
                "SELECT count(*) AS n FROM engine.assistants WHERE tenant = %s AND owner = %s",
                (owner.tenant, owner.user),
            )
        ).fetchone()
        if row is not None and row["n"] >= self._limits.per_user:
            message = f"This user already has {self._limits.per_user} assistants"
            raise TooManyAssistants(message, hint="delete some first")


def _key(assistant_id: UUID, owner: Owner) -> dict[str, Any]:
    return {"tenant": owner.tenant, "owner": owner.user, "assistant": assistant_id}


def _columns(definition: AssistantDefinition, version: int) -> dict[str, Any]:
    values = definition.to_json()
    stored = {name: Jsonb(dict(values[name])) for name in ("config", "context", "metadata")}
    return {**values, **stored, "version": version}


def _changed(row: Mapping[str, Any], changes: Mapping[str, Any]) -> AssistantDefinition:
    current = Assistant.from_row(row).definition
    merged = {**current.metadata, **changes.get("metadata", {})}
    return replace(current, **{**changes, "metadata": merged})


def _missing(assistant_id: UUID, version: int | None = None) -> AssistantNotFound:
    if version is None:
        return AssistantNotFound(f"Assistant {assistant_id} not found")
    return AssistantNotFound(f"Version {version} of assistant {assistant_id} not found")


_INSERT = b"""
INSERT INTO engine.assistants (tenant, owner, assistant_id, version)
VALUES (%(tenant)s, %(owner)s, %(assistant)s, 1)
ON CONFLICT DO NOTHING RETURNING assistant_id
"""
_INSERT_VERSION = b"""
INSERT INTO engine.assistant_versions
       (tenant, owner, assistant_id, version, graph, name, description, config, context, metadata)
VALUES (%(tenant)s, %(owner)s, %(assistant)s, %(version)s, %(graph)s, %(name)s, %(description)s,
        %(config)s, %(context)s, %(metadata)s)
"""
_CURRENT = """
SELECT a.assistant_id, a.version, a.created_at, a.updated_at,
       v.graph, v.name, v.description, v.config, v.context, v.metadata
  FROM engine.assistants a
  JOIN engine.assistant_versions v USING (tenant, owner, assistant_id, version)
 WHERE a.tenant = %(tenant)s AND a.owner = %(owner)s
"""
_GET = f"{_CURRENT} AND a.assistant_id = %(assistant)s".encode()
_LOCK = b"""
SELECT 1 FROM engine.assistants
 WHERE tenant = %(tenant)s AND owner = %(owner)s AND assistant_id = %(assistant)s FOR UPDATE
"""
_NEWEST = f"""
SELECT current.assistant_id, current.version, current.created_at, current.updated_at,
       current.graph, current.name, current.description, current.config, current.context,
       current.metadata, known.versions, known.newest
  FROM ({_CURRENT} AND a.assistant_id = %(assistant)s) current,
       (SELECT count(*) AS versions, max(version) AS newest FROM engine.assistant_versions
         WHERE tenant = %(tenant)s AND owner = %(owner)s AND assistant_id = %(assistant)s) known
""".encode()  # noqa: S608  # our own constant
_SET_VERSION = b"""
UPDATE engine.assistants a SET version = %(version)s, updated_at = now()
 WHERE a.tenant = %(tenant)s AND a.owner = %(owner)s AND a.assistant_id = %(assistant)s
   AND EXISTS (SELECT 1 FROM engine.assistant_versions v
                WHERE v.tenant = a.tenant AND v.owner = a.owner
                  AND v.assistant_id = a.assistant_id AND v.version = %(version)s)
"""
_VERSIONS = b"""
SELECT v.assistant_id, v.version, v.created_at, v.created_at AS updated_at,
       v.graph, v.name, v.description, v.config, v.context, v.metadata
  FROM engine.assistant_versions v
 WHERE v.tenant = %(tenant)s AND v.owner = %(owner)s AND v.assistant_id = %(assistant)s
   AND v.metadata @> %(metadata)s
 ORDER BY v.version DESC LIMIT %(limit)s OFFSET %(offset)s
"""
_DELETE = b"""
DELETE FROM engine.assistants
 WHERE tenant = %(tenant)s AND owner = %(owner)s AND assistant_id = %(assistant)s
"""
# One assistant per graph belongs to nobody and is in no table: it is passed in, so that both kinds
# are filtered, ordered and paged together.
_LISTED = f"""
SELECT * FROM (
    {_CURRENT}
    UNION ALL
    SELECT assistant_id, version, created_at, updated_at,
           graph, name, description, config, context, metadata
      FROM jsonb_to_recordset(%(system)s) AS system (
           assistant_id uuid, version integer, created_at timestamptz, updated_at timestamptz,
           graph text, name text, description text, config jsonb, context jsonb, metadata jsonb)
) both_kinds
 WHERE (%(graph)s::text IS NULL OR graph = %(graph)s)
   AND position(lower(%(name)s) IN lower(name)) > 0
   AND metadata @> %(metadata)s
"""  # noqa: S608  # our own constant
_ORDER: Mapping[SortBy, str] = {
    "assistant_id": "assistant_id",
    "graph_id": "lower(graph)",
    "name": "lower(name)",
    "created_at": "created_at",
    "updated_at": "updated_at",
}
