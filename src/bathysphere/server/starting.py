"""Starting runs as LangGraph's REST clients ask for them: input, answers, or a step by hand."""

from typing import Any
from uuid import UUID

from bathysphere.engine.answers import bound
from bathysphere.engine.records import Owner, Run
from bathysphere.engine.runs import NewRun
from bathysphere.server.assistants import resolve
from bathysphere.server.errors import CheckpointNotFound, NotSupported
from bathysphere.server.questions import by_id, check, give
from bathysphere.server.schemas.runs import RunCommand, RunCreate
from bathysphere.server.services import Services
from bathysphere.server.work import make_work

_UNSUPPORTED = ("interrupt_before", "interrupt_after", "webhook", "after_seconds")


async def start(
    services: Services, thread_id: UUID, body: RunCreate, *, owner: Owner, creates: bool = False
) -> Run:
    """Put the run on the thread.

    Raises:
        ThreadNotFound: The thread is missing, or is not this owner's.
        GraphNotFound: There is no such assistant.
        AnswerRefused: An answer does not fit its question.
    """
    for name in _UNSUPPORTED:
        if getattr(body, name):
            raise NotSupported(f"{name} is not supported")
    graph = resolve(services.graphs, body.assistant_id)
    command = body.command
    if command is not None and command.resume is not None:
        return await _resume(services, thread_id, body, command, owner=owner, graph=graph)
    place = body.checkpoint.checkpoint_id if body.checkpoint is not None else None
    work = make_work(
        input=body.input,
        config=body.config,
        metadata=body.metadata,
        update=command.update if command is not None else None,
        goto=command.goto if command is not None else None,
        checkpoint_id=body.checkpoint_id or place,
    )
    if work.checkpoint_id is not None and not await services.states.has_checkpoint(
        thread_id, work.checkpoint_id, owner=owner
    ):
        raise CheckpointNotFound(f"thread {thread_id} has no such checkpoint")
    is_created = creates or body.if_not_exists == "create"
    return await _create(services, thread_id, body, owner, graph, work, creates=is_created)


async def _resume(
    services: Services,
    thread_id: UUID,
    body: RunCreate,
    command: RunCommand,
    *,
    owner: Owner,
    graph: str,
) -> Run:
    await services.threads.get(thread_id, owner=owner)
    pending = await services.answers.pending(thread_id, graph=graph)
    answers = by_id(command.resume, pending)
    work = make_work(
        config=body.config, metadata=body.metadata, update=command.update, goto=command.goto
    )
    if answers.keys() == pending.keys():
        given = await give(services, thread_id, answers, owner=owner, graph=graph, work=work)
        if given.run is not None:
            return given.run
    for question_id, answer in answers.items():
        check(pending[question_id], answer)
    answers = {name: bound(pending[name], answer) for name, answer in answers.items()}
    partly = make_work(resume=answers, config=body.config, metadata=body.metadata)
    return await _create(services, thread_id, body, owner, graph, partly, creates=False)


async def _create(
    services: Services,
    thread_id: UUID,
    body: RunCreate,
    owner: Owner,
    graph: str,
    work: Any,
    *,
    creates: bool,
) -> Run:
    new = NewRun(
        thread_id=thread_id,
        graph=graph,
        work=work,
        strategy=body.multitask_strategy or "enqueue",
        creates_thread=creates,
    )
    return (await services.runs.create(new, owner=owner)).run
