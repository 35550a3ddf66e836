"""The stream of `/api/research`: `start`, `research` and `error`, with the state in camel case.

It reads the same log as every other stream. Each `research` event has the changes of one node; a
question to the person is sent as the gate's event, progress of single steps as the executor's.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from bathysphere.engine.events.log import Event

Part = tuple[str, dict[str, Any]]
GATE = "hitl_gate"
EXECUTOR = "tool_executor"
ROUTER = "router"
START, ERROR = "_start", "_error"
INTERNAL = frozenset({"messages", "step_seal", "grant", "history"})
"""Fields that are internal, or for other clients of the same run."""


def start(thread_id: str, run_id: str, query: str) -> Part:
    """The first event, with the ids of the thread and the run."""
    state = {"status": "started", "threadId": thread_id, "userQuery": query, "reasoning": []}
    return "start", {"node": START, "runId": run_id, "state": {**state, "plan": None}}


def parts(event: Event) -> Iterator[Part]:
    """Map one engine event to stream parts."""
    if event.namespace:
        return
    data = event.data
    if event.channel == "updates" and not _is_first_question(data):
        yield _update(data["node"], data["values"])
    elif event.channel == "input":
        value = data["payload"]
        if isinstance(value, Mapping) and value.get("type") == "plan_approval":
            yield _question(data["interrupt_id"], value)
    elif event.channel == "custom":
        state = {"status": "executing", "progress": camel(data)}
        yield "research", {"node": EXECUTOR, "state": state}
    elif event.channel == "lifecycle" and data["event"] in ("failed", "cancelled"):
        error = data.get("error") or {}
        yield failed(error.get("message") or "The run was cancelled.")


def _is_first_question(data: Mapping[str, Any]) -> bool:
    """Whether the router had nothing to decide, so that there is nothing to report."""
    return data["node"] == ROUTER and not (data["values"] or {}).get("follow_up")


def failed(message: str, **more: Any) -> Part:
    """The final event of a run without a report."""
    state = {"status": "failed", "errorMessage": message, **more}
    return "error", {"node": ERROR, "state": state}


def _update(node: str, values: Any) -> Part:
    state = view(values if isinstance(values, Mapping) else {})
    if state.get("status") == "failed":
        message = state.pop("errorMessage", None) or "The run failed."
        return failed(message, **{key: value for key, value in state.items() if key != "status"})
    return "research", {"node": node, "state": state}


def _question(question_id: str, value: Mapping[str, Any]) -> Part:
    fields = {key: item for key, item in value.items() if key != "type"}
    state = {"status": "awaiting_approval", **view({**fields, "interrupt_id": question_id})}
    return "research", {"node": GATE, "state": state}


def view(values: Mapping[str, Any]) -> dict[str, Any]:
    """A state, or a part of one, in the format of this stream."""
    converted: dict[str, Any] = camel({k: v for k, v in values.items() if k not in INTERNAL})
    return converted


def camel(value: Any) -> Any:
    """Convert field names to camel case."""
    if isinstance(value, Mapping):
        return {_camel(str(key)): camel(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [camel(item) for item in value]
    return value


def snake(value: Any) -> Any:
    """Convert field names to snake case, the inverse of `camel`."""
    if isinstance(value, Mapping):
        return {_snake(str(key)): snake(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [snake(item) for item in value]
    return value


def _camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest) if head else name


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
