"""Commands of protocol v2 to a thread, and their results."""

import contextlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from pydantic import BaseModel, ValidationError

from bathysphere.core.errors import BathysphereError, UpstreamError
from bathysphere.core.identity import Owner
from bathysphere.engine.assistants import Assistant
from bathysphere.engine.errors import GraphNotFound, RunNotFound
from bathysphere.engine.records import Strategy, Work
from bathysphere.engine.runs.new_run import NewRun
from bathysphere.server.errors import CheckpointNotFound, InvalidRequest
from bathysphere.server.langgraph_api.assistants import find_assistant, thread_marks
from bathysphere.server.langgraph_api.chosen_model import still_offered
from bathysphere.server.langgraph_api.idempotency import RequestKey, check_repetition
from bathysphere.server.langgraph_api.run_requests import make_work
from bathysphere.server.langgraph_api.thread_states import fields
from bathysphere.server.process.services import Services
from bathysphere.server.protocol.position import Position
from bathysphere.server.protocol.tree import tree_of
from bathysphere.server.protocol.wire import channel_of
from bathysphere.server.schemas.protocol import (
    Command,
    Fork,
    Inject,
    ListCheckpoints,
    Respond,
    RunConfig,
    RunStart,
    StateGet,
)

Json = dict[str, Any]
_M = TypeVar("_M", bound=BaseModel)
_SEARCH_WINDOW = 128  # events; older questions were read long ago

