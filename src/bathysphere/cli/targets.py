"""The targets of a command: which agents it serves, runs or lists.

They come from the command line, from `BATHYSPHERE_TARGETS`, or from the `langgraph.json` or
`agent.toml` of the working folder, in this order. Nothing of the agent stack is imported before an
agent is loaded.
"""

import argparse
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bathysphere.agents import real_name
from bathysphere.core.errors import CallerError
from bathysphere.registry.targets import (
    AGENT_FILE,
    CONFIG_FILE,
    FORMS,
    AttributeTarget,
    ConfigTarget,
    parse_target,
)

if TYPE_CHECKING:
    from bathysphere.registry.agents import Agent
    from bathysphere.registry.langgraph_json import Project
    from bathysphere.registry.selection import Selection
    from bathysphere.registry.targets import AgentTarget

VARIABLE = "BATHYSPHERE_TARGETS"


def add_targets(parser: argparse.ArgumentParser) -> None:
    """Declare `[TARGET …]` and `--only`."""
    parser.add_argument(
        "targets",
        nargs="*",
        metavar="TARGET",
        help=f"agents to load: {FORMS} or a {CONFIG_FILE} "
        f"(default: {CONFIG_FILE} or {AGENT_FILE} in this folder, if it exists)",
    )
    parser.add_argument("--only", action="store_true", help="leave out the agents of packages")


def find_selection(words: Sequence[str] = ()) -> "Selection":
    """Read the targets without importing them, and set the variables of their projects.

    Raises:
        LoadError: A target or a `langgraph.json` is not valid.
    """
    from bathysphere.registry.langgraph_json import read_project
    from bathysphere.registry.selection import Selection

    folder = Path.cwd()
    words = list(words) or os.environ.get(VARIABLE, "").split()
    if not words and any((folder / name).is_file() for name in (CONFIG_FILE, AGENT_FILE)):
        words = ["."]
    agents: list[AgentTarget] = []
    projects: list[Project] = []
    for word in words:
        target = parse_target(word, folder=folder)
        if isinstance(target, ConfigTarget):
            projects.append(read_project(target.file))
            _set_variables(projects[-1])
        else:
            agents.append(target)
    return Selection(agents=tuple(agents), projects=tuple(projects))


def served_agents(selection: "Selection", *, is_only: bool) -> "dict[str, Agent]":
    """Load the agents of `serve` and `worker`, and say which are from targets.

    Raises:
        LoadError: A target cannot be loaded.
    """
    if is_only and not selection.entries():
        raise CallerError("--only needs a target", hint="name one, or leave out --only")
    for project in selection.projects:
        if project.image_keys:
            keys = ", ".join(project.image_keys)
            print(f"{project.file}: only for container images, not used: {keys}.", file=sys.stderr)
    from bathysphere.registry.entry_points import registrations
    from bathysphere.registry.loading import load_agents

    agents = load_agents(selection, is_only=is_only)
    known = registrations()
    for name, agent in agents.items():
        if not agent.is_registered:
            instead = f", in place of {known[name].package}'s" if name in known else ""
            print(f"Loaded {name} from {agent.source}{instead}.", file=sys.stderr)
    return agents


def known_agents(selection: "Selection") -> Mapping[str, str]:
    """Names and descriptions of all agents, without importing them."""
    from bathysphere.registry.entry_points import registrations

    found = {
        name: each.description or f"from {each.package}" for name, each in registrations().items()
    }
    for entry in selection.entries():
        target = entry.target
        about = entry.description or target.listed_description
        if isinstance(target, AttributeTarget) and target.is_built_in:
            about = about or found.get(target.attribute)
        found[target.listed_name] = about or f"from {target.text}"
    return found


def chosen_agent(word: str | None, *, default: str | None = None) -> "Agent":
    """Load the one agent that a command is about: by name or by target.

    Without a word, the first graph of the folder's project, or the default agent.

    Raises:
        CallerError: No agent has this name.
        LoadError: The agent cannot be loaded.
    """
    if word is not None and _is_target(word):
        selection = find_selection([word])
        name = None
    else:
        selection = find_selection()
        known = known_agents(selection)
        name = word or _first_name(selection) or default
        name = real_name(name, known) if name is not None else None
        if name not in known:
            raise CallerError(f"Unknown agent: {name}", hint=f"choose {', '.join(sorted(known))}")
    from bathysphere.registry.loading import load_one

    return load_one(selection, name)


def _is_target(word: str) -> bool:
    """Whether a word is a target and not a name: names have neither a colon nor a slash."""
    return ":" in word or "/" in word or (Path(word) / AGENT_FILE).is_file()


def _first_name(selection: "Selection") -> str | None:
    targets = [each.target for each in selection.entries() if not each.target.is_built_in]
    return targets[0].listed_name if targets else None


def _set_variables(project: "Project") -> None:
    """Set the variables of a project; those that are set already win."""
    new = {name: value for name, value in project.env.items() if name not in os.environ}
    os.environ.update(new)
    if new:
        place = project.env_file or project.file
        print(f"Read {', '.join(sorted(new))} from {place}.", file=sys.stderr)
