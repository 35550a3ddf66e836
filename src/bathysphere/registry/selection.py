"""What a command was told to load; nothing of it has been imported."""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from bathysphere.registry.errors import LoadError
from bathysphere.registry.langgraph_json import GraphEntry, Project
from bathysphere.registry.project_sections import Expiry, StoreIndex
from bathysphere.registry.targets import AgentTarget, AttributeTarget, FolderTarget

_Setting = TypeVar("_Setting")


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
        return self._one("http.app", [project.http_app for project in self.projects])

    def auth(self) -> AttributeTarget | None:
        """The projects' own authentication.

        Raises:
            LoadError: Two projects have one.
        """
        return self._one("auth.path", [project.auth for project in self.projects])

    def store_index(self) -> StoreIndex | None:
        """How items of the store are found by meaning.

        Raises:
            LoadError: Two projects say it.
        """
        return self._one("store.index", [project.store_index for project in self.projects])

    def store_ttl(self) -> Expiry | None:
        """When items of the store expire.

        Raises:
            LoadError: Two projects say it.
        """
        return self._one("store.ttl", [project.store_ttl for project in self.projects])

    def thread_ttl(self) -> Expiry | None:
        """When threads expire.

        Raises:
            LoadError: Two projects say it.
        """
        return self._one("checkpointer.ttl", [project.thread_ttl for project in self.projects])

    def _one(self, key: str, values: list[_Setting | None]) -> _Setting | None:
        """The setting of the only project that has it: a server has one of each."""
        found = [value for value in values if value is not None]
        if len(found) > 1:
            files = " and ".join(str(project.file) for project in self.projects)
            raise LoadError(f"Two projects set '{key}': {files}", hint="serve one of them")
        return found[0] if found else None

    def settings(self) -> tuple[object, ...]:
        """All settings beside the graphs, to compare."""
        return (
            self.http_app(),
            self.auth(),
            self.store_index(),
            self.store_ttl(),
            self.thread_ttl(),
        )

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
