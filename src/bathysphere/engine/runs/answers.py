"""Answers to interrupts: validated, saved until the step can continue, used once.

All questions of a step are answered together: answers that arrive one by one are saved here, and
one run carries them once the last has arrived. Resuming with some of them would execute every
unanswered sibling again from its start, once per part, and the step could not end anyway.

A question is identified by its interrupt id. A second answer to the same question changes nothing;
an answer to a question that is not pending is refused. While a new message is queued, it carries
the answers (`interrupted_steps`); once it runs, the questions before it are closed.
"""

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import UUID, uuid4

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # ships no types
from langgraph.types import Interrupt
from psycopg.types.json import Jsonb

from bathysphere.core.identity import Owner
from bathysphere.engine.database.pool import Connection, Pool
from bathysphere.engine.database.sealed_saver import SealedSaver
from bathysphere.engine.encryption.cipher import TenantCipher
from bathysphere.engine.encryption.work import open_answers, open_work, seal_answers
from bathysphere.engine.errors import AnswerRefused, QuestionNotFound
from bathysphere.engine.graphs import Graphs
from bathysphere.engine.records import Run, Work
from bathysphere.engine.runs.new_run import NewRun
from bathysphere.engine.runs.service import Runs
from bathysphere.engine.thread_lock import lock_thread

_PAUSES = (0.05, 0.1, 0.2, 0.4)  # seconds


