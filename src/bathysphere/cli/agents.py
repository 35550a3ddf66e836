"""`bathysphere agents`: list the agents, or show one of them."""

import argparse
from itertools import groupby
from typing import TYPE_CHECKING

from bathysphere.cli.mcp_hub import local_hub
from bathysphere.cli.simple_config import config_of
from bathysphere.cli.targets import chosen_agent, find_selection, known_agents

if TYPE_CHECKING:
    from bathysphere.harness.prompt_cost import PromptCost
    from bathysphere.harness.spec import Spec
    from bathysphere.registry.factories import Graph

HELP = "list the agents, or show the layers of one"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare `agents [NAME] [--tokens]`."""
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="show this agent, by its name or as a target"
    )
    parser.add_argument(
        "--tokens",
        action="store_true",
        help="show what each part of the agent's first prompt costs, in tokens (estimated)",
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
    if args.tokens:
        return _print_tokens(found, agent.name)
    print(describe(found, name=agent.name, about=agent.description))
    return 0


def _print_tokens(found: "Spec | Graph", name: str) -> int:
    """Print the cost of each part of the first prompt, then of each source."""
    import asyncio

    from bathysphere.core.errors import CallerError
    from bathysphere.harness.prompt_cost import prompt_costs
    from bathysphere.harness.spec import AgentSpec, GraphSpec

    if not isinstance(found, AgentSpec | GraphSpec):
        raise CallerError(
            f"The prompt of '{name}' is not known: it is a compiled graph",
            hint="only agents that are specs can be counted",
        )
    costs = asyncio.run(prompt_costs(found))
    if isinstance(found, GraphSpec):
        _print_rows([(cost.part, "node", cost.tokens) for cost in costs])
        print(f"\nLargest prompt of a node: {costs[0].tokens} tokens")
    else:
        _print_rows([(cost.part, cost.source, cost.tokens) for cost in costs])
        print("\nby source")
        _print_rows([(source, "", tokens) for source, tokens in _by_source(costs)])
        print(f"\nFirst prompt: {sum(cost.tokens for cost in costs)} tokens")
    print("Estimated at four characters per token; `make bench-prompt` counts with a tokenizer.")
    return 0


def _by_source(costs: "list[PromptCost]") -> list[tuple[str, int]]:
    ordered = sorted(costs, key=lambda cost: cost.source)
    sums = [
        (source, sum(cost.tokens for cost in group))
        for source, group in groupby(ordered, key=lambda cost: cost.source)
    ]
    return sorted(sums, key=lambda pair: -pair[1])


def _print_rows(rows: list[tuple[str, str, int]]) -> None:
    width = max(len(part) for part, _, _ in rows)
    for part, source, tokens in rows:
        print(f"{tokens:>6}  {part:<{width}}  {source}".rstrip())
