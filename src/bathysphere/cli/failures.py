"""Explain library errors that a user can fix: one sentence and a hint.

Imports no library: its errors can only occur once it is in `sys.modules`.
"""

import sys

from bathysphere.core.errors import BathysphereError, ConfigError, UpstreamError


def explain_failure(raised: Exception, *, command: str) -> BathysphereError | None:
    """Convert an exception to a Bathysphere error; None if it is unexpected (a bug)."""
    error = innermost(raised)
    if isinstance(error, BathysphereError):
        return error
    if isinstance(error, ModuleNotFoundError) and not _is_ours(error.name):
        from bathysphere.core.extras import explain_missing_module

        return explain_missing_module(error.name or "", f"`bathysphere {command}`")
    if isinstance(error, OSError) and error.filename is not None:
        why = error.strerror or type(error).__name__
        hint = "check the path and its permissions"
        return ConfigError(f"Cannot use {error.filename}: {why}", hint=hint)
    return _of_database(error) or _of_redis(error) or _of_settings(error)


def print_error(error: BathysphereError) -> None:
    """Print an error and its hint."""
    print(f"error: {error.message}", file=sys.stderr)
    if error.hint:
        print(f"hint: {error.hint}", file=sys.stderr)


def innermost(error: Exception) -> Exception:
    """Unwrap exception groups that contain a single error."""
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error


def _is_ours(module: str | None) -> bool:
    return module is None or module.partition(".")[0] == "bathysphere"


def _of_database(error: Exception) -> BathysphereError | None:
    psycopg, pool = sys.modules.get("psycopg"), sys.modules.get("psycopg_pool")
    if psycopg is None:
        return None
    from bathysphere.engine.cells.tenants import CLOSED

    if isinstance(error, psycopg.ProgrammingError) and error.sqlstate is None:
        return ConfigError(
            f"Invalid database URL: {_first_line(error)}",
            hint="use postgresql://user:password@host:5432/name",
        )
    if isinstance(error, psycopg.Error) and error.sqlstate == CLOSED:
        return UpstreamError(
            "The tenant is moving to another cell, or is in another one",
            hint="see `bathysphere cells list`, and use the database of its cell",
        )
    is_timeout = pool is not None and isinstance(error, pool.PoolTimeout)
    if is_timeout or isinstance(error, psycopg.OperationalError):
        return UpstreamError(
            f"PostgreSQL is unavailable: {_first_line(error)}",
            hint="start it, or correct --database-url (BATHYSPHERE_DATABASE_URL)",
        )
    return None


def _of_redis(error: Exception) -> BathysphereError | None:
    redis = sys.modules.get("redis.exceptions")
    if redis is None or not isinstance(error, redis.ConnectionError | redis.TimeoutError):
        return None
    return UpstreamError(
        f"Redis is unavailable: {_first_line(error)}",
        hint="start it, or correct --redis-url (BATHYSPHERE_REDIS_URL)",
    )


def _of_settings(error: Exception) -> BathysphereError | None:
    pydantic = sys.modules.get("pydantic")
    settings = sys.modules.get("pydantic_settings")
    if pydantic is None or settings is None:
        return None
    if isinstance(error, settings.SettingsError):
        return ConfigError(f"Invalid setting: {_first_line(error)}", hint="correct or unset it")
    if isinstance(error, pydantic.ValidationError) and error.title.endswith("Settings"):
        first = error.errors(include_url=False, include_input=False)[0]
        name = ".".join(map(str, first["loc"])) or error.title
        return ConfigError(f"Invalid setting {name}: {first['msg']}", hint="correct or unset it")
    return None


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
