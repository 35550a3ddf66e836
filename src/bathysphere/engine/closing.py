"""Closing a step that was partly answered, because the person wrote a new message instead.

LangGraph drops what an unfinished step has done when a new input comes. So the answers that were
given are used first: the calls they belong to finish, their results are put into the thread, and
the questions nobody answered end with the step. Then the message enters.
"""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

from langchain_core.runnables import RunnableConfig
from langgraph.graph import END
from langgraph.types import Command

from bathysphere.engine.graphs import Graph
from bathysphere.engine.records import Run
from bathysphere.engine.stream import Happening, StreamMapper, Token


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
    if not any(question.id in answers for question in state.interrupts):
        return
    mapper = StreamMapper()
    async for part in graph.astream(Command(resume=answers), config, **options):
        for item in mapper.map(part):
            # The questions that come up again were not answered, and will not be.
            if isinstance(item, Token) or item.channel != "input":
                yield item
    await graph.aupdate_state(config, None, as_node=END)
