"""Effects in PostgreSQL, each recorded only by the attempt that holds the run."""

from typing import Any

from psycopg.types.json import Jsonb

from bathysphere.core.effects import Done, EffectKey, Fresh, Unknown
from bathysphere.engine.database.pool import Pool, storage_errors
from bathysphere.engine.encryption.places import Place, effect_place
from bathysphere.engine.fencing import FENCE, superseded
from bathysphere.engine.records import Run


class PostgresEffectLog:
    """The effects of a thread, as one attempt can read and record them."""

    def __init__(self, pool: Pool, run: Run, *, token: int) -> None:
        self._pool = pool
        self._cipher = pool.encryption.tenant(run.owner.tenant)
        self._fence: dict[str, Any] = {"thread": run.thread_id, "run": run.run_id, "token": token}

    async def begin(self, key: EffectKey) -> Fresh | Done | Unknown:
        """Claim the effect, or return its outcome.

        Raises:
            Superseded: Another attempt has the run, so this one must not act.
        """
        row = await self._run(_BEGIN, key)
        if row["is_fresh"]:
            return Fresh()
        if not row["is_done"]:
            return Unknown()
        return Done(self._cipher.open_json(row["result"], self._place(key)))

    async def finish(self, key: EffectKey, result: Any) -> None:
        """Record that the effect happened, with its result.

        Not fenced: it did happen, and the attempt that took over the run must know.
        """
        sealed = self._cipher.seal_json(result, self._place(key))
        values = {**self._values(key), "result": Jsonb(sealed)}
        with storage_errors():
            async with self._pool.connection() as connection:
                await connection.execute(_FINISH, values)

    async def forget(self, key: EffectKey) -> None:
        """Record that the effect did not happen, so that it may be tried again."""
        await self._run(_FORGET, key)

    async def _run(self, statement: str, key: EffectKey) -> dict[str, Any]:
        with storage_errors():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(statement.encode(), self._values(key))
                row = await cursor.fetchone()
        if row is None:
            raise superseded(self._fence["run"])
        return row

    def _place(self, key: EffectKey) -> Place:
        return effect_place(self._fence["thread"], key.namespace, key.task, key.call)

    def _values(self, key: EffectKey) -> dict[str, Any]:
        return {**self._fence, "namespace": key.namespace, "task": key.task, "call": key.call}


_KEY = "(thread_id, namespace, task, call) = (%(thread)s, %(namespace)s, %(task)s, %(call)s)"
_BEGIN = f"""{FENCE}, begun AS (
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
_FORGET = f"""{FENCE}, gone AS (
    DELETE FROM engine.effects USING fence WHERE {_KEY} AND NOT is_done
)
SELECT 1 AS passed FROM fence
"""  # noqa: S608  # our own constants
