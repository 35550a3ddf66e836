"""`bathysphere agents`: list the agents, or show one of them."""

import argparse

from bathysphere.cli.mcp_hub import local_hub
from bathysphere.cli.simple_config import config_of
from bathysphere.cli.targets import chosen_agent, find_selection, known_agents

HELP = "list the agents, or show the layers of one"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `agents [NAME]`."""
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="show this agent, by its name or as a target"
    )


def run(args: argparse.Namespace) -> int:
    """List the agents, or describe one of them."""
    if args.name is None:
        known = known_agents(find_selection())
        width = max(map(len, known))
        for name, about in known.items():
            print(f"{name:<{width}}  {about}")
        return 0
    agent = chosen_agent(args.name)
    from bathysphere.harness.describe import describe
    from bathysphere.models.settings import ModelSettings
    from bathysphere.registry.agents import resolve_agent

    mcp = local_hub()
    settings = ModelSettings.from_environment()
    found = resolve_agent(agent, settings, config=config_of(agent, mcp), mcp=mcp)
    print(describe(found, name=agent.name, about=agent.description))
    return 0
