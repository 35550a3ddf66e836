"""One call of a tool: start a run, wait for it, ask the client what the agent asks.

A call that the client cancels stops its run. A client that disconnects leaves the run going: its
thread is in the workspace.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any
from uuid import UUID, uuid4

import anyio
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from mcp import types
from mcp.server.session import ServerSession

from bathysphere.core.errors import BathysphereError, CallerError
from bathysphere.core.identity import Owner
from bathysphere.engine.assistants import Assistant
from bathysphere.engine.errors import AnswerRefused
from bathysphere.engine.records import Run
from bathysphere.server.langgraph_api.create_run import start
from bathysphere.server.langgraph_api.idempotency import RequestKey
from bathysphere.server.langgraph_api.run_events import open_questions, wait_for_end
from bathysphere.server.mcp.questions import form_of
from bathysphere.server.mcp.tools import THREAD, ToolInput, failed, finished, waiting
from bathysphere.server.process.services import Services
from bathysphere.server.schemas.runs import RunCommand, RunCreate
from bathysphere.server.sse import StreamRules

_ATTEMPTS = 3
_FORMS = types.ClientCapabilities(elicitation=types.ElicitationCapability())
_METADATA = {"source": "mcp"}

Questions = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Caller:
    """Who calls: the owner, the client's session and the request being answered."""

    key: RequestKey
    session: ServerSession
    request_id: types.RequestId
    progress_token: str | int | None
    rules: StreamRules
    """How often the client hears that the call goes on, and is identified again."""

    @property
    def owner(self) -> Owner:
        """Who calls."""
        return self.key.owner


class ToolCall:
    """A call of an assistant's tool."""

    def __init__(self, services: Services, assistant: Assistant, caller: Caller) -> None:
        self._services = services
        self._assistant = assistant
        self._caller = caller

    async def run(self, arguments: Mapping[str, Any]) -> types.CallToolResult:
        """Run the assistant and return its result, or what it waits for."""
        try:
            run = await self._start(arguments)
            while True:
                run = await self._wait(run)
                state = await self._services.states.read(run.thread_id, owner=self._caller.owner)
                questions = await open_questions(self._services, run, state)
                if not questions:
                    return finished(run, state["values"])
                answered = await self._ask(run, questions)
                if answered is None:
                    return waiting(run, questions)
                run = answered
        except BathysphereError as error:
            return failed(str(error))

    async def _start(self, arguments: Mapping[str, Any]) -> Run:
        services, graph = self._services, self._assistant.definition.graph
        expected = ToolInput.of_graph(services.graphs, graph)
        problem = next(Draft202012Validator(expected.schema).iter_errors(dict(arguments)), None)
        if problem is not None:
            raise CallerError(f"Invalid argument: {problem.message[:500]}")
        thread_id, is_new = _thread_of(arguments)
        body = RunCreate(
            assistant_id=str(self._assistant.assistant_id),
            input=expected.graph_input(arguments),
            metadata=_METADATA,
        )
        return await start(
            services,
            thread_id,
            body,
            owner=self._caller.owner,
            key=self._caller.key,
            create_if_missing=is_new,
        )

    async def _wait(self, run: Run) -> Run:
        """Wait for the run; tell the client that it goes on, and check its credential."""
        services, owner = self._services, self._caller.owner
        waiting_for = asyncio.create_task(wait_for_end(services, run, owner=owner))
        try:
            for beat in count(1):
                await asyncio.wait([waiting_for], timeout=self._caller.rules.heartbeat_seconds)
                await self._caller.rules.check()
                if waiting_for.done():
                    break
                await self._tell(beat)
            return await waiting_for
        except asyncio.CancelledError:
            with anyio.CancelScope(shield=True):
                await services.runs.cancel(run.run_id, owner=owner)
            raise
        finally:
            waiting_for.cancel()

    async def _tell(self, beat: int) -> None:
        caller = self._caller
        if caller.progress_token is not None:
            await caller.session.send_progress_notification(
                caller.progress_token,
                beat,
                message="The agent is working.",
                related_request_id=str(caller.request_id),
            )

    async def _ask(self, run: Run, questions: Questions) -> Run | None:
        """Ask the client; return the run that continues, or None if there is no answer."""
        if not self._caller.session.check_client_capability(_FORMS):
            return None
        problem = ""
        for _ in range(_ATTEMPTS):
            try:
                answers = await self._answers(questions, problem)
                return None if answers is None else await self._resume(run, answers)
            except AnswerRefused as error:
                problem = f"{error}\n\n"
        return None

    async def _answers(self, questions: Questions, problem: str) -> dict[str, Any] | None:
        caller = self._caller
        answers = {}
        for question in questions:
            form = form_of(question)
            found = await caller.session.elicit_form(
                f"{problem}{form.text}", form.schema, related_request_id=caller.request_id
            )
            if found.action != "accept":
                return None
            answers[str(question["id"])] = form.answer(found.content or {})
        return answers

    async def _resume(self, run: Run, answers: Mapping[str, Any]) -> Run:
        body = RunCreate(
            assistant_id=str(self._assistant.assistant_id),
            command=RunCommand(resume=dict(answers)),
            metadata=_METADATA,
        )
        caller = self._caller
        return await start(self._services, run.thread_id, body, owner=caller.owner, key=caller.key)


def _thread_of(arguments: Mapping[str, Any]) -> tuple[UUID, bool]:
    """The thread to use, and whether it is new."""
    given = arguments.get(THREAD)
    if given is None:
        return uuid4(), True
    try:
        return UUID(given), False
    except ValueError as error:
        raise CallerError(f"{THREAD} must be a UUID") from error
