"""Answers to interrupts: checked before they are saved, kept until the step can go on, used once.

All questions of a step are answered together: answers that come one by one are kept here, and one
run carries them when the last has come. Resuming with a part would execute every sibling that is
still unanswered again from its start, once for each part, and the step could not end anyway.

A question is known by its interrupt id. A second answer to the same question changes nothing; an
answer to a question that is not pending is refused. While a new message waits for its turn, answers
go along with it (`closing`); once it is on its way, the questions before it are closed.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # ships no types
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.types import Interrupt
from psycopg.types.json import Jsonb

from bathysphere.engine.database import Connection, Pool
from bathysphere.engine.errors import AnswerRefused, QuestionNotFound
from bathysphere.engine.graphs import Graphs
from bathysphere.engine.holding import lock_thread
from bathysphere.engine.records import Owner, Run, Work
from bathysphere.engine.runs import NewRun, Runs

_PAUSES = (0.05, 0.1, 0.2, 0.4)  # seconds


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
            QuestionNotFound: A question is not pending.
            AnswerRefused: An answer does not fit its question's schema.
            ThreadNotFound: The thread is not this owner's.
        """
        for pause in _PAUSES:
            try:
                return await self._give(thread_id, answers, owner=owner, graph=graph, work=work)
            except QuestionNotFound:
                if not await self._is_running(thread_id):
                    raise
            # A question is told as soon as it is asked; the run may not have written it down yet.
            await asyncio.sleep(pause)
        return await self._give(thread_id, answers, owner=owner, graph=graph, work=work)

    async def _give(
        self,
        thread_id: UUID,
        answers: Mapping[str, Any],
        *,
        owner: Owner,
        graph: str,
        work: Work | None,
    ) -> Given:
        async with self._pool.connection() as connection, connection.transaction():
            await lock_thread(connection, thread_id, owner=owner)
            step = await self._step(connection, thread_id, graph)
            answered = await self._answered(connection, thread_id, step)
            fresh = {name: value for name, value in answers.items() if name not in answered}
            for name, value in fresh.items():
                _check(name, value, step.pending)
            fresh = {name: bound(step.pending[name], value) for name, value in fresh.items()}
            runs = await self._runs.active(connection, thread_id)
            carrier = _carrier(runs, step) if fresh else None
            await self._save(connection, thread_id, fresh)
            kept = {name: row["answer"] for name, row in answered.items() if row["run_id"] is None}
            together = {name: v for name, v in {**kept, **fresh}.items() if name in step.pending}
            waiting_for = tuple(
                name for name in step.pending if name not in together and name not in answered
            )
            run = None
            if carrier is not None:
                run = await self._runs.add_answers(connection, carrier, together)
            elif together and not waiting_for:
                run = await self._resume(connection, thread_id, graph, together, owner, work)
            if run is not None:
                await connection.execute(_CARRY, (run.run_id, thread_id, list(together)))
        repeated = tuple(name for name in answers if name in answered)
        return Given(taken=tuple(fresh), repeated=repeated, waiting_for=waiting_for, run=run)

    async def pending(self, thread_id: UUID, *, graph: str) -> dict[str, Interrupt[Any]]:
        """The thread's open questions by id, nested ones too."""
        async with self._pool.connection() as connection:
            return (await self._step(connection, thread_id, graph)).pending

    async def _is_running(self, thread_id: UUID) -> bool:
        async with self._pool.connection() as connection:
            row = await (await connection.execute(_RUNNING, (thread_id,))).fetchone()
        return row is not None

    async def _step(self, connection: Connection, thread_id: UUID, graph: str) -> "_Step":
        # On the connection we have: asking the pool for a second one could wait for ourselves.
        bound = self._graphs.bind(graph, checkpointer=AsyncPostgresSaver(connection))
        state = await bound.aget_state({"configurable": {"thread_id": str(thread_id)}})
        return _Step(
            pending={question.id: question for question in state.interrupts},
            run_id=(state.metadata or {}).get("run_id"),
        )

    async def kept(self, thread_id: UUID, *, owner: Owner) -> dict[str, Any]:
        """Answers that wait for their siblings."""
        async with self._pool.connection() as connection, connection.transaction():
            await lock_thread(connection, thread_id, owner=owner)
            rows = await (await connection.execute(_SAVED, (thread_id,))).fetchall()
        return {row["interrupt_id"]: row["answer"] for row in rows if row["run_id"] is None}

    async def _answered(
        self, connection: Connection, thread_id: UUID, step: "_Step"
    ) -> dict[str, Any]:
        """The answers that count: kept, on their way, or used."""
        rows = await (await connection.execute(_SAVED, (thread_id,))).fetchall()
        return {row["interrupt_id"]: row for row in rows if _counts(row, step)}

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
        return await self._runs.enqueue(connection, new, owner=owner)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Step:
    """The step a thread stands at: its open questions, and the run that got it there."""

    pending: dict[str, Interrupt[Any]]
    run_id: str | None


def _carrier(runs: Iterable[Run], step: _Step) -> Run | None:
    """A run that waits and takes the answers along; None: they get a run of their own.

    Raises:
        QuestionNotFound: A run that is on its way ends the step, and can take nothing along.
    """
    for run in runs:
        if str(run.run_id) == step.run_id:
            continue  # the questions are its own
        if run.status == "pending" and run.work.takes_answers:
            return run
        if run.work.leaves_step:
            raise QuestionNotFound(
                "the question is no longer open", hint="a newer message took its place"
            )
    return None


def _counts(row: Mapping[str, Any], step: _Step) -> bool:
    """Whether an answer is kept, on its way, or used.

    A question that is still open when the run with its answer is over was not answered: the run was
    stopped or failed before. And a rolled back run gives its questions back.
    """
    if row["run_id"] is None or row["status"] in ("pending", "running"):
        return True
    return row["cancel"] != "rollback" and row["interrupt_id"] not in step.pending


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
        raise QuestionNotFound(
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
SELECT answer.*, run.status, run.cancel FROM engine.answers answer
  LEFT JOIN engine.runs run USING (run_id)
 WHERE answer.thread_id = %s
"""
_RUNNING = "SELECT 1 FROM engine.runs WHERE thread_id = %s AND status = 'running' LIMIT 1"
_CARRY = "UPDATE engine.answers SET run_id = %s WHERE thread_id = %s AND interrupt_id = ANY(%s)"
_SAVE = """
INSERT INTO engine.answers (thread_id, interrupt_id, answer) VALUES (%s, %s, %s)
ON CONFLICT (thread_id, interrupt_id) DO UPDATE
   SET answer = EXCLUDED.answer, run_id = NULL, answered_at = now()
"""
