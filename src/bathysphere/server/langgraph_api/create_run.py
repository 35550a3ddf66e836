"""Start runs for LangGraph's REST API: with input, answers or a command."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from bathysphere.core.identity import Owner
from bathysphere.engine.assistants import Assistant
from bathysphere.engine.errors import RunNotFound
from bathysphere.engine.records import Run, Work
from bathysphere.engine.runs.new_run import NewRun
from bathysphere.engine.webhooks.channel import check_webhook
from bathysphere.server.errors import CheckpointNotFound, NotSupported
from bathysphere.server.langgraph_api.answer_requests import answers_by_question
from bathysphere.server.langgraph_api.assistants import (
    find_assistant,
    thread_marks,
    without_context,
)
from bathysphere.server.langgraph_api.idempotency import RequestKey, check_repetition
from bathysphere.server.langgraph_api.run_requests import Pauses, make_work
from bathysphere.server.process.services import Services
from bathysphere.server.schemas.runs import RunCommand, RunCreate


async def start(
    services: Services,
    thread_id: UUID,
    body: RunCreate,
    *,
    owner: Owner,
    key: RequestKey | None = None,
    create_if_missing: bool = False,
    is_stateless: bool = False,
) -> Run:
    """Create a run on a thread; a stateless run creates its thread and deletes it at the end.

    A request with the key of an earlier one gets the run of that one.

    Raises:
        ThreadNotFound: The thread is missing, or is not this owner's.
        GraphNotFound: There is no such assistant.
        AnswerRefused: An answer is invalid for its question.
        IdempotencyKeyReused: The key belongs to another request.
    """
    key = key or RequestKey(owner=owner)
    may_create = create_if_missing or is_stateless or body.if_not_exists == "create"
    thread_metadata = await key.before_run(thread_id, may_create=may_create)
    known = await _earlier_run(services, key, thread_id)
    assistant = await find_assistant(services, body.assistant_id, owner=owner)
    command = body.command
    if command is not None and command.resume is not None:
        return known or await _resume(
            services, thread_id, body, command, key=key, assistant=assistant
        )
    work = work_of(services, body, assistant)
    if known is not None:
        check_repetition(known, assistant.definition.graph, work)
        return known
    if work.checkpoint_id is not None and not await services.states.has_checkpoint(
        thread_id, work.checkpoint_id, owner=owner
    ):
        raise CheckpointNotFound(f"Checkpoint {work.checkpoint_id} not found in thread {thread_id}")
    return await _create(
        services,
        thread_id,
        body,
        key,
        assistant,
        work,
        thread_metadata=thread_metadata,
        create_if_missing=may_create,
        is_temporary=is_stateless and body.on_completion != "keep",
    )


async def _earlier_run(services: Services, key: RequestKey, thread_id: UUID) -> Run | None:
    if not key.is_given:
        return None
    try:
        return await services.runs.get(key.run_id(thread_id), owner=key.owner)
    except RunNotFound:
        return None


def work_of(services: Services, body: RunCreate, assistant: Assistant) -> Work:
    """The work that a request asks for, without answers to questions.

    Raises:
        NotSupported: It has a webhook, and webhooks are disabled on this server.
        InvalidWebhook: The URL cannot receive webhooks.
    """
    command = body.command
    checkpoint_id = body.checkpoint.checkpoint_id if body.checkpoint is not None else None
    work = make_work(
        services.graphs,
        assistant.definition.graph,
        input=body.input,
        config=body.config,
        metadata=body.metadata,
        update=command.update if command is not None else None,
        goto=command.goto if command is not None else None,
        checkpoint_id=body.checkpoint_id or checkpoint_id,
        context=body.context,
        assistant=assistant,
        after_seconds=body.after_seconds or 0.0,
        **_options(body),
    )
    return replace(work, webhook=_webhook(services, body.webhook))


def _webhook(services: Services, url: str | None) -> str | None:
    """The URL to tell when the run has ended, checked."""
    if url is None:
        return None
    if services.webhooks is None:
        raise NotSupported(
            "Webhooks are disabled on this server",
            hint="the operator enables them with BATHYSPHERE_WEBHOOK_SECRET",
        )
    check_webhook(services.webhooks.receivers, url)
    return url


async def _resume(
    services: Services,
    thread_id: UUID,
    body: RunCreate,
    command: RunCommand,
    *,
    key: RequestKey,
    assistant: Assistant,
) -> Run:
    owner = key.owner
    if body.after_seconds:
        raise NotSupported("An answer cannot be scheduled", hint="omit after_seconds")
    graph = assistant.definition.graph
    await services.threads.get(thread_id, owner=owner)
    pending = await services.answers.pending(thread_id, owner=owner, graph=graph)
    answers = answers_by_question(command.resume, pending)
    work = make_work(
        services.graphs,
        graph,
        config=body.config,
        metadata=body.metadata,
        update=command.update,
        goto=command.goto,
        context=body.context,
        assistant=assistant if body.context is not None else without_context(assistant),
        **_options(body),
    )
    work = replace(work, webhook=_webhook(services, body.webhook))
    result = await services.answers.submit(
        thread_id,
        answers,
        owner=owner,
        graph=graph,
        work=work,
        run_id=key.run_id(thread_id),
    )
    if result.run is not None:
        return result.run
    # Answers are kept until the last one arrives: the newest run is still the one that asked.
    (newest,) = await services.runs.list_of_thread(thread_id, owner=owner, limit=1)
    return newest


def _options(body: RunCreate) -> dict[str, Any]:
    """How the run is streamed, and where it pauses."""
    return {
        "stream_modes": body.stored_modes(),
        "stream_subgraphs": bool(body.stream_subgraphs),
        "pauses": Pauses(before=body.interrupt_before, after=body.interrupt_after),
    }


async def _create(
    services: Services,
    thread_id: UUID,
    body: RunCreate,
    key: RequestKey,
    assistant: Assistant,
    work: Work,
    *,
    thread_metadata: Mapping[str, Any],
    create_if_missing: bool,
    is_temporary: bool = False,
) -> Run:
    new = NewRun(
        thread_id=thread_id,
        graph=assistant.definition.graph,
        work=work,
        run_id=key.run_id(thread_id),
        strategy=body.multitask_strategy or "enqueue",
        creates_thread=create_if_missing,
        deletes_thread=is_temporary,
        thread_metadata={**thread_metadata, **thread_marks(assistant, work)},
    )
    created = await services.runs.create(new, owner=key.owner)
    if not created.is_new:
        check_repetition(created.run, new.graph, work)
    return created.run
