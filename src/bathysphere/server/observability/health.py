"""Whether this process can do its work: what load balancers and operators ask."""

import asyncio

import psycopg
from psycopg_pool import PoolTimeout
from redis.asyncio import Redis
from redis.exceptions import RedisError

from bathysphere.engine.database import Pool
from bathysphere.engine.schema import scripts


class Health:
    """Looks at the database, its migrations and Redis. Says no when the process is leaving."""

    def __init__(self, pool: Pool, redis: Redis | None = None, *, seconds: float = 2) -> None:
        self._pool = pool
        self._redis = redis
        self._seconds = seconds
        self._is_leaving = False

    def leave(self) -> None:
        """From now on the process is not ready: it is about to stop."""
        self._is_leaving = True

    async def check(self) -> dict[str, str]:
        """What was looked at, and `ok` or what is wrong with it."""
        checks = {"process": "leaving" if self._is_leaving else "ok"}
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
            return {"database": "away"}
        is_current = scripts().keys() <= {row["name"] for row in rows}
        return {"database": "ok", "migrations": "ok" if is_current else "missing"}

    async def _ping(self, redis: Redis) -> str:
        try:
            async with asyncio.timeout(self._seconds):
                await redis.ping()
        except (RedisError, OSError, TimeoutError):
            return "away"
        return "ok"
