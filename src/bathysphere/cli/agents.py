"""`bathysphere agents`: list the built-in agents, or show the layers of one."""

import argparse

HELP = "list the agents, or show the layers of one"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `agents [NAME]`."""
    parser.add_argument("name", nargs="?", help="show this agent, layer by layer")


def run(args: argparse.Namespace) -> int:
    """List the agents, or describe one of them."""
    from bathysphere.agents import AGENTS, configured

    if args.name is None:
        width = max(map(len, AGENTS))
        for name, about in AGENTS.items():
            print(f"{name:<{width}}  {about}")
        return 0
    from bathysphere.harness.describe import describe
    from bathysphere.models.settings import ModelSettings

    print(describe(configured(args.name, ModelSettings.from_environment())))
    return 0
