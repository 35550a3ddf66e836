"""What a command was told to load; nothing of it has been imported."""

from dataclasses import dataclass
from pathlib import Path

from bathysphere.registry.errors import LoadError
from bathysphere.registry.langgraph_json import GraphEntry, Project
from bathysphere.registry.targets import AgentTarget, AttributeTarget, FolderTarget


@dataclass(frozen=True, kw_only=True, slots=True)
class Selection:
    """Agents that were named one by one, and projects with their `langgraph.json`."""

    agents: tuple[AgentTarget, ...] = ()
    projects: tuple[Project, ...] = ()

    def http_app(self) -> AttributeTarget | None:
        """The routes of the projects' own app.

        Raises:
            LoadError: Two projects have one.
        """
        apps = [project.http_app for project in self.projects if project.http_app is not None]
        if len(apps) > 1:
            texts = " and ".join(app.text for app in apps)
            raise LoadError(f"Two projects set 'http.app': {texts}", hint="serve one of them")
        return apps[0] if apps else None

    def folders(self) -> list[Path]:
        """The folders with the files that the agents are made of."""
        found = [path for each in self.projects for path in (each.file.parent, *each.paths)]
        for entry in self.entries():
            target = entry.target
            found.append(target.folder)
            if isinstance(target, FolderTarget):
                found.append(target.project)
        return list(dict.fromkeys(found))

    def entries(self) -> list[GraphEntry]:
        """All graphs, in the order in which they were named."""
        named = [GraphEntry(target=target) for target in self.agents]
        return named + [entry for project in self.projects for entry in project.graphs]
