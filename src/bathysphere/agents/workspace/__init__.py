"""The agent `workspace`: works on a team's files in an object store; changes need approval."""

from bathysphere.agents.workspace.agent import WorkspaceConfig, spec

__all__ = ["WorkspaceConfig", "spec"]
