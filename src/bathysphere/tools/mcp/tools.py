"""Tools of MCP servers as an agent sees them: named by server, bounded, descriptions as data."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bathysphere.core.invisible import reveal
from bathysphere.flow.declarations import ToolFlow
from bathysphere.flow.kinds import QUERY

if TYPE_CHECKING:
    from mcp.types import Tool

    from bathysphere.tools.mcp.config import Options

SEPARATOR = "__"
MAX_NAME = 64
"""What model providers accept."""
MAX_DESCRIPTION = 1_000
MAX_SCHEMA_BYTES = 16_000
MAX_LISTED = 1_000
"""Tools of one server; the rest is ignored."""
MAX_OFFERED = 32
MAX_OFFERED_BYTES = 40_000
"""Definitions in one model call: about 10,000 tokens."""
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_-]")
_WORD = re.compile(r"[^\W_]{1,100}")


@dataclass(frozen=True, kw_only=True, slots=True)
class RemoteTool:
    """One tool of a server."""

    name: str
    """The name by which the model calls it: `server__tool`."""
    server: str
    remote_name: str
    description: str
    """The server's description, bounded, with invisible characters made visible."""
    schema: Mapping[str, Any]
    is_read_only: bool
    """Whether it may run without approval."""
    flow: ToolFlow
    """What it does, by its hints; its result is always untrusted."""
    fingerprint: str
    """Hash of the whole definition: a changed tool needs a new approval."""

    @property
    def size(self) -> int:
        """Bytes of its definition in a prompt."""
        return len(json.dumps(self.schema)) + len(self.description.encode()) + len(self.name)


def remote_tools(
    server: str, listed: Iterable["Tool"], options: "Options"
) -> tuple[RemoteTool, ...]:
    """The tools of a server that can be offered, each with a name of its own."""
    found: dict[str, RemoteTool] = {}
    for tool in listed:
        if options.tools is not None and tool.name not in options.tools:
            continue
        remote = _remote_tool(server, tool, options)
        if remote is not None:
            found.setdefault(remote.name, remote)
    return tuple(found.values())


def _remote_tool(server: str, tool: "Tool", options: "Options") -> RemoteTool | None:
    """The tool; None if its schema cannot be offered."""
    definition = tool.model_dump(mode="json", exclude_none=True)
    schema = definition.get("inputSchema", {})
    if len(json.dumps(schema).encode()) > MAX_SCHEMA_BYTES or schema.get("type") != "object":
        return None
    declared = tool.annotations is not None and tool.annotations.readOnlyHint is True
    is_read_only = declared or tool.name in options.read_only
    schema = {**schema, "properties": schema.get("properties") or {}}
    canonical = json.dumps(definition, sort_keys=True).encode()
    return RemoteTool(
        name=tool_name(server, tool.name),
        server=server,
        remote_name=tool.name,
        description=_bounded(tool.description or tool.title or ""),
        schema=schema,
        is_read_only=is_read_only and options.ask == "changes",
        flow=_flow(tool, schema, is_read_only=is_read_only),
        fingerprint=hashlib.sha256(canonical).hexdigest()[:32],
    )


def _flow(tool: "Tool", schema: Mapping[str, Any], *, is_read_only: bool) -> ToolFlow:
    """What a tool does by its hints; what they leave open is assumed to be dangerous.

    The arguments of a tool that only reads are what it is asked. All others must be vouched for,
    whether the tool destroys something or not (`destructiveHint`).
    """
    hints = tool.annotations
    is_closed = hints is not None and hints.openWorldHint is False
    kinds = dict.fromkeys(schema["properties"], QUERY) if is_read_only else {}
    return ToolFlow(acts=not is_read_only, sends=not is_closed, arguments=kinds)


def tool_name(server: str, tool: str) -> str:
    """The tool's name for the model; one that had to be changed ends with a hash."""
    plain = f"{server}{SEPARATOR}{_NOT_IN_NAMES.sub('_', tool)}"
    if len(plain) <= MAX_NAME and plain == f"{server}{SEPARATOR}{tool}":
        return plain
    mark = hashlib.sha256(tool.encode()).hexdigest()[:8]
    return f"{plain[: MAX_NAME - len(mark) - 1]}_{mark}"


def fits(tools: Sequence[RemoteTool]) -> bool:
    """Whether all the tools can be offered in every model call."""
    return len(tools) <= MAX_OFFERED and sum(tool.size for tool in tools) <= MAX_OFFERED_BYTES


def newest_that_fit(tools: Sequence[RemoteTool]) -> list[RemoteTool]:
    """As many tools as can be offered, from the end of the list."""
    chosen: list[RemoteTool] = []
    for tool in reversed(tools):
        if not fits([*chosen, tool]):
            break
        chosen.append(tool)
    return chosen[::-1]


def search(tools: Iterable[RemoteTool], query: str, *, limit: int) -> list[RemoteTool]:
    """The tools whose names and descriptions share most words with the query, best first."""
    wanted = _words(query)

    def score(tool: RemoteTool) -> int:
        in_name = wanted & _words(tool.name)
        return 3 * len(in_name) + len((wanted & _words(tool.description)) - in_name)

    scored = [(score(tool), tool) for tool in tools]
    best = sorted((each for each in scored if each[0]), key=lambda each: (-each[0], each[1].name))
    return [tool for _, tool in best[:limit]]


def _words(text: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(text)}


def _bounded(text: str) -> str:
    shown = reveal(text.strip())
    if len(shown) <= MAX_DESCRIPTION:
        return shown
    return f"{shown[:MAX_DESCRIPTION]} … (cut)"
