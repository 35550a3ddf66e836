"""The agents as graphs for `langgraph dev`; `langgraph.json` refers to these functions.

That server provides the checkpointer. Settings are read when a graph is first requested, not at
import, and in a thread, because the server rejects code that blocks its event loop.
"""

import asyncio
from contextlib import suppress
from functools import cache

from bathysphere.agents import configured
from bathysphere.agents.research import ResearchConfig
from bathysphere.agents.research.settings import ResearchSettings
from bathysphere.agents.simple import SimpleConfig
from bathysphere.agents.tutor import TutorConfig
from bathysphere.cli.mcp_hub import configured_hub
from bathysphere.cli.simple_config import simple_config, tutor_config
from bathysphere.core.errors import ConfigError
from bathysphere.harness.build import Graph, build
from bathysphere.models.settings import ModelSettings


async def research() -> Graph:
    """Build the `research` agent."""
    return await asyncio.to_thread(_build, "research")


async def simple() -> Graph:
    """Build the `simple` agent."""
    return await asyncio.to_thread(_build, "simple")


async def tutor() -> Graph:
    """Build the `tutor` agent."""
    return await asyncio.to_thread(_build, "tutor")


async def workspace() -> Graph:
    """Build the `workspace` agent with files in graph state; `bathysphere serve` uses a bucket."""
    return await asyncio.to_thread(_build, "workspace")


@cache
def _build(name: str) -> Graph:
    models = ModelSettings.from_environment()
    config: ResearchConfig | SimpleConfig | TutorConfig | None = None
    if name == "research":
        config = ResearchSettings.from_environment().config(models, key=_key())
    elif name == "simple":
        config = simple_config(configured_hub())
    elif name == "tutor":
        config = tutor_config()
    return build(configured(name, models, config=config))


def _key() -> bytes | None:
    """Return this user's signing key, so that a pending plan can be approved after a restart.

    If no folder is writable, a temporary key is used until the process ends.
    """
    from bathysphere.cli.talk.research_session import (
        user_signing_key,
    )  # also loads the terminal modules

    with suppress(ConfigError):
        return user_signing_key()
    return None
