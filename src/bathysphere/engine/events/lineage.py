"""Lineage: which tool call started which nested graph, published as it starts and ends.

LangGraph names a nested graph by the task it runs in (`tools:<task id>`); a client knows the tool
call. The `tasks` stream has both, but also the whole state, so it is read here and not logged.
"""

from collections.abc import Iterator, Mapping
from typing import Any

Namespace = tuple[str, ...]
LifecycleItem = tuple[Namespace, dict[str, Any]]


class Lineage:
    """The nested graphs of one run."""

    def __init__(self) -> None:
        self._calls: dict[Namespace, Mapping[str, Any]] = {}
        self._open: set[Namespace] = set()

    def process(self, kind: str, namespace: Namespace, data: Any) -> Iterator[LifecycleItem]:
        """Yield the lifecycle events of nested graphs in one part of the stream."""
        for depth in range(1, len(namespace) + 1):
            if (place := namespace[:depth]) not in self._open:
                self._open.add(place)
                yield self._started(place)
        if kind == "tasks":
            place = (*namespace, f"{data['name']}:{data['id']}")
            if "input" in data:
                if (call := tool_call_of(data["input"])) is not None:
                    self._calls[place] = call
            elif place in self._open:
                self._open.discard(place)
                yield _item(place, {"event": _end(data)})

    def _started(self, place: Namespace) -> LifecycleItem:
        data: dict[str, Any] = {"event": "started"}
        if (call := self._calls.get(place)) is not None:
            data["cause"] = {"type": "toolCall", "tool_call_id": call["id"]}
            data["call"] = {"name": call["name"], "args": call["args"]}
        return _item(place, data)


def _item(place: Namespace, data: dict[str, Any]) -> LifecycleItem:
    graph = place[-1].split(":", 1)[0]
    return place, {**data, "graph": graph}


def _end(result: Mapping[str, Any]) -> str:
    if result.get("error"):
        return "failed"
    return "interrupted" if result.get("interrupts") else "completed"


def tool_call_of(value: Any) -> Mapping[str, Any] | None:
    """The single tool call that a task was created for."""
    if isinstance(value, dict) and "tool_call" in value:
        value = [value["tool_call"]]
    if not isinstance(value, list) or len(value) != 1 or not isinstance(value[0], dict):
        return None
    call = value[0]
    return call if call.get("type") == "tool_call" and call.get("id") else None
