"""The database from the settings. Cheap to import: `bathysphere keys` must start fast."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pydantic import SecretStr

from bathysphere.core.errors import ConfigError
from bathysphere.engine.database.pool import Database
from bathysphere.engine.encryption.cipher import Encryption
from bathysphere.engine.encryption.keys import MasterKeys
from bathysphere.server.process.settings import ServerSettings


def database_of(settings: ServerSettings, *, with_worker: bool) -> Database:
    """The database named by the settings.

    Raises:
        ConfigError: The settings name none.
    """
    url = secret(settings.database_url)
    if url is None:
        raise ConfigError(
            "No database configured", hint="pass --database-url, or set BATHYSPHERE_DATABASE_URL"
        )
    return sized(Database(url=url), settings, with_worker=with_worker)


def sized(database: Database, settings: ServerSettings, *, with_worker: bool) -> Database:
    """Set the pool size and timeouts that the process needs."""
    return Database(
        url=database.url,
        max_size=settings.database_pool_size + (settings.worker_concurrency if with_worker else 0),
        prepare_threshold=5 if settings.database_prepare else None,
        listen_url=secret(settings.database_listen_url),
        # A worker's statements may take long: it waits for locks and copies taken-over runs.
        statement_seconds=None if with_worker else settings.database_statement_seconds,
        encryption=encryption_of(settings),
    )


def encryption_of(settings: ServerSettings) -> Encryption:
    """How contents are stored.

    Raises:
        ConfigError: The keys are invalid, or strictness has none.
    """
    keys = None
    if (text := secret(settings.encryption_keys)) is not None:
        keys = MasterKeys.parse(text)
    elif settings.encryption_keys_file is not None:
        keys = MasterKeys.read(settings.encryption_keys_file)
    if settings.encryption_strict and (keys is None or keys.writer is None):
        raise ConfigError(
            "BATHYSPHERE_ENCRYPTION_STRICT needs a key that encrypts",
            hint="set BATHYSPHERE_ENCRYPTION_KEYS, or unset it",
        )
    return Encryption(
        keys, is_strict=settings.encryption_strict, indexes_messages=settings.message_search
    )


@asynccontextmanager
async def open_database(
    settings: ServerSettings, *, url: str, with_worker: bool
) -> AsyncIterator[Database]:
    """The process's database, migrated: the one of the settings, or one of its own in a folder.

    `url` is where the process will be reached; it is announced in the folder.
    """
    from bathysphere.engine.database.embedded import claim_folder, embedded_postgres

    if not settings.is_embedded:
        database = database_of(settings, with_worker=with_worker)
        await _prepare(database, settings, with_worker=with_worker)
        yield database
        return
    with claim_folder(settings.data_dir) as claim:
        async with embedded_postgres(settings.data_dir) as own:
            database = sized(own, settings, with_worker=with_worker)
            await migrate_database(database)
            claim.announce(url)
            yield database


async def _prepare(database: Database, settings: ServerSettings, *, with_worker: bool) -> None:
    """Apply the migrations, or let a worker wait until someone else has.

    An API without them is not ready, so it gets no requests. Nobody routes work to a worker: it
    would execute runs on an older schema.
    """
    from bathysphere.engine.database.schema import wait_until_migrated

    if settings.migrate:
        await migrate_database(database)
    elif with_worker:
        await wait_until_migrated(database)


async def migrate_database(database: Database) -> list[str]:
    """Apply all migrations; return the names of those that were applied."""
    from bathysphere.engine.database.item_store import migrate_store
    from bathysphere.engine.database.schema import migrate

    direct = Database(url=database.listen_url or database.url)
    applied = await migrate(direct)
    await migrate_store(direct)
    return applied


def secret(value: SecretStr | None) -> str | None:
    """The plain value of a secret setting."""
    return value.get_secret_value() if value is not None else None
