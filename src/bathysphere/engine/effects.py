"""Effects in PostgreSQL: each written down by the attempt that holds the run, and by no other."""

from typing import Any
from uuid import UUID

from psycopg.types.json import Jsonb

from bathysphere.core.effects import Done, EffectKey, Fresh, Unknown
from bathysphere.engine.database import Pool, reachable
from bathysphere.engine.errors import Superseded


class PostgresEffectLog:
    """The effects of one thread, as one attempt may see and change them."""

    def __init__(self, pool: Pool, *, thread_id: UUID, run_id: UUID, token: int) -> None:
        self._pool = pool
        self._fence = {"thread": thread_id, "run": run_id, "token": token}

    async def begin(self, key: EffectKey) -> Fresh | Done | Unknown:
        """Claim the effect, or learn what became of it.

        Raises:
            Superseded: Another attempt has the run, so this one must not act.
        """
        row = await self._run(_BEGIN, key)
        if row["is_fresh"]:
            return Fresh()
        return Done(row["result"]) if row["is_done"] else Unknown()

    async def finish(self, key: EffectKey, result: Any) -> None:
        """Say that it happened, and what it gave.

        Not fenced: it did happen, and whoever took the run over must learn of it.
        """
        values = {**self._values(key), "result": Jsonb(result)}
        with reachable():
            async with self._pool.connection() as connection:
                await connection.execute(_FINISH, values)

    async def forget(self, key: EffectKey) -> None:
        """Say that it did not happen, so that it may be begun again."""
        await self._run(_FORGET, key)

    async def _run(self, statement: str, key: EffectKey) -> dict[str, Any]:
        with reachable():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(statement.encode(), self._values(key))
                row = await cursor.fetchone()
        if row is None:
            raise Superseded(f"run {self._fence['run']} was taken over")
        return row

    def _values(self, key: EffectKey) -> dict[str, Any]:
        return {**self._fence, "namespace": key.namespace, "task": key.task, "call": key.call}


_FENCE = """
WITH fence AS MATERIALIZED (
    SELECT 1 FROM engine.runs WHERE run_id = %(run)s AND token = %(token)s FOR SHARE
)"""
_KEY = "(thread_id, namespace, task, call) = (%(thread)s, %(namespace)s, %(task)s, %(call)s)"
_BEGIN = f"""{_FENCE}, begun AS (
    INSERT INTO engine.effects (thread_id, namespace, task, call, run_id)
    SELECT %(thread)s, %(namespace)s, %(task)s, %(call)s, %(run)s FROM fence
    ON CONFLICT DO NOTHING
    RETURNING 1
)
SELECT EXISTS (SELECT FROM begun) AS is_fresh, known.is_done, known.result
  FROM fence LEFT JOIN engine.effects known ON {_KEY}
"""  # noqa: S608  # our own constants
_FINISH = f"""
UPDATE engine.effects SET is_done = true, result = %(result)s, finished_at = now()
 WHERE {_KEY} AND NOT is_done
""".encode()  # noqa: S608  # our own constants
_FORGET = f"""{_FENCE}, gone AS (
    DELETE FROM engine.effects USING fence WHERE {_KEY} AND NOT is_done
)
SELECT 1 AS passed FROM fence
"""  # noqa: S608  # our own constants
