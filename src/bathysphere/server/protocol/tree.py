"""The agent tree of a thread: the root and each subgraph that has a checkpoint."""

from typing import Any
from uuid import UUID

from bathysphere.core.identity import Owner
from bathysphere.server.process.services import Services

Node = dict[str, Any]
_STATUS = {"idle": "completed", "busy": "running", "interrupted": "interrupted", "error": "failed"}


async def tree_of(services: Services, thread_id: UUID, *, owner: Owner) -> Node:
    """Build the agent tree, with the status of each agent."""
    thread = await services.threads.get(thread_id, owner=owner)
    state = await services.states.read(thread_id, owner=owner)
    graph = await services.states.graph_of(thread_id, owner=owner)
    status = _STATUS[thread.status]
    open_tasks = {f"{task['name']}:{task['id']}" for task in state["tasks"]}
    root: Node = {"namespace": [], "status": status, "graph_name": graph or "", "children": []}
    nodes: dict[tuple[str, ...], Node] = {(): root}
    for namespace in await services.states.namespaces(thread_id, owner=owner):
        is_open = namespace[0] in open_tasks
        _insert(nodes, namespace, status if is_open else "completed")
    return root


def _insert(nodes: dict[tuple[str, ...], Node], namespace: tuple[str, ...], status: str) -> Node:
    if (known := nodes.get(namespace)) is not None:
        return known
    parent = _insert(nodes, namespace[:-1], status)
    name = namespace[-1].split(":", 1)[0]
    node: Node = {
        "namespace": list(namespace),
        "status": status,
        "graph_name": name,
        "children": [],
    }
    parent["children"].append(node)
    nodes[namespace] = node
    return node
