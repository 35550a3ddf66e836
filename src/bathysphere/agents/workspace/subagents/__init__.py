"""The subagents of the workspace agent: one package each, registered here."""

from collections.abc import Callable, Mapping

from bathysphere.agents.workspace.subagents import files
from bathysphere.agents.workspace.subagents.dependencies import Dependencies
from bathysphere.harness.spec import SubagentSpec

REGISTRY: Mapping[str, Callable[[Dependencies], SubagentSpec]] = {
    "files": files.subagent,
}
"""Name → factory, called when the agent is described, not at import."""


def subagents(dependencies: Dependencies) -> tuple[SubagentSpec, ...]:
    """Create all subagents."""
    return tuple(make(dependencies) for make in REGISTRY.values())
