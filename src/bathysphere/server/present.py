"""Threads and runs in the form LangGraph's clients read."""

from collections.abc import Sequence
from typing import Any

from bathysphere.engine.records import Run, Thread
from bathysphere.server.assistants import assistant_id
from bathysphere.server.states import State

Json = dict[str, Any]
_STATUS = {"cancelled": "interrupted"}


def thread_json(thread: Thread, state: State | None = None) -> Json:
    """A thread, with its values and open questions when the state is given."""
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
    }
    if state is not None:
        view["values"] = state["values"]
        view["interrupts"] = {
            task["id"]: task["interrupts"] for task in state["tasks"] if task["interrupts"]
        }
    return view


def run_json(run: Run) -> Json:
    """A run."""
    changed = run.finished_at or run.started_at or run.created_at
    kwargs: Json = {"input": run.work.input}
    if run.work.is_command:
        kwargs["command"] = {"resume": run.work.resume, "update": run.work.update}
    view: Json = {
        "run_id": str(run.run_id),
        "thread_id": str(run.thread_id),
        "assistant_id": assistant_id(run.graph),
        "created_at": run.created_at.isoformat(),
        "updated_at": changed.isoformat(),
        "status": _STATUS.get(run.status, run.status),
        "metadata": {**run.work.metadata, "graph_id": run.graph},
        "kwargs": kwargs,
        "multitask_strategy": None,
    }
    if run.error is not None:
        view["error"] = run.error
    return view


def selected(view: Json, names: Sequence[str] | None) -> Json:
    """The fields that were asked for, or all."""
    return view if not names else {name: view[name] for name in names if name in view}
