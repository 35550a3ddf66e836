"""The file subagent: lists, reads, searches, writes and edits files; changes need approval."""

from importlib.resources import files as resources

from bathysphere.agents.workspace.subagents.dependencies import Dependencies
from bathysphere.harness.spec import SubagentSpec
from bathysphere.middleware.file_approvals.middleware import FileApprovalsMiddleware

DESCRIPTION = (
    "Works on the team's files: lists, reads, searches, writes, edits and deletes them. Give it "
    "paths, or say what to look for. Changes wait for the person's approval."
)


def subagent(dependencies: Dependencies) -> SubagentSpec:
    """Describe the subagent."""
    text = resources(__name__).joinpath("prompt.md").read_text(encoding="utf-8")
    return SubagentSpec(
        name="files",
        description=DESCRIPTION,
        prompt=text.strip(),
        model=dependencies.model,
        tools=(),
        middleware=(
            *dependencies.guards,
            FileApprovalsMiddleware(dependencies.files, free=dependencies.scratch),
            *dependencies.reliability,
        ),
        approvals={},
    )
