"""Plays a case: the person's messages, their answers to interrupts, and the state it ends in."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.errors import GraphRecursionError
from langgraph.types import Command

from bathysphere.core.errors import BathysphereError, RequestRefused
from bathysphere.core.usage import Total, total
from bathysphere.evaluation.case_tools import CaseTools
from bathysphere.evaluation.cases import Case
from bathysphere.evaluation.person import Asked, Person
from bathysphere.evaluation.recorder import MadeCall, Recorder
from bathysphere.evaluation.subjects import (
    MAX_MODEL_CALLS,
    Candidate,
    Harness,
    build_subject,
)
from bathysphere.harness.build import Graph
from bathysphere.models.failures import explain

MAX_PAUSES = 30
"""How often a person answers in one turn before they give up."""
STEPS_PER_CALL = 6
"""Steps of a graph for one model call, at most; deepagents has no limit of its own."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseResult:
    """The state that a case ended in, and what it took."""

    state: Mapping[str, Any]
    documents: Mapping[str, str] = field(default_factory=dict)
    calls: Sequence[MadeCall] = ()
    effects: Sequence[tuple[str, Mapping[str, Any]]] = ()
    asked: Sequence[Asked] = ()
    problem: str | None = None
    """Why it did not come to an end."""
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0

    @property
    def usage(self) -> Total:
        """What our meter counted; nothing for another harness."""
        return total(self.state.get("usage"))

    @property
    def messages(self) -> Sequence[BaseMessage]:
        """The conversation."""
        return self.state.get("messages") or ()

    @property
    def files(self) -> dict[str, str]:
        """The agent's files by path, without deleted ones."""
        stored = self.state.get("files") or {}
        return {
            path: file["content"]
            if isinstance(file["content"], str)
            else "\n".join(file["content"])
            for path, file in stored.items()
            if not file.get("deleted")
        }


async def play_case(
    case: Case, candidate: Candidate, *, harness: Harness = "bathysphere", run: int = 1
) -> CaseResult:
    """Run a case to its end; failures of the agent are in the result.

    Raises:
        ConfigError: The model cannot be used, which says nothing about how good it is.
        UpstreamError: The model's provider failed.
    """
    tools, person, recorder = CaseTools(case), Person(case), Recorder()
    graph = build_subject(harness, candidate, tools, run)
    talk = _Talk(graph, person, recorder)
    problem = None
    try:
        async with asyncio.timeout(case.seconds):
            await _explained(talk.run(case), candidate.name)
    except TimeoutError:
        problem = f"It took more than {case.seconds:g} seconds."
    except (AgentFailed, RequestRefused) as error:
        problem = str(error)
    return CaseResult(
        state=talk.state,
        documents=person.documents,
        calls=recorder.calls,
        effects=tools.effects,
        asked=person.asked,
        problem=problem,
        model_calls=recorder.model_calls,
        input_tokens=recorder.input_tokens,
        output_tokens=recorder.output_tokens,
    )


class AgentFailed(Exception):
    """The agent ended with an error that is not its model's."""


async def _explained(work: Awaitable[None], model: str) -> None:
    """Do the work; an error is the model's or `AgentFailed`."""
    try:
        await work
    except BathysphereError:
        raise
    except Exception as error:
        failed = AgentFailed(f"{type(error).__name__}: {error}".strip()[:500])
        raise explain(error, model) or failed from error


class _Talk:
    """A conversation on one thread."""

    def __init__(self, graph: Graph, person: Person, recorder: Recorder) -> None:
        self._graph = graph
        self._person = person
        self._config: Any = {
            "configurable": {"thread_id": "1"},
            "callbacks": [recorder],
            "recursion_limit": MAX_MODEL_CALLS * STEPS_PER_CALL,
        }
        self.state: dict[str, Any] = {}

    async def run(self, case: Case) -> None:
        """Send all messages of the person."""
        given: dict[str, Any] = {"files": _stored(case.files)} if case.files else {}
        for words in case.say:
            if case.suite == "research":
                await self._turn({"user_query": words})
            else:
                await self._turn({"messages": [HumanMessage(words)], **given})
            given = {}

    async def _turn(self, given: Any) -> None:
        for _ in range(MAX_PAUSES):
            self.state = await self._graph.ainvoke(given, self._config)
            waiting = self.state.get("__interrupt__")
            if not waiting:
                return
            given = Command(resume={one.id: self._person.answer(one.value) for one in waiting})
        message = f"The person was asked more than {MAX_PAUSES} times."
        raise GraphRecursionError(message)


def _stored(files: Mapping[str, str]) -> dict[str, Any]:
    return {path: {"content": text, "encoding": "utf-8"} for path, text in files.items()}
