"""Close an interrupted step when the person sends a new message instead of answering.

LangGraph drops the results of an unfinished step when a new input arrives. So the answers given so
far are applied first: the calls they belong to finish, the results of all finished calls are
written to the thread, and unanswered questions are closed with the step. A partly answered subagent
ends too, and the agent that started it gets its results so far. Then the message enters.
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

from bathysphere.engine.checkpoints.subagent_handoff import handoff_messages
from bathysphere.engine.events.langgraph_stream import StreamEvent, StreamMapper, Token
from bathysphere.engine.graphs import Graph
from bathysphere.engine.records import Run


def closing_id(run_id: UUID) -> str:
    """The run id recorded in the checkpoint of the closed step.

    Not the run's own id: for LangGraph and a later attempt, that means that the input has entered.
    """
    return f"{run_id}:closing"


async def close_step(
    graph: Graph, run: Run, config: RunnableConfig, **options: Any
) -> AsyncIterator[Token | StreamEvent]:
    """Apply the run's answers and end the step; yield the events of doing so.

    A later attempt may repeat this: finished calls are not executed again.
    """
    config = {
        **config,
        "metadata": {**config.get("metadata", {}), "run_id": closing_id(run.run_id)},
    }
    answers = dict(run.work.resume or {})
    state = await graph.aget_state(config)
    if any(question.id in answers for question in state.interrupts):
        async for item in _apply_answers(graph, answers, config, **options):
            yield item
        state = await graph.aget_state(config)
    unfinished = [task for task in state.tasks if task.interrupts]
    saver = cast("BaseCheckpointSaver[str]", graph.checkpointer)
    handoff = (
        await handoff_messages(saver, config, unfinished) if "messages" in graph.channels else []
    )
    if handoff or any(task.result is not None for task in state.tasks):
        await graph.aupdate_state(config, None, as_node=END)
    if handoff:
        await graph.aupdate_state(config, {"messages": handoff}, as_node=START)


async def _apply_answers(
    graph: Graph, answers: dict[str, Any], config: RunnableConfig, **options: Any
) -> AsyncIterator[Token | StreamEvent]:
    mapper = StreamMapper()
    try:
        async for part in graph.astream(Command(resume=answers), config, **options):
            for item in mapper.map(part):
                # Questions that are asked again were not answered, and will not be.
                if isinstance(item, Token) or item.channel != "input":
                    yield item
    except ValidationError as error:
        # An answer that its question rejects must not block the message.
        if not is_invalid_resume(error):
            raise
