"""The graphs of a foreign project in the engine's campaign: their inputs and their items."""

import json
import os
from pathlib import Path
from typing import Any

from bathysphere.cli.targets import find_selection
from bathysphere.engine.graphs import Graphs
from bathysphere.models.settings import ModelSettings
from bathysphere.registry.loading import load_agents
from bathysphere.server.process.assembly import graphs_of

PROJECT = Path(__file__).parent / "foreign_project" / "langgraph.json"
AGENTS = ("bare_agent", "deep_agent")
FOREIGN = (*AGENTS, "functional", "nested", "per_run")


def foreign_graphs(url: str) -> Graphs:
    """Load the project like `bathysphere worker`, with `url` as the database of its journal."""
    os.environ["JOURNAL_URL"] = url
    return graphs_of(ModelSettings(), load_agents(find_selection([str(PROJECT)]), is_only=True))


def run_input(graph: str, values: dict[str, Any]) -> dict[str, Any]:
    """What starts a run of a graph."""
    if graph not in AGENTS:
        return dict(values)
    return {"messages": [{"role": "user", "content": json.dumps(values)}]}


def items_of(graph: str, values: Any) -> list[str]:
    """The items of a thread's state."""
    if graph == "functional":
        return list(values)
    if graph not in AGENTS:
        return list(values.get("items", []))
    found: list[str] = []
    for message in values.get("messages", []):
        if message.type == "human":
            found += json.loads(message.text)["items"]
        elif message.type == "tool":
            found.append(message.text)
    return found
