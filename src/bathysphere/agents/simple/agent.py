"""The simple agent's spec: the default stack, one subagent, and the person's documents.

Creating a file of its own needs no approval; replacing, editing or deleting one does. With an
external backend, every write needs approval. Changes to the person's documents are approved on
their device.
"""

from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any

from deepagents.backends.protocol import BackendProtocol
from deepagents.backends.utils import validate_path
from langchain.agents.middleware import InterruptOnConfig
from langchain.agents.middleware.types import AgentMiddleware, ToolCallRequest

from bathysphere.backends.scratch import ScratchBackend
from bathysphere.core.usage import Limits
from bathysphere.harness.spec import GENERAL_PURPOSE, AgentSpec
from bathysphere.middleware.approvals import Approval
from bathysphere.middleware.clarify import ClarifyMiddleware
from bathysphere.middleware.client_files import ClientFilesMiddleware
from bathysphere.models.resolve import Models


@dataclass(frozen=True, kw_only=True, slots=True)
class SimpleConfig:
    """Options that a deployment can change."""

    approvals: tuple[str, ...] = ("write_file", "edit_file", "delete")
    """Tools that need approval, in the agent and its subagents."""
    max_questions: int = 3
    """Maximum number of questions to the person per run."""
    limits: Limits = field(default_factory=Limits)


def spec(
    *,
    models: Models,
    backend: BackendProtocol | None = None,
    reliability: tuple[AgentMiddleware[Any, Any, Any], ...] = (),
    config: SimpleConfig | None = None,
) -> AgentSpec:
    """Describe the agent, without running it or reading the environment.

    Args:
        models: A chat model for each role.
        backend: File storage; graph state by default.
        reliability: Layers that retry or replace a failing model, for all agents in the tree.
        config: Options of this deployment.
    """
    config = config or SimpleConfig()
    approvals: dict[str, Approval] = dict.fromkeys(config.approvals, True)
    if backend is None and "write_file" in approvals:
        approvals["write_file"] = InterruptOnConfig(
            allowed_decisions=["approve", "edit", "reject", "respond"], when=_replaces_file
        )
    return AgentSpec(
        name="simple",
        description="Plans, works with your documents, sends out helpers; asks before changes.",
        model=models.main,
        subagent_model=models.subagent,
        summary_model=models.summary,
        prompt=files("bathysphere.agents.simple")
        .joinpath("prompt.md")
        .read_text(encoding="utf-8")
        .strip(),
        subagents=(replace(GENERAL_PURPOSE, middleware=reliability),),
        backend=backend or ScratchBackend(),
        middleware=(
            ClarifyMiddleware(max_questions=config.max_questions),
            ClientFilesMiddleware(),
            *reliability,
        ),
        approvals=approvals,
        limits=config.limits,
    )


def _replaces_file(request: ToolCallRequest) -> bool:
    try:
        path = validate_path(str(request.tool_call["args"].get("file_path")))
    except ValueError:
        return False  # the tool rejects such a path
    stored = (request.state.get("files") or {}).get(path)
    return stored is not None and not stored.get("deleted")
