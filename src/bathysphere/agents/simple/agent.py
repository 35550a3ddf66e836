"""The simple agent as data: the default stack, one helper to send out, changes that wait for you.

New files are the agent's own business; replacing, changing or deleting one waits for the person's
word. Where the files are not the agent's own (a backend was given), every write waits.
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
from bathysphere.models.resolve import Models


@dataclass(frozen=True, kw_only=True, slots=True)
class SimpleConfig:
    """What a deployment may change."""

    approvals: tuple[str, ...] = ("write_file", "edit_file", "delete")
    """Tools that wait for the person's word, in the agent and in the helpers it sends out."""
    max_questions: int = 3
    """How often it may ask the person in one run."""
    limits: Limits = field(default_factory=Limits)


def spec(
    *,
    models: Models,
    backend: BackendProtocol | None = None,
    reliability: tuple[AgentMiddleware[Any, Any, Any], ...] = (),
    config: SimpleConfig | None = None,
) -> AgentSpec:
    """Describe the agent; nothing runs and nothing is read from the environment.

    Args:
        models: A chat model for each role.
        backend: Where the files are; in graph state if not given.
        reliability: Layers that retry and replace a failing model, for every agent of the tree.
        config: What this deployment changes.
    """
    config = config or SimpleConfig()
    approvals: dict[str, Approval] = dict.fromkeys(config.approvals, True)
    if backend is None and "write_file" in approvals:
        approvals["write_file"] = InterruptOnConfig(
            allowed_decisions=["approve", "edit", "reject", "respond"], when=_replaces_a_file
        )
    return AgentSpec(
        name="simple",
        description="Plans, keeps files, sends out helpers; asks before it changes a file.",
        model=models.main,
        subagent_model=models.subagent,
        summary_model=models.summary,
        prompt=files("bathysphere.agents.simple")
        .joinpath("prompt.md")
        .read_text(encoding="utf-8")
        .strip(),
        subagents=(replace(GENERAL_PURPOSE, middleware=reliability),),
        backend=backend or ScratchBackend(),
        middleware=(ClarifyMiddleware(max_questions=config.max_questions), *reliability),
        approvals=approvals,
        limits=config.limits,
    )


def _replaces_a_file(request: ToolCallRequest) -> bool:
    try:
        path = validate_path(str(request.tool_call["args"].get("file_path")))
    except ValueError:
        return False  # the tool refuses such a path
    stored = (request.state.get("files") or {}).get(path)
    return stored is not None and not stored.get("deleted")
