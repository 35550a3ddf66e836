"""Serialize threads and runs in LangGraph's format."""

from collections.abc import Sequence
from typing import Any

from bathysphere.engine.records import Run, RunStatus, Thread, ThreadTtl
from bathysphere.server.langgraph_api.assistant_ids import assistant_id
from bathysphere.server.langgraph_api.thread_states import State

Json = dict[str, Any]
_STATUS: dict[RunStatus, RunStatus] = {"cancelled": "interrupted"}


def ttl_json(ttl: ThreadTtl) -> Json:
    """Serialize a thread's time to live."""
    return {
        "strategy": "delete",
        "ttl_minutes": ttl.minutes,
        "expires_at": ttl.expires_at.isoformat(),
    }


def thread_json(thread: Thread, state: State | None = None) -> Json:
    """Serialize a thread, with values and open questions if the state is given."""
    view: Json = {
        "thread_id": str(thread.thread_id),
        "created_at": thread.created_at.isoformat(),
        "updated_at": thread.updated_at.isoformat(),
        "state_updated_at": thread.updated_at.isoformat(),
        "metadata": dict(thread.metadata),
        "status": thread.status,
        "config": {},
        "values": None,
        "interrupts": {},
        "error": None,
    }
    if state is not None:
        view["values"] = state["values"]
        view["interrupts"] = {
            task["id"]: task["interrupts"] for task in state["tasks"] if task["interrupts"]
        }
    return view


def run_json(run: Run) -> Json:
    """Serialize a run."""
    changed = run.finished_at or run.started_at or run.created_at
    kwargs: Json = {"input": run.work.input}
    if run.work.is_command:
        kwargs["command"] = {"resume": run.work.resume, "update": run.work.update}
    view: Json = {
        "run_id": str(run.run_id),
        "thread_id": str(run.thread_id),
        "assistant_id": run.work.assistant_id or assistant_id(run.graph),
        "created_at": run.created_at.isoformat(),
        "updated_at": changed.isoformat(),
        "status": _STATUS.get(run.status, run.status),
        "metadata": {**run.work.metadata, "graph_id": run.graph},
        "kwargs": kwargs,
        "multitask_strategy": None,
        "langsmith_session_name": None,
    }
    if run.error is not None:
        view["error"] = run.error
    return view


def statuses_shown_as(status: RunStatus) -> list[RunStatus]:
    """The engine's statuses that clients see as this one."""
    return [status, *(own for own, shown in _STATUS.items() if shown == status)]


def selected(view: Json, names: Sequence[str] | None) -> Json:
    """The requested fields, or all."""
    return view if not names else {name: view[name] for name in names if name in view}
