"""The agents as graphs for `langgraph dev`; `langgraph.json` refers to these functions.

That server brings its own checkpointer, so none is compiled in. Settings are read when a graph is
first asked for, not at import, and in a thread: that server refuses what blocks its event loop.
"""

import asyncio
from contextlib import suppress
from functools import cache

from bathysphere.agents import configured
from bathysphere.agents.research.settings import ResearchSettings
from bathysphere.core.errors import ConfigError
from bathysphere.harness.build import Graph, build
from bathysphere.models.settings import ModelSettings


async def research() -> Graph:
    """The `research` agent."""
    return await asyncio.to_thread(_build, "research")


async def simple() -> Graph:
    """The `simple` agent."""
    return await asyncio.to_thread(_build, "simple")


async def tutor() -> Graph:
    """The `tutor` agent."""
    return await asyncio.to_thread(_build, "tutor")


async def workspace() -> Graph:
    """The `workspace` agent, on files in graph state; `bathysphere serve` gives it a bucket."""
    return await asyncio.to_thread(_build, "workspace")


@cache
def _build(name: str) -> Graph:
    models = ModelSettings.from_environment()
    config = None
    if name == "research":
        config = ResearchSettings.from_environment().config(models, key=_key())
    return build(configured(name, models, config=config))


def _key() -> bytes | None:
    """This user's key: a plan that waits for approval can still be approved after a restart.

    Without a folder to keep one in, a key of this process does until the process ends.
    """
    from bathysphere.cli.talk.research_session import (
        user_signing_key,
    )  # the terminal is loaded with it

    with suppress(ConfigError):
        return user_signing_key()
    return None
