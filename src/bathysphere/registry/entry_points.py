"""Agents that installed packages register, under the entry-point group `bathysphere.agents`.

    [project.entry-points."bathysphere.agents"]
    helper = "my_package.agents:helper"

Our own agents are registered the same way.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points

from bathysphere.agents import AGENTS

GROUP = "bathysphere.agents"
OWN = "bathysphere"


@dataclass(frozen=True, kw_only=True, slots=True)
class Registration:
    """An agent as a package registers it; reading it imports nothing of the package."""

    name: str
    entry: EntryPoint
    package: str

    @property
    def is_built_in(self) -> bool:
        """Whether the agent is one of ours."""
        return self.package == OWN

    @property
    def description(self) -> str | None:
        """The description, if it is known without importing the agent."""
        return AGENTS.get(self.name) if self.is_built_in else None


def registrations() -> Mapping[str, Registration]:
    """All registered agents by name, ours first; a package cannot replace one of ours."""
    found = [_registration(entry) for entry in entry_points(group=GROUP)]
    if not any(each.is_built_in for each in found):
        found += [_registration(entry) for entry in _own_entries()]
    found.sort(key=lambda each: (not each.is_built_in, each.name, each.package))
    by_name: dict[str, Registration] = {}
    for each in found:
        by_name.setdefault(each.name, each)
    return by_name


def _registration(entry: EntryPoint) -> Registration:
    package = entry.dist.name if entry.dist is not None else OWN
    return Registration(name=entry.name, entry=entry, package=package)


def _own_entries() -> list[EntryPoint]:
    """Our entries where the installation is older than they are.

    The metadata of an editable installation is as old as its last `make setup`.
    """
    return [EntryPoint(name, f"bathysphere.agents.{name}:spec", GROUP) for name in AGENTS]
