"""What a specialist is made of, given by the agent that sends it out."""

from dataclasses import dataclass
from typing import Any

from deepagents.backends.protocol import BackendProtocol
from langchain.agents.middleware.types import AgentMiddleware
from langchain_core.language_models import BaseChatModel

Layers = tuple[AgentMiddleware[Any, Any, Any], ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Parts:
    """Parts to choose from."""

    model: BaseChatModel
    """The fast one; a specialist may have its own."""
    files: BackendProtocol
    """The team's files, without the agent's scratch folders."""
    scratch: tuple[str, ...]
    """Folders that are the agent's own: what is written there waits for nobody."""
    guards: Layers
    """Layers every specialist must have: they hold it to the thread's workspace."""
    reliability: Layers
