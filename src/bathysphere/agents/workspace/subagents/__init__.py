"""The specialists the workspace agent sends out: each a folder, and one line here."""

from collections.abc import Callable, Mapping

from bathysphere.agents.workspace.subagents import files
from bathysphere.agents.workspace.subagents.parts import Parts
from bathysphere.harness.spec import SubagentSpec

REGISTRY: Mapping[str, Callable[[Parts], SubagentSpec]] = {
    "files": files.subagent,
}
"""Name → how to make it. They are made when the agent is described, not at import."""


def subagents(parts: Parts) -> tuple[SubagentSpec, ...]:
    """All of them."""
    return tuple(make(parts) for make in REGISTRY.values())
