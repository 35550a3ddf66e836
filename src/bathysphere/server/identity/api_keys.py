"""API keys: made once, shown once, kept as a digest, gone the moment they are revoked.

A key is `bsk_<id>_<secret>`. The id finds the row and may be shown; the secret has 256 random bits,
so a plain SHA-256 of the key is enough and needs no salt.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, Self

from psycopg import OperationalError
from psycopg_pool import PoolTimeout
from starlette.requests import HTTPConnection

from bathysphere.core.errors import CallerError
from bathysphere.engine.database import Pool
from bathysphere.engine.records import Owner
from bathysphere.server.identity.identify import IdentityUnavailable, Unauthenticated, credential

PREFIX = "bsk_"
_KEY = re.compile(r"bsk_([0-9a-f]{12})_([A-Za-z0-9_-]{43})", re.ASCII)
_NOBODY = hashlib.sha256(b"no such key").digest()
_HINT = "make one with `bathysphere keys create`"


class KeyNotFound(CallerError):
    """There is no API key of this id."""

    code = "api_key_not_found"


@dataclass(frozen=True, kw_only=True, slots=True)
class ApiKey:
    """What may be known of a key; not the key."""

    key_id: str
    owner: Owner
    label: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """From a row of `identity.api_keys`."""
        owner = Owner(tenant=row["tenant"], user=row["owner"])
        plain = ("key_id", "label", "created_at", "expires_at", "revoked_at", "last_used_at")
        return cls(owner=owner, **{name: row[name] for name in plain})


class NewKey(NamedTuple):
    """A key's secret, to be shown this once, and what is kept of it."""

    secret: str
    key: ApiKey


class ApiKeys:
    """The keys of a deployment, in its database."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def create(
        self, owner: Owner, *, label: str = "", expires_at: datetime | None = None
    ) -> NewKey:
        """Make a key for an owner."""
        key_id = secrets.token_hex(6)
        secret = f"{PREFIX}{key_id}_{secrets.token_urlsafe(32)}"
        values = (key_id, _digest(secret), owner.tenant, owner.user, label, expires_at)
        async with self._pool.connection() as connection:
            row: Any = await (
                await connection.execute(
                    "INSERT INTO identity.api_keys"
                    " (key_id, digest, tenant, owner, label, expires_at)"
                    " VALUES (%s, %s, %s, %s, %s, %s) RETURNING *",
                    values,
                )
            ).fetchone()
        return NewKey(secret, ApiKey.from_row(row))

    async def all(self) -> list[ApiKey]:
        """Every key there is or was, newest first."""
        async with self._pool.connection() as connection:
            rows = await (
                await connection.execute("SELECT * FROM identity.api_keys ORDER BY created_at DESC")
            ).fetchall()
        return [ApiKey.from_row(row) for row in rows]

    async def revoke(self, key_id: str) -> None:
        """End a key; a second time changes nothing.

        Raises:
            KeyNotFound: There is no such key.
        """
        async with self._pool.connection() as connection:
            cursor = await connection.execute(
                "UPDATE identity.api_keys SET revoked_at = COALESCE(revoked_at, now())"
                " WHERE key_id = %s",
                (key_id.removeprefix(PREFIX),),
            )
        if not cursor.rowcount:
            raise KeyNotFound(f"no key {key_id!r}", hint="`bathysphere keys list` shows them")

    async def owner_of(self, secret: str) -> Owner:
        """The owner a key stands for, now.

        Raises:
            Unauthenticated: The key is malformed, unknown, revoked or out of date.
            IdentityUnavailable: The database did not answer.
        """
        form = _KEY.fullmatch(secret)
        if form is None:
            raise Unauthenticated("this is not an API key", hint="a key starts with bsk_")
        try:
            row = await self._find(form.group(1))
        except (OperationalError, PoolTimeout) as error:
            raise IdentityUnavailable("API keys cannot be looked up now") from error
        kept = bytes(row["digest"]) if row is not None else _NOBODY
        # Compared for an unknown id too, so that time does not tell which ids exist.
        if not hmac.compare_digest(kept, _digest(secret)) or row is None:
            raise Unauthenticated("the API key is not known", hint=_HINT)
        if not row["is_valid"]:
            raise Unauthenticated("the API key was revoked or is out of date", hint=_HINT)
        return Owner(tenant=row["tenant"], user=row["owner"])

    async def identify(self, connection: HTTPConnection) -> Owner:
        """The owner of the key a request carries."""
        return await self.owner_of(credential(connection))

    async def _find(self, key_id: str) -> Mapping[str, Any] | None:
        async with self._pool.connection() as connection:
            row = await (await connection.execute(_FIND, (key_id,))).fetchone()
            if row is not None and row["is_valid"] and row["is_news"]:
                await connection.execute(
                    "UPDATE identity.api_keys SET last_used_at = now() WHERE key_id = %s", (key_id,)
                )
        return row


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


# Once a minute is often enough to know whether a key is in use, and is one write a minute.
_FIND = """
SELECT digest, tenant, owner,
       revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()) AS is_valid,
       last_used_at IS NULL OR last_used_at < now() - interval '1 minute' AS is_news
  FROM identity.api_keys WHERE key_id = %s
"""