@dataclass(frozen=True, kw_only=True, slots=True)
class AnswerResult:
    """The outcome of answers: accepted ones, repeated ones, and questions still unanswered."""

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

    async def submit(
        self,
        thread_id: UUID,
        answers: Mapping[str, Any],
        *,
        owner: Owner,
        graph: str,
        work: Work | None = None,
        run_id: UUID | None = None,
    ) -> AnswerResult:
        """Answer questions by their ids; either all answers are accepted, or none.

        `work` carries what the run needs besides the answers: metadata, limits, stream modes.
        `run_id` is the id of the run, if the answers need a new one.

        Raises:
            QuestionNotFound: A question is not pending.
            AnswerRefused: An answer does not match its question's schema.
            ThreadNotFound: The thread does not exist or belongs to another owner.
        """
        give = partial(
            self._give, thread_id, answers, owner=owner, graph=graph, work=work, run_id=run_id
        )
        for pause in _PAUSES:
            try:
                return await give()
            except QuestionNotFound:
                if not await self._is_running(thread_id):
                    raise
            # A question is published as soon as it is asked; the run may not have saved it yet.
            await asyncio.sleep(pause)
        return await give()

    async def _give(
        self,
        thread_id: UUID,
        answers: Mapping[str, Any],
        *,
        owner: Owner,
        graph: str,
        work: Work | None,
        run_id: UUID | None,
    ) -> AnswerResult:
        async with self._pool.connection() as connection, connection.transaction():
            await lock_thread(connection, thread_id, owner=owner)
            cipher = self._pool.encryption.tenant(owner.tenant)
            step = await self._step(connection, thread_id, graph, cipher)
            answered = await self._answered(connection, thread_id, step, cipher)
            fresh = {name: value for name, value in answers.items() if name not in answered}
            for name, value in fresh.items():
                check_answer(name, value, step.pending)
            fresh = {name: bound(step.pending[name], value) for name, value in fresh.items()}
            runs = await self._runs.active(connection, thread_id)
            carrier = _carrier(runs, step) if fresh else None
            await self._save(connection, thread_id, fresh, cipher)
            kept = {name: row["answer"] for name, row in answered.items() if row["run_id"] is None}
            together = {name: v for name, v in {**kept, **fresh}.items() if name in step.pending}
            waiting_for = tuple(
                name for name in step.pending if name not in together and name not in answered
            )
            if (carrier is not None or waiting_for) and _has_step(work):
                raise AnswerRefused(
                    "update and goto require an answer to every open question",
                    hint="send them with the last answer",
                )
            run = None
            if carrier is not None:
                run = await self._runs.add_answers(connection, carrier, together)
            elif together and not waiting_for:
                work = await _as_asked(connection, work or Work(), step, thread_id, cipher)
                new = NewRun(
                    thread_id=thread_id,
                    graph=graph,
                    work=replace(work, input=None, resume=together),
                    run_id=run_id or uuid4(),
                    creates_thread=False,
                )
                run = await self._runs.enqueue(connection, new, owner=owner)
            if run is not None:
                await connection.execute(_CARRY, (run.run_id, thread_id, list(together)))
        repeated = tuple(name for name in answers if name in answered)
        return AnswerResult(taken=tuple(fresh), repeated=repeated, waiting_for=waiting_for, run=run)

    async def pending(
        self, thread_id: UUID, *, owner: Owner, graph: str
    ) -> dict[str, Interrupt[Any]]:
        """Return the thread's open questions by id, including nested ones."""
        cipher = self._pool.encryption.tenant(owner.tenant)
        async with self._pool.connection() as connection:
            return (await self._step(connection, thread_id, graph, cipher)).pending

    async def _is_running(self, thread_id: UUID) -> bool:
        async with self._pool.connection() as connection:
            row = await (await connection.execute(_RUNNING, (thread_id,))).fetchone()
        return row is not None

    async def _step(
        self, connection: Connection, thread_id: UUID, graph: str, cipher: TenantCipher
    ) -> "_Step":
        # On the same connection: waiting for a second one from the pool could deadlock.
        bound = self._graphs.bind(graph, checkpointer=SealedSaver(connection, cipher))
        state = await bound.aget_state({"configurable": {"thread_id": str(thread_id)}})
        return _Step(
            pending={question.id: question for question in state.interrupts},
            run_id=(state.metadata or {}).get("run_id"),
        )

    async def saved(self, thread_id: UUID, *, owner: Owner) -> dict[str, Any]:
        """Return the saved answers of a step that still has unanswered questions."""
        async with self._pool.connection() as connection, connection.transaction():
            await lock_thread(connection, thread_id, owner=owner)
            rows = await (await connection.execute(_SAVED, (thread_id,))).fetchall()
        kept = {row["interrupt_id"]: row["answer"] for row in rows if row["run_id"] is None}
        return open_answers(kept, self._pool.encryption.tenant(owner.tenant), thread_id=thread_id)

    async def _answered(
        self, connection: Connection, thread_id: UUID, step: "_Step", cipher: TenantCipher
    ) -> dict[str, Any]:
        """Return the answers that count: saved, carried by an active run, or used."""
        rows = await (await connection.execute(_SAVED, (thread_id,))).fetchall()
        found = {row["interrupt_id"]: row for row in rows if _counts(row, step)}
        kept = {name: row["answer"] for name, row in found.items()}
        opened = open_answers(kept, cipher, thread_id=thread_id)
        return {name: {**row, "answer": opened[name]} for name, row in found.items()}

    async def _save(
        self,
        connection: Connection,
        thread_id: UUID,
        answers: Mapping[str, Any],
        cipher: TenantCipher,
    ) -> None:
        sealed = seal_answers(answers, cipher, thread_id=thread_id)
        for name, value in sealed.items():
            await connection.execute(_SAVE, (thread_id, name, Jsonb(value)))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Step:
    """A thread's current step: its open questions, and the run that reached it."""

    pending: dict[str, Interrupt[Any]]
    run_id: str | None


async def _as_asked(
    connection: Connection, work: Work, step: _Step, thread_id: UUID, cipher: TenantCipher
) -> Work:
    """The same with the context, assistant and model of the run that asked, or its own."""
    if step.run_id is None:
        return work
    row = await (await connection.execute(_ASKED, (step.run_id, thread_id))).fetchone()
    if row is None:
        return work
    known = open_work(row["work"], cipher, thread_id=thread_id, run_id=step.run_id)
    asked = Work.from_json(known)
    if work.context is None:
        work = replace(work, context=asked.context)
    if work.model is None:
        work = replace(work, model=asked.model)
    if work.assistant_id is None and asked.assistant_id is not None:
        is_default = work.recursion_limit == Work().recursion_limit
        work = replace(
            work,
            assistant_id=asked.assistant_id,
            tags=work.tags or asked.tags,
            recursion_limit=asked.recursion_limit if is_default else work.recursion_limit,
        )
    return work


