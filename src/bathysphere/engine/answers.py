"""Answers to interrupts: checked before they are saved, kept until the step can go on, used once.

All questions of a step are answered together: answers that come one by one are kept here, and one
run carries them when the last has come. Resuming with a part would execute every sibling that is
still unanswered again from its start, once for each part, and the step could not end anyway.

A question is known by its interrupt id. A second answer to the same question changes nothing; an
answer to a question that is not pending is refused.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # ships no types
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.types import Interrupt
from psycopg.types.json import Jsonb

from bathysphere.engine.database import Connection, Pool
from bathysphere.engine.errors import AnswerRefused
from bathysphere.engine.graphs import Graphs
from bathysphere.engine.records import Owner, Run, Work
from bathysphere.engine.runs import NewRun, Runs, lock_thread


@dataclass(frozen=True, kw_only=True, slots=True)
class Given:
    """What became of answers: taken, known already, and what is still waited for."""

    taken: tuple[str, ...]
    repeated: tuple[str, ...]
    waiting_for: tuple[str, ...]
    run: Run | None


class Answers:
    """The answers of all threads."""

    def __init__(self, pool: Pool, *, runs: Runs, graphs: Graphs) -> None:
        self._pool = pool
        self._runs = runs
        self._graphs = graphs

    async def give(
        self,
        thread_id: UUID,
        answers: Mapping[str, Any],
        *,
        owner: Owner,
        graph: str,
        work: Work | None = None,
    ) -> Given:
        """Answer questions by their ids; all of the answers are taken, or none.

        `work` carries what the run needs beside the answers: metadata, limits, stream modes.

        Raises:
            AnswerRefused: A question is not pending, or an answer does not fit its schema.
            ThreadNotFound: The thread is not this owner's.
        """
        async with self._pool.connection() as connection, connection.transaction():
            await lock_thread(connection, thread_id, owner=owner)
            saved = await self._saved(connection, thread_id)
            repeated = tuple(name for name in answers if name in saved)
            fresh = {name: value for name, value in answers.items() if name not in saved}
            pending = await self._pending(connection, thread_id, graph)
            for name, value in fresh.items():
                _check(name, value, pending)
            fresh = {name: bound(pending[name], value) for name, value in fresh.items()}
            await self._save(connection, thread_id, fresh)
            kept = {name: row["answer"] for name, row in saved.items() if row["run_id"] is None}
            together = {name: v for name, v in {**kept, **fresh}.items() if name in pending}
            waiting_for = tuple(
                name for name in pending if name not in together and name not in saved
            )
            run = None
            if together and not waiting_for:
                run = await self._resume(connection, thread_id, graph, together, owner, work)
        return Given(taken=tuple(fresh), repeated=repeated, waiting_for=waiting_for, run=run)

    async def pending(self, thread_id: UUID, *, graph: str) -> dict[str, Interrupt[Any]]:
        """The thread's open questions by id, nested ones too."""
        async with self._pool.connection() as connection:
            return await self._pending(connection, thread_id, graph)

    async def _pending(
        self, connection: Connection, thread_id: UUID, graph: str
    ) -> dict[str, Interrupt[Any]]:
        # On the connection we have: asking the pool for a second one could wait for ourselves.
        bound = self._graphs.bind(graph, checkpointer=AsyncPostgresSaver(connection))
        state = await bound.aget_state({"configurable": {"thread_id": str(thread_id)}})
        return {question.id: question for question in state.interrupts}

    async def kept(self, thread_id: UUID, *, owner: Owner) -> dict[str, Any]:
        """Answers that wait for their siblings."""
        async with self._pool.connection() as connection, connection.transaction():
            await lock_thread(connection, thread_id, owner=owner)
            saved = await self._saved(connection, thread_id)
        return {name: row["answer"] for name, row in saved.items() if row["run_id"] is None}

    async def _saved(self, connection: Connection, thread_id: UUID) -> dict[str, Any]:
        # A rolled back run gives its questions back, so its answers do not count.
        rows = await (await connection.execute(_SAVED, (thread_id,))).fetchall()
        return {row["interrupt_id"]: row for row in rows}

    async def _save(
        self, connection: Connection, thread_id: UUID, answers: Mapping[str, Any]
    ) -> None:
        for name, value in answers.items():
            await connection.execute(_SAVE, (thread_id, name, Jsonb(value)))

    async def _resume(
        self,
        connection: Connection,
        thread_id: UUID,
        graph: str,
        answers: Mapping[str, Any],
        owner: Owner,
        work: Work | None,
    ) -> Run:
        base = (work or Work()).to_json()
        resumed = Work.from_json({**base, "input": None, "resume": dict(answers)})
        new = NewRun(thread_id=thread_id, graph=graph, work=resumed, creates_thread=False)
        run = await self._runs.enqueue(connection, new, owner=owner)
        await connection.execute(
            "UPDATE engine.answers SET run_id = %s WHERE thread_id = %s AND interrupt_id = ANY(%s)",
            (run.run_id, thread_id, list(answers)),
        )
        return run


def bound(question: Interrupt[Any], answer: Any) -> Any:
    """The answer with what its question is bound to, such as the version that was shown.

    It is the question's own word, so that no client can answer one thing and mean another.
    """
    shown = question.value.get("bound") if isinstance(question.value, dict) else None
    if shown is None or not isinstance(answer, dict):
        return answer
    return {**answer, "bound": shown}


def _check(name: str, value: Any, pending: Mapping[str, Interrupt[Any]]) -> None:
    question = pending.get(name)
    if question is None:
        raise AnswerRefused(
            f"no question {name} is waiting", hint="it was answered, or the thread went on"
        )
    if not isinstance(question.response_schema, dict):
        return
    errors = Draft202012Validator(question.response_schema).iter_errors(value)
    if (error := next(iter(errors), None)) is not None:
        where = error.json_path
        raise AnswerRefused(
            f"the answer to {name} does not fit: {error.message} (at {where})",
            hint="the question's response_schema says what it must look like",
        )


_SAVED = """
SELECT answer.* FROM engine.answers answer
  LEFT JOIN engine.runs run USING (run_id)
 WHERE answer.thread_id = %s
   AND (answer.run_id IS NULL OR run.cancel IS DISTINCT FROM 'rollback')
"""
_SAVE = """
INSERT INTO engine.answers (thread_id, interrupt_id, answer) VALUES (%s, %s, %s)
ON CONFLICT (thread_id, interrupt_id) DO UPDATE
   SET answer = EXCLUDED.answer, run_id = NULL, answered_at = now()
"""