# Protocol error codes by the engine's codes; the default is `invalid_argument`.
CODES = {
    "run_not_found": "no_such_run",
    "checkpoint_not_found": "no_such_checkpoint",
    "question_not_found": "no_such_interrupt",
    "not_allowed": "permission_denied",
    "not_supported": "not_supported",
    "budget_exceeded": "budget_exceeded",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class CommandHandler:
    """Handles the commands of one owner to one thread."""

    services: Services
    thread_id: UUID
    key: RequestKey
    """The caller's owner, with the key of the request."""

    @property
    def owner(self) -> Owner:
        """Whose commands these are."""
        return self.key.owner

    async def handle(self, command: Command) -> Json:
        """Execute a command; failures are returned as error responses.

        Raises:
            ThreadNotFound: The thread belongs to another owner, or is missing but required.
        """
        handler = HANDLERS.get(command.method)
        if handler is None:
            return _error(command, "unknown_command", f"Unknown command {command.method!r}")
        # Read before the command, so that a client that resumes there misses no event of its run.
        last = await self.services.events.last_id(self.thread_id)
        try:
            result = await handler(self, command.params)
        except ValidationError as error:
            return _error(command, "invalid_argument", _problems(error))
        except BathysphereError as error:
            if error.code == "thread_not_found":
                raise
            return _error(command, CODES.get(error.code, "invalid_argument"), str(error))
        if waiting_for := result.get("waiting_for"):
            last = await self._before_questions(waiting_for, last)
        meta = {"applied_through_seq": Position.end_of(last).seq}
        return {"type": "success", "id": command.id, "result": result, "meta": meta}

    async def _before_questions(self, questions: Sequence[str], last: int) -> int:
        """Return the id before the open questions, which the client may not have read yet.

        Clients treat events up to `applied_through_seq` as history and drop them.
        """
        try:
            newest = await self.services.events.newest(
                self.thread_id, owner=self.owner, count=_SEARCH_WINDOW
            )
        except UpstreamError:  # the answer is accepted anyway
            return last
        requests = [entry for entry in newest if channel_of(entry) == "input"]
        still_open = [e.id for e in requests if e.event().data["interrupt_id"] in questions]
        return min([last, *(entry_id - 1 for entry_id in still_open)])

    async def start(
        self,
        assistant: Assistant,
        work: Work,
        strategy: Strategy | None = None,
        *,
        create_if_missing: bool = False,
    ) -> Json:
        """Create a run on the thread."""
        new = NewRun(
            thread_id=self.thread_id,
            graph=assistant.definition.graph,
            work=work,
            run_id=self.key.run_id(self.thread_id),
            strategy=strategy or "enqueue",
            creates_thread=create_if_missing,
            thread_metadata=thread_marks(assistant, work),
        )
        created = await self.services.runs.create(new, owner=self.owner)
        if not created.is_new:
            check_repetition(created.run, new.graph, work)
        return {"run_id": str(created.run.run_id)}

    async def graph(self) -> str:
        """The graph that the thread was last used with."""
        name = await self.services.states.graph_of(self.thread_id, owner=self.owner)
        if name is None:
            raise RunNotFound(f"Thread {self.thread_id} has no runs")
        return name

    async def last_used(self) -> tuple[Assistant, RunConfig]:
        """The assistant that the thread was last used with, and the model chosen for it."""
        graph = await self.graph()
        runs = await self.services.runs.list_of_thread(self.thread_id, owner=self.owner, limit=1)
        last = runs[0].work if runs else Work()
        chosen = still_offered(self.services.graphs, graph, last.model)
        assistant = await self._assistant(graph, last.assistant_id)
        return assistant, RunConfig(configurable=chosen)

    async def _assistant(self, graph: str, stored: str | None) -> Assistant:
        """The stored assistant, or that of its graph."""
        with contextlib.suppress(GraphNotFound):  # deleted meanwhile
            found = await find_assistant(self.services, stored or graph, owner=self.owner)
            if found.definition.graph == graph:
                return found
        return await find_assistant(self.services, graph, owner=self.owner)


async def _run_start(handler: CommandHandler, params: Json) -> Json:
    request = _parse(RunStart, params)
    assistant = await find_assistant(handler.services, request.assistant_id, owner=handler.owner)
    work = make_work(
        handler.services.graphs,
        assistant.definition.graph,
        input=request.input,
        config=request.config,
        metadata=request.metadata,
        context=request.context,
        assistant=assistant,
    )
    await _check_fork(handler, work)
    return await handler.start(assistant, work, request.multitask_strategy, create_if_missing=True)


async def _respond(handler: CommandHandler, params: Json) -> Json:
    request = _parse(Respond, params)
    try:
        answers = request.answers()
    except ValueError as error:
        raise InvalidRequest(str(error)) from error
    graph = await handler.graph()
    work = make_work(
        handler.services.graphs,
        graph,
        update=request.update,
        goto=request.goto,
        config=request.config,
        metadata=request.metadata,
        context=request.context,
    )
    accepted = await handler.services.answers.submit(
        handler.thread_id,
        answers,
        owner=handler.owner,
        graph=graph,
        work=work,
        run_id=handler.key.run_id(handler.thread_id),
    )
    result: Json = {"taken": accepted.taken, "waiting_for": accepted.waiting_for}
    return {**result, "run_id": str(accepted.run.run_id)} if accepted.run is not None else result


async def _inject(handler: CommandHandler, params: Json) -> Json:
    request = _parse(Inject, params)
    if request.namespace:
        raise InvalidRequest("Messages can only be sent to the root agent")
    message = {"role": request.message.role, "content": request.message.content}
    assistant, config = await handler.last_used()
    work = make_work(
        handler.services.graphs,
        assistant.definition.graph,
        input={"messages": [message]},
        config=config,
        assistant=assistant,
    )
    return await handler.start(assistant, work)


async def _state_get(handler: CommandHandler, params: Json) -> Json:
    request = _parse(StateGet, params)
    state = await handler.services.states.read(
        handler.thread_id, owner=handler.owner, namespace="|".join(request.namespace)
    )
    values = state["values"]
    if request.keys is not None:
        values = {key: fields(values)[key] for key in request.keys if key in fields(values)}
    result: Json = {"values": values}
    if state["checkpoint_id"]:
        result["checkpoint"] = {
            "id": state["checkpoint_id"],
            "ns": state["checkpoint"]["checkpoint_ns"],
        }
    return result


async def _list_checkpoints(handler: CommandHandler, params: Json) -> Json:
    request = _parse(ListCheckpoints, params)
    async with handler.services.states.reads.turn(handler.owner):
        found = handler.services.states.history(
            handler.thread_id,
            owner=handler.owner,
            limit=min(request.limit, handler.services.states.limits.states),
            before=request.before,
            namespace="|".join(request.namespace),
        )
        return {"checkpoints": [_summary(state) async for state, _ in found]}


async def _fork(handler: CommandHandler, params: Json) -> Json:
    request = _parse(Fork, params)
    assistant, last = await handler.last_used()
    config = request.config or RunConfig()
    configurable = {**last.configurable, **config.configurable}
    work = make_work(
        handler.services.graphs,
        assistant.definition.graph,
        input=request.input,
        config=config.model_copy(update={"configurable": configurable}),
        metadata=request.metadata,
        context=request.context,
        checkpoint_id=request.checkpoint_id,
        assistant=assistant,
    )
    await _check_fork(handler, work)
    started = await handler.start(assistant, work)
    return {**started, "thread_id": str(handler.thread_id)}


async def _get_tree(handler: CommandHandler, _: Json) -> Json:
    return {"tree": await tree_of(handler.services, handler.thread_id, owner=handler.owner)}


async def _check_fork(handler: CommandHandler, work: Work) -> None:
    """Check that the checkpoint exists: the run would fail later and less clearly."""
    if work.checkpoint_id is None:
        return
    found = await handler.services.states.has_checkpoint(
        handler.thread_id, work.checkpoint_id, owner=handler.owner
    )
    if not found:
        raise CheckpointNotFound(
            f"Checkpoint {work.checkpoint_id} not found in thread {handler.thread_id}"
        )


Handler = Callable[[CommandHandler, Json], Awaitable[Json]]
HANDLERS: Mapping[str, Handler] = {
    "run.start": _run_start,
    "input.respond": _respond,
    "input.inject": _inject,
    "state.get": _state_get,
    "state.listCheckpoints": _list_checkpoints,
    "state.fork": _fork,
    "agent.getTree": _get_tree,
}


def _parse(model: type[_M], params: Json) -> _M:
    return model.model_validate(params)


def _summary(state: Json) -> Json:
    metadata = state["metadata"]
    return {
        "id": state["checkpoint_id"],
        "timestamp": state["created_at"],
        "step": metadata.get("step", -1),
        "metadata": metadata,
    }


def _error(command: Command, code: str, message: str) -> Json:
    return {"type": "error", "id": command.id, "error": code, "message": message}


def _problems(error: ValidationError) -> str:
    problems = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
    return "; ".join(problems[:5])