def _has_step(work: Work | None) -> bool:
    """Whether the work does more than answer."""
    return work is not None and (work.update is not None or bool(work.goto))


def _carrier(runs: Iterable[Run], step: _Step) -> Run | None:
    """Return the pending run that will carry the answers; None if they need a new run.

    Raises:
        QuestionNotFound: An active run ends the step and cannot carry answers.
    """
    for run in runs:
        if str(run.run_id) == step.run_id:
            continue  # it asked these questions
        if run.work.after_seconds:
            continue  # answers do not wait for its time
        if run.status == "pending" and run.work.takes_answers:
            return run
        if run.work.leaves_step:
            raise QuestionNotFound(
                "This question was superseded by a newer message", hint="send a message instead"
            )
    return None


def _counts(row: Mapping[str, Any], step: _Step) -> bool:
    """Whether an answer is saved, carried by an active run, or used.

    A question that is still open after the run with its answer was not answered: the run was
    stopped or failed before. And a rolled back run reopens its questions.
    """
    if row["run_id"] is None or row["status"] in ("pending", "running"):
        return True
    return row["cancel"] != "rollback" and row["interrupt_id"] not in step.pending


def bound(question: Interrupt[Any], answer: Any) -> Any:
    """Add what the question is bound to, such as the version shown, to its answer.

    It comes from the question itself, so that no client can answer for another version.
    """
    shown = question.value.get("bound") if isinstance(question.value, dict) else None
    if shown is None or not isinstance(answer, dict):
        return answer
    return {**answer, "bound": shown}


def check_answer(name: str, value: Any, pending: Mapping[str, Interrupt[Any]]) -> None:
    """Refuse an answer that its question cannot use; the only check between client and graph."""
    question = pending.get(name)
    if question is None:
        raise QuestionNotFound(
            f"Question not pending: {name}",
            hint="it was answered, or superseded by a newer message",
        )
    _check_decisions(question, value)
    if not isinstance(question.response_schema, dict):
        return
    errors = Draft202012Validator(question.response_schema).iter_errors(value)
    if (error := next(iter(errors), None)) is not None:
        raise AnswerRefused(
            f"Invalid answer to {name}: {error.message} (at {error.json_path})",
            hint="see the question's response_schema",
        )


def _check_decisions(question: Interrupt[Any], answer: Any) -> None:
    """Refuse an answer to a batched approval with too many or too few decisions.

    A batched approval has no schema. LangGraph would keep a wrong number of decisions, and the
    thread would fail in the same way at every resume.
    """
    requests = question.value.get("action_requests") if isinstance(question.value, dict) else None
    if not isinstance(requests, list):
        return
    decisions = answer.get("decisions") if isinstance(answer, dict) else None
    if not isinstance(decisions, list) or len(decisions) != len(requests):
        raise AnswerRefused(
            f"Expected {len(requests)} decisions for {question.id}",
            hint='answer as {"decisions": [...]}, one per action, in their order',
        )


_SAVED = """
SELECT answer.interrupt_id, answer.answer, answer.run_id, run.status, run.cancel FROM engine.answers answer
  LEFT JOIN engine.runs run USING (run_id)
 WHERE answer.thread_id = %s
"""  # noqa: E501
_RUNNING = "SELECT 1 FROM engine.runs WHERE thread_id = %s AND status = 'running' LIMIT 1"
_ASKED = "SELECT work FROM engine.runs WHERE run_id = %s AND thread_id = %s"
_CARRY = "UPDATE engine.answers SET run_id = %s WHERE thread_id = %s AND interrupt_id = ANY(%s)"
_SAVE = """
INSERT INTO engine.answers (thread_id, interrupt_id, answer) VALUES (%s, %s, %s)
ON CONFLICT (thread_id, interrupt_id) DO UPDATE
   SET answer = EXCLUDED.answer, run_id = NULL, answered_at = now()
"""
