"""Shared snapshots of conversations.

A share is a copy of what was said at one moment, not the thread: what is said later, tool calls,
files and documents are not in it. Whoever has its id can read it until it expires or its owner
revokes it; the id has 256 random bits and is the only key.
"""

import hashlib
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self
from uuid import UUID

from psycopg.types.json import Jsonb

from bathysphere.core.identity import Owner
from bathysphere.core.json_text import dumps
from bathysphere.engine.audit.recording import AuditAction, Recorded, record
from bathysphere.engine.conversations.message_texts import MessageText
from bathysphere.engine.database.pool import Connection, Pool
from bathysphere.engine.database.stored_bytes import StoredBytes
from bathysphere.engine.database.tenant_reads import tenant_connection
from bathysphere.engine.errors import NothingToShare, ShareNotFound, TooManyShares
from bathysphere.engine.thread_lock import lock_thread

_ID = re.compile(r"[A-Za-z0-9_-]{43}")
_ID_BYTES = 32
_MAX_TITLE = 200


@dataclass(frozen=True, kw_only=True, slots=True)
class ShareLimits:
    """How many snapshots may be shared, and how large one may be."""

    per_tenant: int = 1000
    """0 turns sharing off, for links that exist, too."""
    per_thread: int = 20
    bytes: int = 2 * 1024 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class Share:
    """A shared snapshot, without what was said."""

    share_id: str
    thread_id: UUID
    title: str
    message_count: int
    created_at: datetime
    expires_at: datetime

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Build a share from a row."""
        return cls(**{name: row[name] for name in cls.__slots__})


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """What the reader of a link sees."""

    title: str
    messages: Sequence[Mapping[str, str]]
    """Each with its `role` (person or agent) and its `text`."""
    created_at: datetime
    expires_at: datetime


class Shares:
    """The shared snapshots of all owners; each call but `read` acts for one of them."""

    def __init__(self, pool: Pool, *, stored: StoredBytes, limits: ShareLimits) -> None:
        self._pool = pool
        self._stored = stored
        self._limits = limits

    async def create(
        self,
        thread_id: UUID,
        texts: Sequence[MessageText],
        *,
        owner: Owner,
        title: str,
        days: int,
    ) -> Share:
        """Share what was said in a thread.

        Raises:
            ThreadNotFound: The thread is missing, or is not this owner's.
            NothingToShare: Nothing was said, or too much for one page.
            TooManyShares: The thread or the tenant has reached its limit.
        """
        messages = [{"role": each.role, "text": each.text} for each in texts]
        size = len(dumps(messages))
        if not messages or size > self._limits.bytes:
            raise NothingToShare.of(size, self._limits.bytes)
        await self._stored.reserve(owner, size)
        values = {
            "share": secrets.token_urlsafe(_ID_BYTES),
            "thread": thread_id,
            "tenant": owner.tenant,
            "owner": owner.user,
            "title": title[:_MAX_TITLE].replace("\0", ""),
            "messages": Jsonb(messages),
            "days": days,
            "per_thread": self._limits.per_thread,
            "per_tenant": self._limits.per_tenant,
        }
        async with self._pool.connection() as connection, connection.transaction():
            await lock_thread(connection, thread_id, owner=owner)
            row = await (await connection.execute(_CREATE, values)).fetchone()
            if row is not None:
                await _record(connection, "share.created", Share.from_row(row), owner)
        if row is None:
            raise TooManyShares.of(self._limits.per_thread, self._limits.per_tenant)
        return Share.from_row(row)

    async def list_of_thread(self, thread_id: UUID, *, owner: Owner) -> list[Share]:
        """Return the snapshots of a thread that can be read now, newest first."""
        values = {"thread": thread_id, "tenant": owner.tenant, "owner": owner.user}
        async with tenant_connection(self._pool, owner) as connection:
            rows = await (await connection.execute(_LIST, values)).fetchall()
        return [Share.from_row(row) for row in rows]

    async def revoke(self, share_id: str, *, thread_id: UUID, owner: Owner) -> None:
        """Delete a snapshot: its link shows nothing from now on.

        Raises:
            ShareNotFound: It is missing, or is not this owner's.
        """
        values = {
            "share": share_id,
            "thread": thread_id,
            "tenant": owner.tenant,
            "owner": owner.user,
        }
        async with self._pool.connection() as connection, connection.transaction():
            row = await (await connection.execute(_REVOKE, values)).fetchone()
            if row is not None:
                await _record(connection, "share.revoked", Share.from_row(row), owner)
        if row is None:
            raise ShareNotFound("Shared conversation not found")

    async def read(self, share_id: str) -> Snapshot:
        """Return a snapshot for whoever has its id.

        Raises:
            ShareNotFound: It never existed, has expired, or was revoked; which is not said.
        """
        row = None
        if self._limits.per_tenant and _ID.fullmatch(share_id):
            async with self._pool.connection() as connection:
                row = await (await connection.execute(_READ, (share_id,))).fetchone()
        if row is None:
            raise ShareNotFound("Shared conversation not found")
        return Snapshot(**{name: row[name] for name in Snapshot.__slots__})

    async def delete_expired(self) -> int:
        """Delete snapshots whose time is over; return how many."""
        async with self._pool.connection() as connection:
            return (await connection.execute(_EXPIRED)).rowcount


async def _record(connection: Connection, action: AuditAction, share: Share, owner: Owner) -> None:
    """Record a share without its id, which is the key to it."""
    digest = hashlib.sha256(share.share_id.encode()).hexdigest()
    done = Recorded(
        action=action,
        by=owner,
        tenant=owner.tenant,
        user=owner.user,
        subject=str(share.thread_id),
        details={
            "share_sha256": digest,
            "expires_at": share.expires_at.astimezone(UTC).isoformat(),
        },
    )
    await record(connection, done)


_COLUMNS = """
share_id, thread_id, title, jsonb_array_length(messages) AS message_count, created_at, expires_at
"""
_CREATE = f"""
INSERT INTO engine.shares (share_id, thread_id, tenant, owner, title, messages, expires_at)
SELECT %(share)s, %(thread)s, %(tenant)s, %(owner)s, %(title)s, %(messages)s,
       now() + make_interval(days => %(days)s)
 WHERE (SELECT count(*) FROM engine.shares
         WHERE thread_id = %(thread)s AND expires_at > now()) < %(per_thread)s
   AND (SELECT count(*) FROM engine.shares
         WHERE tenant = %(tenant)s AND expires_at > now()) < %(per_tenant)s
RETURNING {_COLUMNS}
""".encode()  # noqa: S608  # our own constants
_LIST = f"""
SELECT {_COLUMNS} FROM engine.shares
 WHERE thread_id = %(thread)s AND tenant = %(tenant)s AND owner = %(owner)s AND expires_at > now()
 ORDER BY created_at DESC, share_id
""".encode()  # noqa: S608  # our own constants
_REVOKE = f"""
DELETE FROM engine.shares
 WHERE share_id = %(share)s AND thread_id = %(thread)s
   AND tenant = %(tenant)s AND owner = %(owner)s
RETURNING {_COLUMNS}
""".encode()  # noqa: S608  # our own constants
_READ = """
SELECT title, messages, created_at, expires_at FROM engine.shares
 WHERE share_id = %s AND expires_at > now()
"""
_EXPIRED = """
DELETE FROM engine.shares WHERE expires_at <= now() AND engine.is_tenant_here(tenant)
"""
