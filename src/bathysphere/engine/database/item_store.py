"""The store of items that threads share: search by meaning, and expiry, if a project wants them.

Vectors are compared exactly, within the owner's namespace: an approximate index over all tenants
would leave out a small tenant's items, because the nearest ones are others'.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.embeddings import Embeddings
from langgraph.store.base import BaseStore, TTLConfig
from langgraph.store.postgres.aio import AsyncPostgresStore
from langgraph.store.postgres.base import PostgresIndexConfig
from psycopg import AsyncConnection
from psycopg.errors import FeatureNotSupported, InsufficientPrivilege, UndefinedFile
from psycopg.rows import dict_row

from bathysphere.core.errors import ConfigError, UpstreamError
from bathysphere.engine.database.pool import Connection, Database, Pool
from bathysphere.engine.database.schema import advisory_lock
from bathysphere.engine.database.tenant_reads import RowSecuredStore

_LOCK = 0x6261_7469  # the advisory lock id after that of the engine's migrations
_MAX_TEXT = 20_000
"""Characters of a text that are embedded; models accept only so many."""


class EmbeddingFailed(UpstreamError):
    """The model for embeddings did not answer, or with vectors of another length."""

    code = "embedding_failed"


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemIndex:
    """How items are found by meaning."""

    embeddings: Embeddings
    dims: int
    fields: tuple[str, ...] = ("$",)


@dataclass(frozen=True, kw_only=True, slots=True)
class StoreOptions:
    """Index and expiry of the store; None: off."""

    index: ItemIndex | None = None
    ttl: TTLConfig | None = None
    sweep_seconds: float = 300


class _CheckedEmbeddings(Embeddings):
    """Embeddings whose failures have a code, and whose vectors have the promised length."""

    def __init__(self, index: ItemIndex) -> None:
        self._index = index

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts to be found."""
        raise NotImplementedError("the store is asynchronous")

    def embed_query(self, text: str) -> list[float]:
        """Embed a text to search for."""
        raise NotImplementedError("the store is asynchronous")

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Embed texts to be found."""
        try:
            vectors = await self._index.embeddings.aembed_documents([t[:_MAX_TEXT] for t in texts])
        except Exception as error:  # a provider's library may raise anything
            raise _failure(type(error).__name__) from error
        return [self._checked(vector) for vector in vectors]

    async def aembed_query(self, text: str) -> list[float]:
        """Embed a text to search for."""
        try:
            vector = await self._index.embeddings.aembed_query(text[:_MAX_TEXT])
        except Exception as error:  # a provider's library may raise anything
            raise _failure(type(error).__name__) from error
        return self._checked(vector)

    def _checked(self, vector: Sequence[float]) -> list[float]:
        if len(vector) != self._index.dims:
            raise _failure(f"{len(vector)} dimensions, {self._index.dims} were configured")
        return list(vector)


class _ExactStore(AsyncPostgresStore):
    """The store's migrations up to the table of vectors, without the approximate index."""

    # LangGraph skips the index for the kind `flat` only in its synchronous store.
    VECTOR_MIGRATIONS = AsyncPostgresStore.VECTOR_MIGRATIONS[:2]


def _failure(reason: str) -> EmbeddingFailed:
    return EmbeddingFailed(
        f"A text could not be embedded: {reason}", hint="check `store.index` of langgraph.json"
    )


def _index_config(options: StoreOptions) -> PostgresIndexConfig | None:
    if options.index is None:
        return None
    return {
        "dims": options.index.dims,
        "embed": _CheckedEmbeddings(options.index),
        "fields": list(options.index.fields),
    }


def open_store(pool: Pool, options: StoreOptions | None = None) -> BaseStore:
    """Open the store of a process."""
    options = options or StoreOptions()
    return RowSecuredStore(pool, index=_index_config(options), ttl=options.ttl)


async def migrate_store(database: Database, options: StoreOptions | None = None) -> None:
    """Create the store's tables; safe to call from several processes at once.

    Raises:
        ConfigError: An index is configured, and the database has no pgvector, or has vectors of
            another length.
    """
    options = options or StoreOptions()
    connection: Connection = await AsyncConnection.connect(
        database.url, autocommit=True, row_factory=dict_row, prepare_threshold=None
    )
    async with connection, advisory_lock(connection, _LOCK):
        try:
            await _ExactStore(conn=connection, index=_index_config(options)).setup()
        except (FeatureNotSupported, UndefinedFile, InsufficientPrivilege) as error:
            raise ConfigError(
                f"`store.index` needs PostgreSQL's extension pgvector: {error}".strip(),
                hint="install it (Debian: postgresql-NN-pgvector) and run CREATE EXTENSION vector"
                " as a superuser, or use the embedded PostgreSQL, which has it",
            ) from error
        if options.index is not None:
            await _check_dims(connection, options.index.dims)
            await connection.execute(_SECURE_VECTORS)


async def _check_dims(connection: Connection, dims: int) -> None:
    row: Any = await (await connection.execute(_DIMS)).fetchone()
    if row is not None and row["dims"] != dims:
        raise ConfigError(
            f"`store.index.dims` is {dims}, but the stored vectors have {row['dims']}",
            hint="use the former embedding, or drop the tables store_vectors and vector_migrations"
            " and store the items again",
        )


_DIMS = """
SELECT atttypmod AS dims FROM pg_attribute
 WHERE attrelid = 'store_vectors'::regclass AND attname = 'embedding'
"""
# As the store itself (0300_row_security.sql): a reader sees the vectors of its own items.
_SECURE_VECTORS = """
GRANT SELECT ON store_vectors TO bathysphere_tenant;
ALTER TABLE store_vectors ENABLE ROW LEVEL SECURITY;
DO $$
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_policies
                    WHERE tablename = 'store_vectors' AND policyname = 'own') THEN
        CREATE POLICY own ON store_vectors TO bathysphere_tenant
            USING (prefix = 'owners.' || current_setting('app.space', true)
                   OR starts_with(prefix, 'owners.' || current_setting('app.space', true) || '.')
                   OR starts_with(prefix, 'engine.' || current_setting('app.space', true) || '.'));
    END IF;
END $$;
"""
