"""Check at startup that a process has the keys that contents are encrypted with."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from psycopg.errors import UndefinedTable
from psycopg.types.json import Jsonb

from bathysphere.engine.database.pool import Connection, Database, Pool, open_pool
from bathysphere.engine.encryption.cipher import Encryption
from bathysphere.engine.encryption.places import Place
from bathysphere.engine.errors import DecryptionFailed, EncryptionKeyMissing, EncryptionKeyWrong

_PROOF = "bathysphere"


@asynccontextmanager
async def open_storage(database: Database) -> AsyncIterator[Pool]:
    """Open a pool whose process has all keys that contents are encrypted with.

    Raises:
        EncryptionKeyMissing: A key is missing.
        EncryptionKeyWrong: A key is another one under the same id.
    """
    async with open_pool(database) as pool:
        async with pool.connection() as connection:
            await check_keys(connection, database.encryption)
        yield pool


async def check_keys(connection: Connection, encryption: Encryption) -> None:
    """Record the key that encrypts, and compare all keys with the recorded ones.

    A database that has not been migrated has no encrypted contents.

    Raises:
        EncryptionKeyMissing: A key is missing.
        EncryptionKeyWrong: A key is another one under the same id.
    """
    try:
        if encryption.keys.writer is not None:
            key_id = encryption.keys.writer.key_id
            proof = encryption.tenant("").seal_json(_PROOF, _place(key_id))
            await connection.execute(_RECORD, (key_id, Jsonb(proof)))
        rows = await (await connection.execute(_RECORDED)).fetchall()
    except UndefinedTable:
        return
    known = {key.key_id for key in encryption.keys.keys}
    for row in rows:
        key_id = row["key_id"]
        if key_id not in known:
            raise EncryptionKeyMissing.of(key_id)
        try:
            encryption.tenant("").open_json(row["proof"], _place(key_id))
        except DecryptionFailed as error:
            raise EncryptionKeyWrong.of(key_id) from error


async def recorded_keys(connection: Connection) -> list[str]:
    """The ids of the keys that contents are encrypted with."""
    try:
        rows = await (await connection.execute(_RECORDED)).fetchall()
    except UndefinedTable:
        return []
    return [row["key_id"] for row in rows]


async def forget_key(connection: Connection, key_id: str) -> None:
    """Forget a key that nothing is encrypted with any more."""
    await connection.execute("DELETE FROM engine.encryption_keys WHERE key_id = %s", (key_id,))


def _place(key_id: str) -> Place:
    return ("key", key_id)


_RECORD = """
INSERT INTO engine.encryption_keys (key_id, proof) VALUES (%s, %s) ON CONFLICT DO NOTHING
"""
_RECORDED = "SELECT key_id, proof FROM engine.encryption_keys ORDER BY added_at, key_id"
