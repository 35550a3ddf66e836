"""Where a client asked a run to pause: before or after some nodes, or all (`*`)."""

from collections.abc import Iterable, Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig

from bathysphere.engine.graphs import Graph
from bathysphere.engine.records import Work

ALL = "*"


def pause_options(work: Work) -> dict[str, Any]:
    """The run's pauses, as LangGraph takes them."""
    named = {"interrupt_before": work.interrupt_before, "interrupt_after": work.interrupt_after}
    return {name: ALL if ALL in nodes else list(nodes) for name, nodes in named.items() if nodes}


async def is_paused(graph: Graph, work: Work, config: RunnableConfig) -> bool:
    """Whether the attempt before this one ended where the run is to pause.

    LangGraph takes another attempt at a run for a resume, and a resume passes the pause.
    """
    if not work.interrupt_before and not work.interrupt_after:
        return False
    state = await graph.aget_state(config)
    if _names(work.interrupt_before, state.next):
        return True
    if not state.next or state.parent_config is None:
        return False
    before = await graph.aget_state(state.parent_config)
    return _names(work.interrupt_after, [task.name for task in before.tasks])


def _names(pauses: Sequence[str], nodes: Iterable[str]) -> bool:
    return any(node in pauses or ALL in pauses for node in nodes)
