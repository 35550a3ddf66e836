"""The configuration of the agents `simple` and `tutor` for commands that run one agent."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bathysphere.agents.simple import SimpleConfig
    from bathysphere.agents.tutor import TutorConfig
    from bathysphere.registry.agents import Agent
    from bathysphere.tools.mcp.hub import McpHub


def config_of(agent: "Agent", mcp: "McpHub | None" = None) -> "SimpleConfig | TutorConfig | None":
    """The configuration of `simple` or `tutor`; None for any other agent."""
    from bathysphere.registry.agents import SpecSource

    content = agent.content
    name = content.built_in if isinstance(content, SpecSource) else None
    if name == "tutor":
        return tutor_config()
    return simple_config(mcp) if name == "simple" else None


def tutor_config() -> "TutorConfig":
    """The configuration of `tutor` from the environment."""
    from bathysphere.agents.tutor import TutorConfig
    from bathysphere.middleware.memories.settings import MemorySettings

    return TutorConfig(memories=MemorySettings.from_environment().memories)


def simple_config(mcp: "McpHub | None" = None) -> "SimpleConfig":
    """The configuration of `simple` from the environment.

    The settings of searching are read only if the agent has tools for the web.
    """
    from dataclasses import replace

    from bathysphere.agents.simple.settings import SimpleSettings
    from bathysphere.harness.web_tools import WebAccess
    from bathysphere.middleware.memories.settings import MemorySettings

    settings, access = SimpleSettings.from_environment(), WebAccess()
    if settings.web != "off":
        from bathysphere.agents.research.settings import ResearchSettings

        access = ResearchSettings.from_environment().web_access()
    config = settings.config(access, mcp=mcp)
    return replace(config, memories=MemorySettings.from_environment().memories)
