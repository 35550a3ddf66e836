"""The simple agent's spec: the default stack, one subagent, and the person's documents.

Creating a file of its own needs no approval; replacing, editing or deleting one does. With an
external backend, every write needs approval. Changes to the person's documents are approved on
their device. Tools for the web are off by default; those of MCP servers are there if configured.
"""

from dataclasses import dataclass, field, replace
from importlib.resources import files as resources
from pathlib import Path
from typing import Any

from deepagents.backends.protocol import BackendProtocol
from deepagents.backends.utils import validate_path
from langchain.agents.middleware import InterruptOnConfig
from langchain.agents.middleware.types import AgentMiddleware, ToolCallRequest

from bathysphere.backends.scratch import ScratchBackend
from bathysphere.core.usage import Limits
from bathysphere.flow import FlowPolicy
from bathysphere.harness.skills import SKILLS_PATH, with_skills
from bathysphere.harness.spec import GENERAL_PURPOSE, AgentSpec
from bathysphere.harness.web_tools import WebAccess
from bathysphere.middleware.approvals import Approval
from bathysphere.middleware.clarify import ClarifyMiddleware
from bathysphere.middleware.client_files import ClientFilesMiddleware
from bathysphere.middleware.mcp import McpMiddleware
from bathysphere.middleware.memories import (
    HELPERS,
    MemoriesMiddleware,
    MemoryMode,
    with_note_approvals,
)
from bathysphere.models.resolve import Models
from bathysphere.tools.mcp.hub import McpHub

NAME = "simple"


@dataclass(frozen=True, kw_only=True, slots=True)
class SimpleConfig:
    """Options that a deployment can change."""

    approvals: tuple[str, ...] = ("write_file", "edit_file", "delete")
    """Tools that need approval, in the agent and its subagents."""
    max_questions: int = 3
    """Maximum number of questions to the person per run."""
    limits: Limits = field(default_factory=Limits)
    web: WebAccess | None = None
    """How the agent reaches the web; without it, it has no tools for the web."""
    skills: Path | None = None
    """A folder of skills, which the agent can read only."""
    memories: MemoryMode = "opt-in"
    """Whether the agent keeps notes about people."""
    mcp: McpHub | None = None
    """The MCP servers of this process."""
    flow: FlowPolicy | None = field(default_factory=FlowPolicy)
    """Flow control; None turns it off."""


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
    mcp = _mcp_layers(config.mcp)
    shared = (*mcp, *reliability)
    files = backend or ScratchBackend()
    has_memory = config.memories != "off"
    is_lean = models.profile == "lean"
    return AgentSpec(
        name=NAME,
        description="Plans, works with your documents, sends out helpers; asks before changes.",
        model=models.main,
        subagent_model=models.subagent,
        summary_model=models.summary,
        prompt=_text("lean.md" if is_lean else "prompt.md")
        + (f"\n\n{_text('web.md')}" if config.web else ""),
        tools=tuple(config.web.tools().values()) if config.web else (),
        subagents=(
            replace(
                GENERAL_PURPOSE,
                middleware=shared,
                permissions=HELPERS if has_memory else None,
            ),
        ),
        backend=with_skills(files, config.skills) if config.skills else files,
        skills=(SKILLS_PATH,) if config.skills else (),
        middleware=(
            ClarifyMiddleware(max_questions=config.max_questions, choices=not is_lean),
            ClientFilesMiddleware(lean=is_lean),
            *((MemoriesMiddleware(config.memories),) if has_memory else ()),
            *shared,
        ),
        approvals=with_note_approvals(approvals, always=bool(mcp)) if has_memory else approvals,
        flow=config.flow,
        limits=config.limits,
        profile=models.profile,
    )


def _mcp_layers(hub: McpHub | None) -> tuple[McpMiddleware, ...]:
    servers = hub.config.for_agent(NAME) if hub is not None else ()
    return (McpMiddleware(hub, servers),) if hub is not None and servers else ()


def _text(name: str) -> str:
    file = resources("bathysphere.agents.simple").joinpath(name)
    return file.read_text(encoding="utf-8").strip()


def _replaces_file(request: ToolCallRequest) -> bool:
    try:
        path = validate_path(str(request.tool_call["args"].get("file_path")))
    except ValueError:
        return False  # the tool rejects such a path
    stored = (request.state.get("files") or {}).get(path)
    return stored is not None and not stored.get("deleted")
