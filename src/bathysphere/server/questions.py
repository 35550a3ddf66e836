"""Answers on their way to the engine: which question each is for, and what has no schema.

The engine checks an answer against its question's schema and keeps it until the step can go on.
Two things are the edge's: a client may leave the ids out when one question is open, and a batched
approval, which has no schema, needs as many decisions as it has actions. LangGraph would keep a
wrong number of decisions, and the thread would fail the same way for ever.
"""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from jsonschema import Draft202012Validator  # type: ignore[import-untyped]  # ships no types
from langgraph.types import Interrupt

from bathysphere.engine.answers import Given
from bathysphere.engine.errors import AnswerRefused
from bathysphere.engine.records import Owner, Work
from bathysphere.server.services import Services


async def give(
    services: Services,
    thread_id: UUID,
    answers: Mapping[str, Any],
    *,
    owner: Owner,
    graph: str,
    work: Work,
) -> Given:
    """Hand answers to the engine.

    Raises:
        QuestionNotFound: One of the questions is neither open nor answered.
        AnswerRefused: One of the answers does not fit.
    """
    pending = await services.answers.pending(thread_id, graph=graph)
    for question_id, answer in answers.items():
        if question_id in pending:
            check_decisions(pending[question_id], answer)
    return await services.answers.give(thread_id, answers, owner=owner, graph=graph, work=work)


def by_id(resume: Any, open_ids: Iterable[str]) -> dict[str, Any]:
    """Answers by question, from what a client gave to `command.resume`.

    Raises:
        AnswerRefused: Nothing is open, or it is not clear which question is answered.
    """
    ids = set(open_ids)
    if isinstance(resume, dict) and resume and resume.keys() <= ids:
        return dict(resume)
    if len(ids) == 1:
        return {ids.pop(): resume}
    if not ids:
        raise AnswerRefused("no question is open", hint="give the thread an input instead")
    hint = "answer as {question id: answer}"
    raise AnswerRefused(f"{len(ids)} questions are open", hint=hint)


def check_decisions(question: Interrupt[Any], answer: Any) -> None:
    """Refuse a batched approval's answer with too many or too few decisions.

    Raises:
        AnswerRefused: It does not fit; the message says why.
    """
    value = question.value
    requests = value.get("action_requests") if isinstance(value, dict) else None
    if not isinstance(requests, list):
        return
    decisions = answer.get("decisions") if isinstance(answer, dict) else None
    if not isinstance(decisions, list) or len(decisions) != len(requests):
        raise AnswerRefused(
            f"the answer to {question.id} needs {len(requests)} decisions",
            hint='answer as {"decisions": [...]}, one for each action in its order',
        )


def check(question: Interrupt[Any], answer: Any) -> None:
    """Refuse an answer that does not fit its question, whole or part of an approval.

    Raises:
        AnswerRefused: It does not fit; the message says why.
    """
    check_decisions(question, answer)
    if isinstance(question.response_schema, dict):
        errors = Draft202012Validator(question.response_schema).iter_errors(answer)
        if (error := next(iter(errors), None)) is not None:
            raise AnswerRefused(f"the answer to {question.id} does not fit: {error.message}")
