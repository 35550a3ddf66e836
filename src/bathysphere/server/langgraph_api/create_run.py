"""Start runs for LangGraph's REST API: with input, answers or a command."""

from typing import Any
from uuid import UUID

from bathysphere.core.identity import Owner
from bathysphere.engine.records import Run
from bathysphere.engine.runs.new_run import NewRun
from bathysphere.server.errors import CheckpointNotFound, NotSupported
from bathysphere.server.langgraph_api.answer_requests import answers_by_question
from bathysphere.server.langgraph_api.assistants import resolve
from bathysphere.server.langgraph_api.run_requests import make_work
from bathysphere.server.process.services import Services
from bathysphere.server.schemas.runs import RunCommand, RunCreate

_UNSUPPORTED = ("interrupt_before", "interrupt_after", "webhook", "after_seconds")


async def start(
    services: Services,
    thread_id: UUID,
    body: RunCreate,
    *,
    owner: Owner,
    create_if_missing: bool = False,
    is_stateless: bool = False,
) -> Run:
    """Create a run on a thread; a stateless run creates its thread and deletes it at the end.

    Raises:
        ThreadNotFound: The thread is missing, or is not this owner's.
        GraphNotFound: There is no such assistant.
        AnswerRefused: An answer is invalid for its question.
    """
    for name in _UNSUPPORTED:
        if getattr(body, name):
            raise NotSupported(f"{name} is not supported")
    graph = resolve(services.graphs, body.assistant_id)
    command = body.command
    if command is not None and command.resume is not None:
        return await _resume(services, thread_id, body, command, owner=owner, graph=graph)
    checkpoint_id = body.checkpoint.checkpoint_id if body.checkpoint is not None else None
    work = make_work(
        services.graphs,
        graph,
        input=body.input,
        config=body.config,
        metadata=body.metadata,
        update=command.update if command is not None else None,
        goto=command.goto if command is not None else None,
        checkpoint_id=body.checkpoint_id or checkpoint_id,
        context=body.context,
    )
    if work.checkpoint_id is not None and not await services.states.has_checkpoint(
        thread_id, work.checkpoint_id, owner=owner
    ):
        raise CheckpointNotFound(f"Checkpoint {work.checkpoint_id} not found in thread {thread_id}")
    return await _create(
        services,
        thread_id,
        body,
        owner,
        graph,
        work,
        create_if_missing=create_if_missing or is_stateless or body.if_not_exists == "create",
        is_temporary=is_stateless and body.on_completion != "keep",
    )


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
    answers = answers_by_question(command.resume, pending)
    work = make_work(
        services.graphs,
        graph,
        config=body.config,
        metadata=body.metadata,
        update=command.update,
        goto=command.goto,
        context=body.context,
    )
    result = await services.answers.submit(thread_id, answers, owner=owner, graph=graph, work=work)
    if result.run is not None:
        return result.run
    # Answers are kept until the last one arrives: the newest run is still the one that asked.
    (newest,) = await services.runs.list_of_thread(thread_id, owner=owner, limit=1)
    return newest


async def _create(
    services: Services,
    thread_id: UUID,
    body: RunCreate,
    owner: Owner,
    graph: str,
    work: Any,
    *,
    create_if_missing: bool,
    is_temporary: bool = False,
) -> Run:
    new = NewRun(
        thread_id=thread_id,
        graph=graph,
        work=work,
        strategy=body.multitask_strategy or "enqueue",
        creates_thread=create_if_missing,
        deletes_thread=is_temporary,
    )
    return (await services.runs.create(new, owner=owner)).run
