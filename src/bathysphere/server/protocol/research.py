"""The stream of `/api/research`: `start`, `research` and `error`, with the state in camel case.

Reads the same log as every other stream. Each `research` event tells what one node changed; a
question to the person is told as the gate's; progress of single steps as the executor's.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from bathysphere.engine.events import Event

Part = tuple[str, dict[str, Any]]
GATE = "hitl_gate"
EXECUTOR = "tool_executor"
START, ERROR = "_start", "_error"
QUIET = frozenset({"messages"})
"""Fields that belong to other clients of the same run."""


def start(thread_id: str, run_id: str, query: str) -> Part:
    """The first event: the run is there, and can be found again."""
    state = {"status": "started", "threadId": thread_id, "userQuery": query, "reasoning": []}
    return "start", {"node": START, "runId": run_id, "state": {**state, "plan": None}}


def parts(event: Event) -> Iterator[Part]:
    """What one event of the engine becomes."""
    if event.namespace:
        return
    data = event.data
    if event.channel == "updates":
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


def failed(message: str, **more: Any) -> Part:
    """The end of a run that has no report."""
    state = {"status": "failed", "errorMessage": message, **more}
    return "error", {"node": ERROR, "state": state}


def _update(node: str, values: Any) -> Part:
    state = view(values if isinstance(values, Mapping) else {})
    if state.get("status") == "failed":
        message = state.pop("errorMessage", None) or "The run failed."
        return failed(message, **{key: value for key, value in state.items() if key != "status"})
    return "research", {"node": node, "state": state}


def _question(question_id: str, value: Mapping[str, Any]) -> Part:
    shown = {key: item for key, item in value.items() if key != "type"}
    state = {"status": "awaiting_approval", **view({**shown, "interrupt_id": question_id})}
    return "research", {"node": GATE, "state": state}


def view(values: Mapping[str, Any]) -> dict[str, Any]:
    """A state, or a part of one, as this stream shows it."""
    shown: dict[str, Any] = camel({k: v for k, v in values.items() if k not in QUIET})
    return shown


def camel(value: Any) -> Any:
    """JSON with the names of its fields in camel case."""
    if isinstance(value, Mapping):
        return {_camel(str(key)): camel(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [camel(item) for item in value]
    return value


def snake(value: Any) -> Any:
    """JSON with the names of its fields in snake case: what `camel` made, read back."""
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
