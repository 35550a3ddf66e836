"""The built-in agents: each a package with a prompt and a `spec()`.

They are registered under the entry-point group `bathysphere.agents`, as those of other packages.

Most return an `AgentSpec`, which runs on the harness's loop; an agent with a fixed flow returns a
`GraphSpec`. `build`, `describe` and the server accept either.
"""

from collections.abc import Container
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from bathysphere.core.errors import CallerError

if TYPE_CHECKING:
    from collections.abc import Callable

    from deepagents.backends.protocol import BackendProtocol
    from langchain.agents.middleware.types import AgentMiddleware

    from bathysphere.harness.spec import Spec
    from bathysphere.harness.web_tools import WebAccess
    from bathysphere.models.resolve import Models
    from bathysphere.models.settings import ModelSettings
    from bathysphere.tools.mcp.hub import McpHub

AGENTS = {
    "research": "a question, an audited plan that you approve, a report whose quotes are checked",
    "simple": "the smallest agent that uses the whole harness: plans, keeps files, sends out help",
    "tutor": "a Socratic dialogue that develops and tests your argument, on a map that you own",
    "workspace": "works on a team's files in an object store; every change waits for a person",
}
"""Name (folder, graph, command line argument, URL segment) → one-line description."""

ALIASES = {"deeptutor": "tutor", "seminar_agent": "tutor", "simple_agent": "simple"}
"""Names of the founding documents → the agents that took their place; not listed anywhere."""


class AgentModule(Protocol):
    """Interface of an agent package."""

    def spec(
        self,
        *,
        models: "Models",
        backend: "BackendProtocol | None" = None,
        reliability: "tuple[AgentMiddleware[Any, Any, Any], ...]" = (),
        config: Any = None,
    ) -> "Spec":
        """Describe the agent, without running it or reading the environment."""
        ...


def load(name: str) -> AgentModule:
    """Import the package of the agent `name`.

    Raises:
        CallerError: If the agent is unknown; the hint lists the available ones.
    """
    return import_module(f"{__name__}.{known_agent(name)}")


def known_agent(name: str) -> str:
    """Return the name of an agent or of an alias's agent, without loading the agent stack.

    Raises:
        CallerError: If the agent is unknown; the hint lists the available ones.
    """
    name = real_name(name, AGENTS)
    if name not in AGENTS:
        raise CallerError(f"Unknown agent: {name}", hint=f"choose {', '.join(AGENTS)}")
    return name


def real_name(name: str, served: Container[str]) -> str:
    """Return the name of the agent that an alias means, if that one is served.

    An agent that is served under the alias itself takes precedence.
    """
    real = ALIASES.get(name)
    return real if real is not None and name not in served and real in served else name


def configured(
    name: str,
    settings: "ModelSettings",
    *,
    backend: "BackendProtocol | None" = None,
    config: Any = None,
    models: "Models | None" = None,
) -> "Spec":
    """Return the spec of an agent, with the models, retries and fallbacks from the settings.

    Args:
        name: The agent's name.
        settings: Models, and how they are called.
        backend: Where the agent's files are stored.
        config: Agent-specific configuration, such as a `ResearchConfig`.
        models: Models in place of those of the settings.

    Raises:
        CallerError: If the agent is unknown.
        ConfigError: If one of the models cannot be built.
    """
    function = load(name).spec
    return configured_spec(function, settings, backend=backend, config=config, models=models)


def configured_spec(
    function: "Callable[..., Spec]",
    settings: "ModelSettings",
    *,
    backend: "BackendProtocol | None" = None,
    config: Any = None,
    web: "WebAccess | None" = None,
    mcp: "McpHub | None" = None,
    models: "Models | None" = None,
) -> "Spec":
    """The spec that a function makes from the settings' models.

    It gets those of `AgentModule.spec`'s arguments, `web` and `mcp`, that it has parameters for.

    Raises:
        ConfigError: If one of the models cannot be built.
    """
    from inspect import signature

    from bathysphere.middleware.reliability import reliability
    from bathysphere.models.resolve import Models

    models = models or Models.from_settings(settings)
    layers = reliability(settings, fallback=models.fallback)
    given = {"models": models, "backend": backend, "reliability": layers, "config": config}
    given |= {"web": web, "mcp": mcp}
    known = signature(function).parameters
    spec = function(**{name: value for name, value in given.items() if name in known})
    return _with_models(spec, models)


def _with_models(spec: "Spec", models: "Models") -> "Spec":
    """Return the spec with the models of single subagents, and the profile of the main model."""
    from dataclasses import replace

    from bathysphere.harness.spec import AgentSpec, SubagentSpec
    from bathysphere.models.settings import subagent_key

    if not isinstance(spec, AgentSpec):
        return spec
    named = models.subagents
    subagents = tuple(
        replace(sub, model=named[subagent_key(sub.name)])
        if isinstance(sub, SubagentSpec) and subagent_key(sub.name) in named
        else sub
        for sub in spec.subagents
    )
    profile = "lean" if models.profile == "lean" else spec.profile
    return replace(spec, subagents=subagents, profile=profile)
