"""What LangGraph is given for an attempt at a run: input, config, stream modes, factory call."""

from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.store.base import BaseStore
from langgraph.types import Command, Send

from bathysphere.core.run_context import RunUser
from bathysphere.engine.records import Mode, Run
from bathysphere.registry.factories import FactoryCall


def input_of(run: Run, *, is_continued: bool) -> Any:
    """The input of the graph; answers only go to the question they name."""
    work = run.work
    if work.answers_first:
        return None if is_continued else work.input
    if is_continued:
        return Command(resume=dict(work.resume)) if work.resume else None
    if not work.is_command:
        return work.input
    return Command(
        resume=dict(work.resume) if work.resume else None,
        update=work.update,
        goto=[node if isinstance(node, str) else Send(**node) for node in work.goto],
    )


def config_of(run: Run, *, is_continued: bool, user: RunUser | None = None) -> RunnableConfig:
    """The run's config; nothing in it is from the client but metadata and limits."""
    place: dict[str, Any] = {"thread_id": str(run.thread_id), "checkpoint_ns": ""}
    if user is not None:  # an object: LangGraph stores only plain values
        place["langgraph_auth_user"] = user
    if run.work.checkpoint_id is not None and not is_continued:
        place["checkpoint_id"] = run.work.checkpoint_id
    return {
        "configurable": place,
        "tags": list(run.work.tags),
        "metadata": {**run.work.metadata, "run_id": str(run.run_id), "graph": run.graph},
        "run_id": run.run_id,
        "recursion_limit": run.work.recursion_limit,
    }


def factory_call_of(run: Run, config: RunnableConfig, store: BaseStore | None) -> FactoryCall:
    """What a factory is told of the run. None of it is stored, unlike the run's own config."""
    configurable = config["configurable"]
    user: RunUser = configurable["langgraph_auth_user"]
    known = {
        **configurable,
        "graph_id": run.graph,
        "run_id": str(run.run_id),
        "langgraph_auth_user_id": user.identity,
    }
    given = {**(run.work.context or {}), **known}
    services: dict[str, Any] = {} if store is None else {"store": store}
    return FactoryCall(
        config={**config, "configurable": given},
        user=user,
        context=run.work.context,
        is_run=True,
        **services,
    )


def modes_of(run: Run) -> list[Any]:
    """The stream modes: the run's, and those that the engine itself follows."""
    needed: tuple[Mode, ...] = ("updates", "tasks")
    return list(dict.fromkeys((*needed, *run.work.modes)))
