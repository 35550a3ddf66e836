"""The agents that ship: each a folder with its prompt and a `spec()`, and one line here.

Most describe themselves as an `AgentSpec`, on the harness's loop; one whose flow is fixed describes
itself as a `GraphSpec`. What follows (`build`, `describe`, serving) takes either.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from bathysphere.core.errors import CallerError

if TYPE_CHECKING:
    from deepagents.backends.protocol import BackendProtocol
    from langchain.agents.middleware.types import AgentMiddleware

    from bathysphere.harness.spec import Spec
    from bathysphere.models.resolve import Models
    from bathysphere.models.settings import ModelSettings

AGENTS = {
    "research": "a question, an audited plan that you approve, a report whose quotes are checked",
    "simple": "the smallest agent that uses the whole harness: plans, keeps files, sends out help",
    "tutor": "a Socratic dialogue that develops and tests your argument, on a map that you own",
    "workspace": "works on a team's files in an object store; every change waits for a person",
}
"""Name (folder, graph, command line argument, URL segment) → what it is for, in one line."""


class AgentModule(Protocol):
    """What the package of an agent offers."""

    def spec(
        self,
        *,
        models: "Models",
        backend: "BackendProtocol | None" = None,
        reliability: "tuple[AgentMiddleware[Any, Any, Any], ...]" = (),
        config: Any = None,
    ) -> "Spec":
        """Describe the agent; nothing runs and nothing is read from the environment."""
        ...


def load(name: str) -> AgentModule:
    """Import the package of the agent `name`.

    Raises:
        CallerError: If there is no such agent; the hint lists those there are.
    """
    if name not in AGENTS:
        raise CallerError(f"there is no agent called {name!r}", hint=f"choose {', '.join(AGENTS)}")
    return import_module(f"{__name__}.{name}")


def configured(
    name: str,
    settings: "ModelSettings",
    *,
    backend: "BackendProtocol | None" = None,
    config: Any = None,
) -> "Spec":
    """The agent `name` with the models that the settings choose, retried and replaced as they say.

    Args:
        name: The agent.
        settings: Which models, and how they are called.
        backend: Where its files are.
        config: What the agent itself lets a deployment choose, such as a `ResearchConfig`.

    Raises:
        CallerError: If there is no such agent.
        ConfigError: If one of the models cannot be built.
    """
    agent = load(name)
    from bathysphere.models.reliability import reliability
    from bathysphere.models.resolve import Models

    models = Models.from_settings(settings)
    layers = reliability(settings, fallback=models.fallback)
    return agent.spec(models=models, backend=backend, reliability=layers, config=config)
