"""Readiness checks of a process, for load balancers and operators."""

import asyncio

import psycopg
from psycopg_pool import PoolTimeout
from redis.asyncio import Redis
from redis.exceptions import RedisError

from bathysphere.engine.database.pool import Pool
from bathysphere.engine.database.schema import migration_scripts


class Health:
    """Checks the database, its migrations and Redis. Not ready during a shutdown."""

    def __init__(self, pool: Pool, redis: Redis | None = None, *, seconds: float = 2) -> None:
        self._pool = pool
        self._redis = redis
        self._seconds = seconds
        self._is_shutting_down = False

    def begin_shutdown(self) -> None:
        """Report the process as not ready from now on."""
        self._is_shutting_down = True

    async def check(self) -> dict[str, str]:
        """Return `ok` or the problem, by name of the check."""
        checks = {"process": "shutting down" if self._is_shutting_down else "ok"}
        checks |= await self._database()
        if self._redis is not None:
            checks["redis"] = await self._ping(self._redis)
        return checks

    async def _database(self) -> dict[str, str]:
        try:
            async with asyncio.timeout(self._seconds), self._pool.connection() as connection:
                rows = await (
                    await connection.execute("SELECT name FROM engine.migrations")
                ).fetchall()
        except psycopg.errors.UndefinedTable:
            return {"database": "ok", "migrations": "missing"}
        except (psycopg.Error, PoolTimeout, TimeoutError):
            return {"database": "unavailable"}
        is_current = migration_scripts().keys() <= {row["name"] for row in rows}
        return {"database": "ok", "migrations": "ok" if is_current else "missing"}

    async def _ping(self, redis: Redis) -> str:
        try:
            async with asyncio.timeout(self._seconds):
                await redis.ping()
        except (RedisError, OSError, TimeoutError):
            return "unavailable"
        return "ok"
