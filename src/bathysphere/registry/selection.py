"""What a command was told to load; nothing of it has been imported."""

from dataclasses import dataclass

from bathysphere.registry.langgraph_json import GraphEntry, Project
from bathysphere.registry.targets import AttributeTarget


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """Attributes that were named one by one, and projects with their `langgraph.json`."""

    attributes: tuple[AttributeTarget, ...] = ()
    projects: tuple[Project, ...] = ()

    def entries(self) -> list[GraphEntry]:
        """All graphs, in the order in which they were named."""
        named = [GraphEntry(target=target) for target in self.attributes]
        return named + [entry for project in self.projects for entry in project.graphs]
