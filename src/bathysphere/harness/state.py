"""The state of all harness agents, and the declared writer of each state field."""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Annotated, Any, NotRequired, Required, get_args, get_origin, get_type_hints

from deepagents.graph import DeepAgentState
from langchain_core.messages import AnyMessage, BaseMessage, RemoveMessage
from langgraph.channels.delta import DeltaChannel
from langgraph.graph.state import CompiledStateGraph
from langgraph.pregel import Pregel

from bathysphere.core.errors import ConfigError
from bathysphere.core.writers import Writer
from bathysphere.upstream import merge_message_writes

SNAPSHOT_EVERY = 50
"""Steps between full copies of the history; checkpoints in between store only new messages."""


def merge_messages(messages: list[AnyMessage] | None, writes: Sequence[Any]) -> list[AnyMessage]:
    """Merge messages like deepagents, with a fast path for appending."""
    known = messages or []
    new = [m for write in writes for m in (write if isinstance(write, list) else [write])]
    if _are_messages(known[:1]) and _are_messages(new):
        ids = [m.id for m in new if m.id is not None]
        fresh = set(ids)
        # Without a loop in Python: this runs four times per step, over the whole history.
        if len(fresh) == len(ids) and fresh.isdisjoint(map(_id_of, known)):
            return [*known, *new]
    return merge_message_writes(messages, list(writes))


_id_of = attrgetter("id")


def _are_messages(values: Sequence[Any]) -> bool:
    return all(isinstance(m, BaseMessage) and not isinstance(m, RemoveMessage) for m in values)


class HarnessState(DeepAgentState):
    """Agent state with messages as a delta channel, so that checkpoints do not grow quadratically.

    Subclasses add fields that the main agent and its subagents share.
    """

    messages: Required[
        Annotated[
            list[AnyMessage],
            Writer.CLIENT,
            DeltaChannel(merge_messages, snapshot_frequency=SNAPSHOT_EVERY),
        ]
    ]


UPSTREAM_WRITERS: Mapping[str, Writer] = {
    "structured_response": Writer.MODEL,
    "todos": Writer.MODEL,
    **dict.fromkeys(
        (
            "jump_to",
            "hitl_edited_tool_calls",
            "memory_contents",
            "pinned_skills",
            "skills_metadata",
            "skills_load_errors",
            "async_tasks",
            "rubric",
            "_active_rubric",
            "_blob_payloads",
            "_current_grading_run_id",
            "_deepagents_forked_context",
            "_rubric_criteria",
            "_rubric_evaluations",
            "_rubric_iterations",
            "_rubric_status",
            "_skill_tools_disclosed",
            "_summarization_event",
            "_summarization_session_id",
        ),
        Writer.ENGINE,
    ),
}
"""Writers of the state fields defined by LangChain and deepagents."""


def writers_of(graph: Pregel[Any, Any, Any, Any]) -> dict[str, Writer]:
    """The writer of each state field; empty if the graph declares none."""
    if not isinstance(graph, CompiledStateGraph):
        return {}
    declared: dict[str, Writer] = {}
    for schema in graph.builder.schemas:
        for name, annotation in get_type_hints(schema, include_extras=True).items():
            writer = _writer(annotation)
            if writer is not None and declared.setdefault(name, writer) is not writer:
                raise ConfigError(f"Field '{name}' declares two writers")
    if not declared:
        return {}
    known = {name: UPSTREAM_WRITERS[name] for name in UPSTREAM_WRITERS if name in graph.channels}
    return {**known, **declared}


def check_writers(graph: Pregel[Any, Any, Any, Any]) -> None:
    """Reject a graph with state fields that do not declare a writer.

    Raises:
        ConfigError: If a field declares no writer.
    """
    fields = graph.builder.channels if isinstance(graph, CompiledStateGraph) else {}
    unknown = sorted(fields.keys() - writers_of(graph).keys())
    if unknown:
        raise ConfigError(
            f"State fields of '{graph.name}' without a declared writer: {', '.join(unknown)}",
            hint="annotate them with ByClient, ByModel or ByEngine of bathysphere.core.writers",
        )


def _writer(annotation: Any) -> Writer | None:
    for extra in getattr(annotation, "__metadata__", ()):
        if isinstance(extra, Writer):
            return extra
    if get_origin(annotation) in (Annotated, Required, NotRequired):
        return _writer(get_args(annotation)[0])
    return None
