"""An agent that a process serves, whatever it was made from."""

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from langgraph.graph.state import StateGraph
from langgraph.pregel import Pregel

from bathysphere.agents import configured_spec
from bathysphere.core.errors import ConfigError
from bathysphere.harness.spec import AgentSpec, GraphSpec, Spec
from bathysphere.registry.agent_folder import AgentFolder, read_agent_folder
from bathysphere.registry.errors import load_failure
from bathysphere.registry.factories import (
    Factory,
    Graph,
    factory_of,
    graph_of,
    not_an_agent,
    takes_models,
)
from bathysphere.registry.folder_check import check_agent_folder
from bathysphere.registry.targets import FolderTarget

if TYPE_CHECKING:
    from deepagents.backends.protocol import BackendProtocol

    from bathysphere.harness.web_tools import WebAccess
    from bathysphere.models.settings import ModelSettings
    from bathysphere.tools.mcp.hub import McpHub

SpecFunction = Callable[..., Spec]
"""`spec(*, models, backend, reliability, config)`: gets the models of the settings."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Agent:
    """An agent by name.

    Its content is a spec, a function that makes a spec from the settings' models, a compiled graph
    or a factory.
    """

    name: str
    source: str
    """Where it is from, for messages."""
    content: "Spec | SpecSource | Graph | Factory"
    description: str | None = None
    is_registered: bool = False
    """Whether a package registers it; otherwise it is a target."""


@dataclass(frozen=True, slots=True)
class SpecSource:
    """A spec function that is imported at its first use."""

    load: Callable[[], SpecFunction]
    built_in: str | None = None
    """The name of one of our own agents."""
    folder: AgentFolder | None = None
    """The agent folder that it is from."""


def resolve_agent(
    agent: Agent,
    settings: "ModelSettings",
    *,
    backend: "BackendProtocol | None" = None,
    config: Any = None,
    model: str | None = None,
    web: "WebAccess | None" = None,
    mcp: "McpHub | None" = None,
) -> Spec | Graph:
    """The agent's spec, with its models, or its compiled graph.

    Args:
        agent: The agent.
        settings: The models, unless the agent's folder chooses others.
        backend: Where the agent's files are stored.
        config: Agent-specific configuration.
        model: The main model, in place of both.
        web: How agents reach the web.
        mcp: The MCP servers of this process.

    Raises:
        LoadError: Its factory fails.
        ConfigError: One of the models cannot be built.
    """
    content = agent.content
    if isinstance(content, SpecSource):
        settings = agent_settings(agent, settings, model=model)
        if content.folder is not None:
            content.folder.check_mcp(mcp)
        try:
            return configured_spec(
                content.load(), settings, backend=backend, config=config, web=web, mcp=mcp
            )
        except ConfigError as error:
            if names_models(agent):
                raise load_failure(agent.source, error) from error
            raise
    return asyncio.run(content.describe()) if isinstance(content, Factory) else content


def agent_settings(
    agent: Agent, settings: "ModelSettings", *, model: str | None = None
) -> "ModelSettings":
    """The model settings of one agent: its folder's come first, then those of the process."""
    content = agent.content
    if isinstance(content, SpecSource) and content.folder is not None:
        settings = content.folder.settings(settings)
    return settings.model_copy(update={"main": model}) if model else settings


def uses_web(agent: Agent) -> bool:
    """Whether the agent is from a folder and has tools for the web."""
    folder = agent.content.folder if isinstance(agent.content, SpecSource) else None
    return folder is not None and folder.uses_web


def names_models(agent: Agent) -> bool:
    """Whether the agent's folder chooses models itself."""
    folder = agent.content.folder if isinstance(agent.content, SpecSource) else None
    return folder is not None and folder.names_models


def takes_main_model(agent: Agent) -> bool:
    """Whether the agent works with whichever main model it is given."""
    if not isinstance(agent.content, SpecSource):
        return False
    folder = agent.content.folder
    return folder is None or folder.source.content.models.main is None


def folder_agent(target: FolderTarget, *, about: str | None = None) -> Agent:
    """Make an agent of an agent folder.

    Raises:
        LoadError: Something in the folder is not valid; the message names the file and the line.
    """
    folder = read_agent_folder(target)
    check_agent_folder(folder)
    return Agent(
        name=folder.name,
        source=target.text,
        content=SpecSource(lambda: folder.spec, folder=folder),
        description=about or folder.description or None,
    )


def agent_of(
    value: Any, *, source: str, attribute: str, name: str | None = None, about: str | None = None
) -> Agent:
    """Make an agent of an attribute.

    Args:
        value: The attribute: a spec, a graph, a builder or a factory.
        source: Where it is from, for messages.
        attribute: Its name in the module.
        name: The agent's name; default: the spec's, or the attribute's.
        about: The description; default: the spec's, or the first line of the factory.

    Raises:
        LoadError: The attribute is something else.
    """
    if isinstance(value, AgentSpec | GraphSpec):
        own = name or value.name
        return Agent(
            name=own, source=source, content=value, description=about or value.description or None
        )
    own = name or attribute.rpartition(".")[2]
    if isinstance(value, StateGraph | Pregel):
        graph = graph_of(value, name=own, source=source)
        return Agent(name=own, source=source, content=graph, description=about)
    if inspect.isclass(value) or not callable(value):
        raise not_an_agent(value, source)
    about = about or _first_line(value)
    if takes_models(value, source):
        spec: SpecFunction = value
        return Agent(name=own, source=source, content=SpecSource(lambda: spec), description=about)
    factory = factory_of(value, name=own, source=source)
    return Agent(name=own, source=source, content=factory, description=about)


def _first_line(function: Any) -> str | None:
    text = inspect.getdoc(function) if inspect.isroutine(function) else None
    return text.splitlines()[0] if text else None
