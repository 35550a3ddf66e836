"""Slash commands of the terminal chat, handled between turns.

Decisions about the argument map are the person's alone. They are sent with the next message, as
`decisions` of the map in the state, just as other clients send them.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bathysphere.argument.export import to_argdown, to_json, to_markdown
from bathysphere.argument.map import ArgumentMap, Status, decide, empty, merge, status_of
from bathysphere.cli.talk import agent_files, trusted_sources
from bathysphere.cli.talk import memories as person_notes
from bathysphere.cli.talk.local_files import write_local_file
from bathysphere.cli.talk.map_tree import MapTree
from bathysphere.cli.talk.screen import Screen
from bathysphere.cli.talk.trusted_sources import TrustedSources
from bathysphere.core.words import count

HELP = {
    "/map": "the argument map as a tree",
    "/accept N": "accept node N of the map; several: /accept 1 3",
    "/refuse N": "refuse node N and remove it from the map",
    "/export FILE": "write the map to FILE: .md, .argdown or .json",
    **agent_files.HELP,
    **person_notes.HELP,
    **trusted_sources.HELP,
    "/disclosures": "passages of your documents that were shared",
    "/help": "this list",
    "/exit": "exit",
}
MAP_COMMANDS = ("/map", "/accept", "/refuse", "/export")
"""Available only with agents that maintain an argument map."""
EXPORTS: dict[str, Callable[[ArgumentMap], str]] = {
    ".md": to_markdown,
    ".argdown": to_argdown,
    ".json": to_json,
}

_COMMAND = re.compile(r"/[a-z]*$")


@dataclass(kw_only=True)
class Commands:
    """Runs slash commands."""

    screen: Screen
    values: Callable[[], Mapping[str, Any]]
    """Returns the current state of the thread."""
    has_map: bool = True
    """Whether the agent maintains an argument map."""
    memories: person_notes.Memories | None = None
    """The agent's notes about the person, if it keeps any."""
    _decisions: ArgumentMap = field(default_factory=empty, init=False)
    _tree: MapTree = field(init=False)
    _files: agent_files.AgentFiles = field(init=False)
    _sources: TrustedSources = field(init=False)

    def __post_init__(self) -> None:
        self._tree = MapTree(screen=self.screen)
        self._files = agent_files.AgentFiles(screen=self.screen, values=self.values)
        self._sources = TrustedSources(screen=self.screen, values=self.values)

    def handle(self, line: str) -> bool:
        """Run a line if it is a command; return whether it was one."""
        name, _, rest = line.partition(" ")
        if not _COMMAND.match(name):
            return False
        rest = rest.strip()
        if name in MAP_COMMANDS and not self.has_map:
            self.screen.note("This agent has no argument map; try the tutor.")
        elif name == "/map":
            self._show_map()
        elif name in ("/accept", "/refuse"):
            self._decide(rest.replace(",", " ").split(), name)
        elif name == "/export":
            self._export(rest)
        elif name in agent_files.COMMANDS:
            self._files.handle(name, rest)
        elif name in trusted_sources.COMMANDS:
            self._sources.handle(name, rest)
        elif name == person_notes.COMMAND:
            self._notes(rest)
        elif name == "/disclosures":
            self._disclosures()
        else:
            self._help("" if name == "/help" else name)
        return True

    def state_update(self) -> dict[str, Any]:
        """State to send with the next message: the person's decisions."""
        decided = {"argument_map": self._decisions} if self._decisions["decisions"] else {}
        return {**decided, **self._sources.state_update()}

    def _current_map(self) -> ArgumentMap:
        return merge(self.values().get("argument_map"), self._decisions)

    def _help(self, unknown: str) -> None:
        if unknown:
            self.screen.note(f"Unknown command: {unknown}")
        available = [name for name in HELP if self.has_map or name.split()[0] not in MAP_COMMANDS]
        self.screen.block([(f"{name:<15} {HELP[name]}", "") for name in available])

    # ── the map ──

    def _show_map(self) -> None:
        current = self._current_map()
        if not current["nodes"]:
            self.screen.note("The map is empty.")
            return
        self._tree.show(current)
        if any(status_of(current, node) == "proposed" for node in current["nodes"]):
            self.screen.note("    decide with /accept N or /refuse N")

    def _decide(self, names: list[str], command: str) -> None:
        status: Status = "accepted" if command == "/accept" else "refused"
        current = self._current_map()
        nodes = {name: self._tree.node_of(name, current) for name in names}
        unknown = [name for name, node in nodes.items() if node is None]
        if unknown or not names:
            which = f"Unknown node: {', '.join(unknown)}." if unknown else "No node given."
            self.screen.note(f"{which} /map shows the numbers.")
            return
        for node in filter(None, nodes.values()):
            current = decide(current, node, status)
        self._decisions = merge(self._decisions, {"decisions": current["decisions"]})
        self._show_map()

    def _export(self, name: str) -> None:
        path, current = Path(name).expanduser(), self._current_map()
        write = EXPORTS.get(path.suffix.lower())
        if not name or write is None:
            self.screen.note(
                f"The file name must end in {', '.join(EXPORTS)}, for example: /export map.md"
            )
            return
        if write_local_file(self.screen, path, write(current).encode()):
            self.screen.note(f"Wrote {path} ({count(len(current['nodes']), 'node')}).")

    # ── notes about the person ──

    def _notes(self, rest: str) -> None:
        if self.memories is None:
            self.screen.note(person_notes.NONE)
        else:
            self.memories.handle(rest)

    # ── disclosures ──

    def _disclosures(self) -> None:
        records = self.values().get("disclosures") or []
        if not records:
            self.screen.note("No passages of your documents have been shared.")
            return
        rows = [
            (
                f"{r['file']}  {r['start']}-{r['end']}  {r['bytes']:,} bytes  "
                f"sha256 {r['sha256'][:12]}  by {r['tool']}"
            )
            for r in records
        ]
        total = sum(record["bytes"] for record in records)
        passages = count(len(rows), "passage")
        self.screen.block([("shared with the agent:", "bold"), *((row, "") for row in rows)])
        self.screen.note(f"    {passages}, {total:,} bytes; document names are not counted")
