"""From settings to a database. Light to import: `bathysphere keys` must be quick."""

from pydantic import SecretStr

from bathysphere.core.errors import ConfigError
from bathysphere.engine.database import Database
from bathysphere.server.settings import ServerSettings


def database_of(settings: ServerSettings, *, works: bool) -> Database:
    """The database that the settings name.

    Raises:
        ConfigError: They name none.
    """
    url = secret(settings.database_url)
    if url is None:
        raise ConfigError("no database is named", hint="set BATHYSPHERE_DATABASE_URL")
    return sized(Database(url=url), settings, works=works)


def sized(database: Database, settings: ServerSettings, *, works: bool) -> Database:
    """The database with as many connections as the process needs."""
    return Database(
        url=database.url,
        max_size=settings.database_pool_size + (settings.worker_concurrency if works else 0),
        prepare_threshold=5 if settings.database_prepare else None,
        listen_url=secret(settings.database_listen_url),
    )


async def bring_to_shape(database: Database) -> list[str]:
    """Apply all migrations; return the names of what was applied."""
    from bathysphere.engine.schema import migrate
    from bathysphere.server.services import migrate_store

    direct = Database(url=database.listen_url or database.url)
    applied = await migrate(direct)
    await migrate_store(direct)
    return applied


def secret(value: SecretStr | None) -> str | None:
    """What a setting holds."""
    return value.get_secret_value() if value is not None else None
