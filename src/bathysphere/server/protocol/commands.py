"""Commands to a thread: what each does, and what it answers with."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from pydantic import BaseModel, ValidationError

from bathysphere.core.errors import BathysphereError, UpstreamError
from bathysphere.engine.errors import RunNotFound
from bathysphere.engine.records import Owner, Strategy, Work
from bathysphere.engine.runs import NewRun
from bathysphere.server.assistants import resolve
from bathysphere.server.errors import CheckpointNotFound, InvalidRequest
from bathysphere.server.protocol.tree import tree_of
from bathysphere.server.protocol.wire import WIDTH, channel_of, first_seq
from bathysphere.server.questions import give
from bathysphere.server.schemas.protocol import (
    Command,
    Fork,
    Inject,
    ListCheckpoints,
    Respond,
    RunStart,
    StateGet,
)
from bathysphere.server.services import Services
from bathysphere.server.work import make_work

Json = dict[str, Any]
_M = TypeVar("_M", bound=BaseModel)
_LOOKS_BACK = 128  # events; what was asked before them was read long ago

# The engine's codes in the protocol's words; what is missing is an invalid argument.
CODES = {
    "run_not_found": "no_such_run",
    "checkpoint_not_found": "no_such_checkpoint",
    "question_not_found": "no_such_interrupt",
    "not_allowed": "permission_denied",
    "not_supported": "not_supported",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Desk:
    """Where commands of one owner to one thread are handled."""

    services: Services
    thread_id: UUID
    owner: Owner

    async def handle(self, command: Command) -> Json:
        """Do it; what cannot be done is an answer too.

        Raises:
            ThreadNotFound: The thread is another owner's, or missing where it must be there.
        """
        handler = HANDLERS.get(command.method)
        if handler is None:
            return _refused(command, "unknown_command", f"no command {command.method!r}")
        # Before the command, so that a client that goes on from there misses nothing of its run.
        last = await self.services.events.last_id(self.thread_id)
        try:
            result = await handler(self, command.params)
        except ValidationError as error:
            return _refused(command, "invalid_argument", _problems(error))
        except BathysphereError as error:
            if error.code == "thread_not_found":
                raise
            return _refused(command, CODES.get(error.code, "invalid_argument"), str(error))
        if waiting_for := result.get("waiting_for"):
            last = await self._before_asked(waiting_for, last)
        meta = {"applied_through_seq": first_seq(last) + WIDTH - 1}
        return {"type": "success", "id": command.id, "result": result, "meta": meta}

    async def _before_asked(self, questions: Sequence[str], last: int) -> int:
        """The id before those of open questions: the client may not have read them yet.

        It takes what is at or before `applied_through_seq` for history, and drops it.
        """
        try:
            newest = await self.services.events.newest(self.thread_id, count=_LOOKS_BACK)
        except UpstreamError:  # the answer is taken all the same
            return last
        asked = [entry for entry in newest if channel_of(entry) == "input"]
        still_open = [e.id for e in asked if e.event().data["interrupt_id"] in questions]
        return min([last, *(entry_id - 1 for entry_id in still_open)])

    async def start(
        self, graph: str, work: Work, strategy: Strategy | None = None, *, creates: bool = False
    ) -> Json:
        """Put a run on the thread."""
        new = NewRun(
            thread_id=self.thread_id,
            graph=graph,
            work=work,
            strategy=strategy or "enqueue",
            creates_thread=creates,
        )
        created = await self.services.runs.create(new, owner=self.owner)
        return {"run_id": str(created.run.run_id)}

    async def graph(self) -> str:
        """The graph the thread was last used with."""
        name = await self.services.states.graph_of(self.thread_id, owner=self.owner)
        if name is None:
            raise RunNotFound(f"thread {self.thread_id} has had no run")
        return name


async def _run_start(desk: Desk, params: Json) -> Json:
    asked = _parse(RunStart, params)
    graph = resolve(desk.services.graphs, asked.assistant_id)
    work = make_work(input=asked.input, config=asked.config, metadata=asked.metadata)
    await _check_fork(desk, work)
    return await desk.start(graph, work, asked.multitask_strategy, creates=True)


async def _respond(desk: Desk, params: Json) -> Json:
    asked = _parse(Respond, params)
    try:
        answers = asked.answers()
    except ValueError as error:
        raise InvalidRequest(str(error)) from error
    work = make_work(
        update=asked.update, goto=asked.goto, config=asked.config, metadata=asked.metadata
    )
    given = await give(
        desk.services,
        desk.thread_id,
        answers,
        owner=desk.owner,
        graph=await desk.graph(),
        work=work,
    )
    result: Json = {"taken": given.taken, "waiting_for": given.waiting_for}
    return {**result, "run_id": str(given.run.run_id)} if given.run is not None else result


async def _inject(desk: Desk, params: Json) -> Json:
    asked = _parse(Inject, params)
    if asked.namespace:
        raise InvalidRequest("a message can be given to the root agent only")
    message = {"role": asked.message.role, "content": asked.message.content}
    return await desk.start(await desk.graph(), make_work(input={"messages": [message]}))


async def _state_get(desk: Desk, params: Json) -> Json:
    asked = _parse(StateGet, params)
    state = await desk.services.states.read(
        desk.thread_id, owner=desk.owner, namespace="|".join(asked.namespace)
    )
    values = state["values"]
    if asked.keys is not None:
        values = {key: values[key] for key in asked.keys if key in values}
    result: Json = {"values": values}
    if state["checkpoint_id"]:
        result["checkpoint"] = {
            "id": state["checkpoint_id"],
            "ns": state["checkpoint"]["checkpoint_ns"],
        }
    return result


async def _list_checkpoints(desk: Desk, params: Json) -> Json:
    asked = _parse(ListCheckpoints, params)
    states = await desk.services.states.history(
        desk.thread_id,
        owner=desk.owner,
        limit=asked.limit,
        before=asked.before,
        namespace="|".join(asked.namespace),
    )
    return {"checkpoints": [_summary(state) for state in states]}


async def _fork(desk: Desk, params: Json) -> Json:
    asked = _parse(Fork, params)
    work = make_work(
        input=asked.input,
        config=asked.config,
        metadata=asked.metadata,
        checkpoint_id=asked.checkpoint_id,
    )
    await _check_fork(desk, work)
    started = await desk.start(await desk.graph(), work)
    return {**started, "thread_id": str(desk.thread_id)}


async def _get_tree(desk: Desk, _: Json) -> Json:
    return {"tree": await tree_of(desk.services, desk.thread_id, owner=desk.owner)}


async def _check_fork(desk: Desk, work: Work) -> None:
    """A run from a checkpoint that is not there would fail later and less clearly."""
    if work.checkpoint_id is None:
        return
    found = await desk.services.states.has_checkpoint(
        desk.thread_id, work.checkpoint_id, owner=desk.owner
    )
    if not found:
        raise CheckpointNotFound(f"thread {desk.thread_id} has no such checkpoint")


Handler = Callable[[Desk, Json], Awaitable[Json]]
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


def _refused(command: Command, code: str, message: str) -> Json:
    return {"type": "error", "id": command.id, "error": code, "message": message}


def _problems(error: ValidationError) -> str:
    problems = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()]
    return "; ".join(problems[:5])
