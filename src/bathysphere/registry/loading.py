"""Find the agents of a process: registered ones, and those of its targets."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from bathysphere.registry.agents import Agent, SpecFunction, SpecSource, agent_of, folder_agent
from bathysphere.registry.entry_points import Registration, registrations
from bathysphere.registry.errors import LoadError, load_failure
from bathysphere.registry.langgraph_json import GraphEntry
from bathysphere.registry.modules import add_to_import_path, import_target
from bathysphere.registry.selection import Selection
from bathysphere.registry.targets import FolderTarget


def load_agents(selection: Selection, *, is_only: bool = False) -> dict[str, Agent]:
    """Import what was selected and add the registered agents; a target replaces one of its name.

    Args:
        selection: The targets.
        is_only: Whether registered agents are left out.

    Raises:
        LoadError: A target cannot be loaded, or two have the same name.
    """
    found = {} if is_only else registered_agents()
    _prepare_imports(selection)
    found.update(_by_name(_load(entry) for entry in selection.entries()))
    return found


def load_one(selection: Selection, name: str | None) -> Agent:
    """Import one agent: the named one, or the first that was selected.

    Raises:
        LoadError: It cannot be loaded.
    """
    _prepare_imports(selection)
    for entry in selection.entries():
        if name is None or name == entry.target.listed_name:
            return _load(entry)
    return _registered(registrations()[name or ""])


def _prepare_imports(selection: Selection) -> None:
    for project in selection.projects:
        add_to_import_path([*project.paths, project.file.parent])


def registered_agents() -> dict[str, Agent]:
    """The registered agents by name; ours are imported at their first use.

    Raises:
        LoadError: An agent of another package cannot be loaded.
    """
    return {name: _registered(each) for name, each in registrations().items()}


def _registered(registration: Registration) -> Agent:
    entry, source = registration.entry, f"{registration.package} ({registration.entry.value})"
    if registration.is_built_in:

        def load() -> SpecFunction:
            function: SpecFunction = entry.load()
            return function

        return Agent(
            name=registration.name,
            source="built in",
            is_registered=True,
            content=SpecSource(load, built_in=registration.name),
            description=registration.description,
        )
    try:
        value = entry.load()
    except Exception as error:  # the code of a package may raise anything
        raise load_failure(source, error) from error
    agent = agent_of(value, source=source, attribute=entry.attr, name=registration.name)
    return replace(agent, is_registered=True)


def _load(entry: GraphEntry) -> Agent:
    target = entry.target
    if isinstance(target, FolderTarget):
        return folder_agent(target, about=entry.description)
    if target.is_built_in and (own := registrations().get(target.attribute)) is not None:
        return replace(_registered(own), name=target.listed_name)
    return agent_of(
        import_target(target),
        source=target.text,
        attribute=target.attribute,
        name=target.name,
        about=entry.description,
    )


def _by_name(agents: Iterable[Agent]) -> Mapping[str, Agent]:
    by_name: dict[str, Agent] = {}
    for agent in agents:
        other = by_name.setdefault(agent.name, agent)
        if other is not agent:
            raise LoadError(
                f"Two agents are named '{agent.name}': {other.source} and {agent.source}",
                hint="give one another name: NAME=TARGET",
            )
    return by_name
