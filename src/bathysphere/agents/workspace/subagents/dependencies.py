"""Dependencies that the workspace agent passes to its subagents' factories."""

from dataclasses import dataclass
from typing import Any

from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.language_models import BaseChatModel

from bathysphere.backends.conditional import VersionedBackend

Layers = tuple[AgentMiddleware[Any, Any, Any], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Dependencies:
    """Models, files and middleware for a specialist subagent."""

    model: BaseChatModel
    """The model of the role `subagent`; a specialist may use its own."""
    files: VersionedBackend
    """The team's files, without the agent's scratch folders."""
    scratch: tuple[str, ...]
    """The agent's own folders: writing there needs no approval."""
    guards: Layers
    """Middleware required in every subagent: confines it to the thread's workspace."""
    reliability: Layers
