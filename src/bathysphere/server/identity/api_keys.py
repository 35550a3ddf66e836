"""API keys: shown once, stored as a digest, and invalid as soon as they are revoked.

A key is `bsk_<id>_<secret>`. The id identifies the row and is not secret; the secret has 256 random
bits, so a plain SHA-256 of the key is enough and needs no salt.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple, Self

from psycopg import OperationalError
from psycopg_pool import PoolTimeout
from starlette.requests import HTTPConnection

from bathysphere.core.errors import CallerError
from bathysphere.core.identity import Owner
from bathysphere.engine.audit.recording import OPERATOR, Actor, AuditAction, Recorded, record
from bathysphere.engine.crons.records import Grant
from bathysphere.engine.database.pool import Connection, Pool
from bathysphere.server.identity.identify import (
    GRANT_KEY,
    IdentityUnavailable,
    Unauthenticated,
    credential,
)
from bathysphere.server.identity.shared_lookups import SharedLookups

PREFIX = "bsk_"
_KEY = re.compile(r"bsk_([0-9a-f]{12})_([A-Za-z0-9_-]{43})", re.ASCII)
_UNKNOWN = hashlib.sha256(b"no such key").digest()
_HINT = "create one with `bathysphere keys create`"


class KeyNotFound(CallerError):
    """There is no API key with this id."""

    code = "api_key_not_found"


@dataclass(frozen=True, kw_only=True, slots=True)
class ApiKey:
    """An API key without its secret."""

    key_id: str
    owner: Owner
    label: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None

    def state(self, now: datetime) -> Literal["live", "expired", "revoked"]:
        """Whether the key is valid at `now`, and if not, why."""
        if self.revoked_at is not None:
            return "revoked"
        is_expired = self.expires_at is not None and self.expires_at <= now
        return "expired" if is_expired else "live"

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Create from a row of `identity.api_keys`."""
        owner = Owner(tenant=row["tenant"], user=row["owner"])
        return cls(owner=owner, **{name: row[name] for name in _PLAIN})


_PLAIN = ("key_id", "label", "created_at", "expires_at", "revoked_at", "last_used_at")
_COLUMNS = ", ".join(("tenant", "owner", *_PLAIN))


class NewKey(NamedTuple):
    """A new key and its secret, which cannot be read again."""

    secret: str
    key: ApiKey


class ApiKeys:
    """The API keys of a deployment, in its database."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._rows = SharedLookups(self._find)

    async def create(
        self,
        owner: Owner,
        *,
        label: str = "",
        expires_at: datetime | None = None,
        by: Actor = OPERATOR,
    ) -> NewKey:
        """Create a key for an owner."""
        key_id = secrets.token_hex(6)
        secret = f"{PREFIX}{key_id}_{secrets.token_urlsafe(32)}"
        values = (key_id, _digest(secret), owner.tenant, owner.user, label, expires_at)
        async with self._pool.connection() as connection, connection.transaction():
            row: Any = await (
                await connection.execute(
                    "INSERT INTO identity.api_keys"  # noqa: S608  # our constant
                    " (key_id, digest, tenant, owner, label, expires_at)"
                    f" VALUES (%s, %s, %s, %s, %s, %s) RETURNING {_COLUMNS}".encode(),
                    values,
                )
            ).fetchone()
            key = ApiKey.from_row(row)
            await _record(connection, "key.created", key, by)
        return NewKey(secret, key)

    async def all(self) -> list[ApiKey]:
        """List all keys, including revoked and expired ones, newest first."""
        async with self._pool.connection() as connection:
            rows = await (
                await connection.execute(
                    f"SELECT {_COLUMNS} FROM identity.api_keys"  # noqa: S608  # our constant
                    " ORDER BY created_at DESC".encode()
                )
            ).fetchall()
        return [ApiKey.from_row(row) for row in rows]

    async def revoke(self, key_id: str, *, by: Actor = OPERATOR) -> None:
        """Revoke a key; idempotent.

        Raises:
            KeyNotFound: There is no such key.
        """
        async with self._pool.connection() as connection, connection.transaction():
            values = (key_id.removeprefix(PREFIX),)
            row = await (await connection.execute(_REVOKE, values)).fetchone()
            if row is not None and not row["was_revoked"]:
                await _record(connection, "key.revoked", ApiKey.from_row(row), by)
        if row is None:
            raise KeyNotFound(
                f"Unknown API key {key_id!r}", hint="list them with `bathysphere keys list`"
            )

    async def owner_of(self, secret: str) -> Owner:
        """Return the owner of a valid key.

        Raises:
            Unauthenticated: The key is malformed, unknown, revoked or expired.
            IdentityUnavailable: The database is unavailable.
        """
        match = _KEY.fullmatch(secret)
        if match is None:
            if secret.startswith(PREFIX):
                raise Unauthenticated("Unknown API key", hint=_HINT)
            raise Unauthenticated("Not an API key", hint=f"keys start with {PREFIX}")
        try:
            row = await self._rows.get(match.group(1))
        except (OperationalError, PoolTimeout) as error:
            raise IdentityUnavailable("API keys cannot be checked right now") from error
        stored = bytes(row["digest"]) if row is not None else _UNKNOWN
        # Compared for unknown ids too, so that timing does not reveal which ids exist.
        if not hmac.compare_digest(stored, _digest(secret)) or row is None:
            raise Unauthenticated("Unknown API key", hint=_HINT)
        if not row["is_valid"]:
            raise Unauthenticated("The API key was revoked or has expired", hint=_HINT)
        return Owner(tenant=row["tenant"], user=row["owner"])

    async def identify(self, connection: HTTPConnection) -> Owner:
        """Identify the owner by the request's API key."""
        secret = credential(connection)
        owner = await self.owner_of(secret)
        connection.scope[GRANT_KEY] = Grant(key_id=key_id_of(secret))
        return owner

    async def _find(self, key_id: str) -> Mapping[str, Any] | None:
        async with self._pool.connection() as connection:
            row = await (await connection.execute(_FIND, (key_id,))).fetchone()
            if row is not None and row["is_valid"] and row["is_stale"]:
                await connection.execute(
                    "UPDATE identity.api_keys SET last_used_at = now() WHERE key_id = %s", (key_id,)
                )
        return row


async def _record(connection: Connection, action: AuditAction, key: ApiKey, by: Actor) -> None:
    owner, ends = key.owner, key.expires_at
    done = Recorded(
        action=action,
        by=by,
        tenant=owner.tenant,
        user=owner.user,
        subject=key.key_id,
        details={"expires_at": ends.astimezone(UTC).isoformat() if ends else None},
    )
    await record(connection, done)


def key_id_of(secret: str) -> str | None:
    """The part of a key that may be shown."""
    match = _KEY.fullmatch(secret)
    return match.group(1) if match is not None else None


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


_REVOKE = f"""
WITH before AS (
SELECT key_id AS id, revoked_at IS NOT NULL AS was_revoked
  FROM identity.api_keys WHERE key_id = %s FOR UPDATE
)
UPDATE identity.api_keys SET revoked_at = COALESCE(revoked_at, now())
  FROM before WHERE key_id = before.id
RETURNING was_revoked, {_COLUMNS}
""".encode()  # noqa: S608  # our constant
# `last_used_at` is written at most once per minute: precise enough, and cheap.
_FIND = """
SELECT digest, tenant, owner,
       revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()) AS is_valid,
       last_used_at IS NULL OR last_used_at < now() - interval '1 minute' AS is_stale
  FROM identity.api_keys WHERE key_id = %s
"""
