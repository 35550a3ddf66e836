"""The tools of an agent folder: ours by name, and those in Python by `file.py:attribute`."""

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from langchain_core.tools import BaseTool, tool

from bathysphere.core.errors import missing_extra
from bathysphere.harness.web_tools import FETCH_PAGE, WEB_TOOLS, WebAccess
from bathysphere.registry.agent_file import AgentSource, suggestion
from bathysphere.registry.errors import LoadError
from bathysphere.registry.modules import import_target
from bathysphere.registry.targets import FolderTarget, parse_attribute

ASK = ("ask_user", "ask_choices")
"""Names of the tools with which an agent asks the person; one layer provides both."""


@dataclass(frozen=True, kw_only=True, slots=True)
class FolderTools:
    """The tools of an agent."""

    own: tuple[BaseTool, ...] = ()
    """Those in Python."""
    web: tuple[str, ...] = ()
    """Names of those for the web."""
    asks: bool = False
    """Whether the agent may ask the person."""

    def tools(self, web: WebAccess) -> tuple[BaseTool, ...]:
        """All tools but those that ask."""
        known = web.tools() if self.web else {}
        return (*(known[name] for name in self.web), *self.own)


def load_tools(
    target: FolderTarget, source: AgentSource, names: Sequence[str], *place: str
) -> FolderTools:
    """Import the tools of a list in `agent.toml`.

    Raises:
        LoadError: One cannot be loaded; the message names its line.
    """
    found: list[BaseTool] = []
    for index, name in enumerate(names):
        if name in ASK or name in WEB_TOOLS:
            if name == FETCH_PAGE and find_spec("trafilatura") is None:
                missing = missing_extra(FETCH_PAGE, "research")
                raise source.error(f"{missing.message}: {missing.hint}", *place, index)
            continue
        if ":" not in name:
            named = (*ASK, *WEB_TOOLS)
            known = suggestion(name, named, "use file.py:attribute, module:attribute or one of")
            raise source.error(f"Unknown tool '{name}'; {known}", *place, index)
        try:
            found.append(_tool(name, import_target(_attribute(target, name))))
        except LoadError as error:
            raise source.error(error.message, *place, index) from error
    return FolderTools(
        own=tuple(found),
        web=tuple(dict.fromkeys(name for name in names if name in WEB_TOOLS)),
        asks=any(name in ASK for name in names),
    )


def _attribute(target: FolderTarget, name: str) -> Any:
    """A file is in the agent's folder; a module is imported from the project's."""
    file, _, attribute = name.rpartition(":")
    if not file.endswith(".py"):
        return parse_attribute(name, folder=target.project)
    text = f"{target.folder / file}:{attribute}"
    return parse_attribute(text, folder=target.project, label=name)


def _tool(name: str, value: Any) -> BaseTool:
    if isinstance(value, BaseTool):
        return value
    if inspect.isclass(value) or not callable(value):
        kind = type(value).__name__
        raise LoadError(f"{name} is of type {kind}, not a function or a LangChain tool")
    function: Callable[..., Any] = value
    try:
        return tool(function)
    except (ValueError, TypeError) as error:  # no docstring, or types without a schema
        first = str(error).strip().splitlines()[0]
        raise LoadError(f"{name} cannot be a tool: {first}") from error
