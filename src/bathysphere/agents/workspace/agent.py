"""The workspace agent as data: it delegates, a specialist works on files, a person approves.

The main agent has `task`, and its list of to-dos; every other tool is taken from it. Where the
backend finds its root by the run (`RunRoot`), each agent of the tree is held to the workspace that
the thread was begun in. Long results and old talk are the agent's own and never in the bucket.
"""

from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from deepagents.backends import CompositeBackend
from deepagents.backends.protocol import BackendProtocol
from langchain.agents.middleware.types import AgentMiddleware

from bathysphere.agents.workspace.subagents import subagents
from bathysphere.agents.workspace.subagents.parts import Parts
from bathysphere.backends.object_store.backend import ObjectStoreBackend
from bathysphere.backends.scratch import ScratchBackend
from bathysphere.core.usage import Limits
from bathysphere.harness.spec import AgentSpec
from bathysphere.harness.state import HarnessState
from bathysphere.middleware.only_tools import OnlyToolsMiddleware
from bathysphere.middleware.workspace import RunRoot, WorkspaceMiddleware, WorkspaceState
from bathysphere.models.resolve import Models

Layers = tuple[AgentMiddleware[Any, Any, Any], ...]

SCRATCH = ("/large_tool_results/", "/conversation_history/")


class WorkspaceAgentState(WorkspaceState, HarnessState):
    """The harness's state, with the workspace that the whole tree is held to."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkspaceConfig:
    """What a deployment may change."""

    limits: Limits = field(default_factory=Limits)


def spec(
    *,
    models: Models,
    backend: BackendProtocol | None = None,
    reliability: Layers = (),
    config: WorkspaceConfig | None = None,
) -> AgentSpec:
    """Describe the agent; nothing runs and nothing is read from the environment.

    Args:
        models: A chat model for each role: `main` leads, `subagent` works on files.
        backend: The team's files; in graph state if not given.
        reliability: Layers that retry and replace a failing model, for every agent of the tree.
        config: What this deployment changes.
    """
    config = config or WorkspaceConfig()
    team_files = backend or ScratchBackend()
    guards = _guards(team_files)
    parts = Parts(
        model=models.subagent,
        files=team_files,
        scratch=SCRATCH,
        guards=guards,
        reliability=reliability,
    )
    return AgentSpec(
        name="workspace",
        description="Works on a team's files in an object store; every change waits for a person.",
        model=models.main,
        subagent_model=models.subagent,
        summary_model=models.summary,
        prompt=files("bathysphere.agents.workspace")
        .joinpath("prompt.md")
        .read_text(encoding="utf-8")
        .strip(),
        subagents=subagents(parts),
        backend=_with_scratch(team_files),
        middleware=(*guards, OnlyToolsMiddleware("task", "write_todos"), *reliability),
        limits=config.limits,
        state_schema=WorkspaceAgentState,
    )


def _guards(team_files: BackendProtocol) -> Layers:
    """What holds an agent to its workspace; nothing where the files are the agent's own."""
    root = team_files.root if isinstance(team_files, ObjectStoreBackend) else None
    return (WorkspaceMiddleware(root),) if isinstance(root, RunRoot) else ()


def _with_scratch(team_files: BackendProtocol) -> BackendProtocol:
    if isinstance(team_files, ScratchBackend):
        return team_files
    return CompositeBackend(team_files, {folder: ScratchBackend() for folder in SCRATCH})
