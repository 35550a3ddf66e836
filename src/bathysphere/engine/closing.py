"""Closing a step that stopped to ask, because the person wrote a new message instead.

LangGraph drops what an unfinished step has done when a new input comes. So the answers that were
given are used first: the calls they belong to finish, the results of all finished calls are put
into the thread, and the questions nobody answered end with the step. A subagent that was answered
in part ends too, and the agent that sent it out is told what it had got. Then the message enters.
"""

from collections.abc import AsyncIterator
from typing import Any, cast
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.errors import is_invalid_resume
from langgraph.graph import END, START
from langgraph.types import Command
from pydantic import ValidationError

from bathysphere.engine.graphs import Graph
from bathysphere.engine.records import Run
from bathysphere.engine.stream import Happening, StreamMapper, Token
from bathysphere.engine.unfinished import left_behind


def closing_id(run_id: UUID) -> str:
    """What the closed step's checkpoint has for a run id.

    Not the run's own: to LangGraph and to a later attempt that means that the input has entered.
    """
    return f"{run_id}:closing"


async def close_step(
    graph: Graph, run: Run, config: RunnableConfig, **options: Any
) -> AsyncIterator[Token | Happening]:
    """Use the run's answers and end the step; gives what happens on the way.

    May be repeated by a later attempt: what is finished is not executed again.
    """
    config = {
        **config,
        "metadata": {**config.get("metadata", {}), "run_id": closing_id(run.run_id)},
    }
    answers = dict(run.work.resume or {})
    state = await graph.aget_state(config)
    if any(question.id in answers for question in state.interrupts):
        async for item in _use(graph, answers, config, **options):
            yield item
        state = await graph.aget_state(config)
    unfinished = [task for task in state.tasks if task.interrupts]
    saver = cast("BaseCheckpointSaver[str]", graph.checkpointer)
    told = await left_behind(saver, config, unfinished) if "messages" in graph.channels else []
    if told or any(task.result is not None for task in state.tasks):
        await graph.aupdate_state(config, None, as_node=END)
    if told:
        await graph.aupdate_state(config, {"messages": told}, as_node=START)


async def _use(
    graph: Graph, answers: dict[str, Any], config: RunnableConfig, **options: Any
) -> AsyncIterator[Token | Happening]:
    mapper = StreamMapper()
    try:
        async for part in graph.astream(Command(resume=answers), config, **options):
            for item in mapper.map(part):
                # The questions that come up again were not answered, and will not be.
                if isinstance(item, Token) or item.channel != "input":
                    yield item
    except ValidationError as error:
        # An answer that its question does not take must not keep the message out.
        if not is_invalid_resume(error):
            raise
