"""The workspace agent's spec: it delegates, a subagent works on files, a person approves.

The main agent has only `task` and `write_todos`. If the backend resolves its root per run
(`RunRoot`), all agents in the tree are confined to the thread's workspace. Long tool results and
old messages go to scratch storage, never to the bucket.
"""

from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

from deepagents.backends import CompositeBackend
from deepagents.backends.protocol import BackendProtocol
from langchain.agents.middleware.types import AgentMiddleware

from bathysphere.agents.workspace.subagents import subagents
from bathysphere.agents.workspace.subagents.dependencies import Dependencies
from bathysphere.backends.conditional import VersionedBackend
from bathysphere.backends.object_store.backend import ObjectStoreBackend
from bathysphere.backends.scratch import ScratchBackend
from bathysphere.core.usage import Limits
from bathysphere.flow import FlowPolicy
from bathysphere.harness.spec import AgentSpec
from bathysphere.harness.state import HarnessState
from bathysphere.middleware.file_approvals.reported import ReportedDecisionsMiddleware
from bathysphere.middleware.only_tools import OnlyToolsMiddleware
from bathysphere.middleware.workspace import RunRoot, WorkspaceMiddleware, WorkspaceState
from bathysphere.models.resolve import Models

Layers = tuple[AgentMiddleware[Any, Any, Any], ...]

SCRATCH = ("/large_tool_results/", "/conversation_history/")


class WorkspaceAgentState(WorkspaceState, HarnessState):
    """The harness's state, with the workspace that all agents share."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkspaceConfig:
    """Options that a deployment can change."""

    limits: Limits = field(default_factory=Limits)
    flow: FlowPolicy | None = field(default_factory=FlowPolicy)
    """Flow control; None turns it off."""


def spec(
    *,
    models: Models,
    backend: VersionedBackend | None = None,
    reliability: Layers = (),
    config: WorkspaceConfig | None = None,
) -> AgentSpec:
    """Describe the agent, without running it or reading the environment.

    Args:
        models: A chat model per role: `main` delegates, `subagent` works on files.
        backend: The team's files; graph state by default.
        reliability: Layers that retry or replace a failing model, for all agents in the tree.
        config: Options of this deployment.
    """
    config = config or WorkspaceConfig()
    team_files = backend or ScratchBackend()
    guards = _guards(team_files)
    dependencies = Dependencies(
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
        subagents=subagents(dependencies),
        backend=_with_scratch(team_files),
        middleware=(
            *guards,
            ReportedDecisionsMiddleware(),
            OnlyToolsMiddleware("task", "write_todos"),
            *reliability,
        ),
        flow=config.flow,
        limits=config.limits,
        state_schema=WorkspaceAgentState,
        profile=models.profile,
    )


def _guards(team_files: VersionedBackend) -> Layers:
    """Layers that confine an agent to its workspace; none for scratch files."""
    root = team_files.root if isinstance(team_files, ObjectStoreBackend) else None
    return (WorkspaceMiddleware(root),) if isinstance(root, RunRoot) else ()


def _with_scratch(team_files: VersionedBackend) -> BackendProtocol:
    if isinstance(team_files, ScratchBackend):
        return team_files
    return CompositeBackend(team_files, {folder: ScratchBackend() for folder in SCRATCH})
