"""What a person may ask of the terminal itself, between two turns: lines that begin with `/`.

What they decide about the argument map is theirs alone. It goes to the agent with their next
message, as a client with a map of its own writes it: as `decisions` of the map in the state.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bathysphere.argument.export import to_argdown, to_json, to_markdown
from bathysphere.argument.map import ArgumentMap, Status, decide, empty, merge, status_of
from bathysphere.cli.talk.map_tree import MapTree
from bathysphere.cli.talk.screen import Screen

HELP = {
    "/map": "the argument map as a tree",
    "/accept N": "stand by node N of the map; several: /accept 1 3",
    "/refuse N": "refuse node N: it is gone from the map",
    "/export FILE": "write the map to FILE: .md, .argdown or .json",
    "/disclosures": "what of your documents has left this device",
    "/help": "this list",
    "/exit": "leave",
}
EXPORTS: dict[str, Callable[[ArgumentMap], str]] = {
    ".md": to_markdown,
    ".argdown": to_argdown,
    ".json": to_json,
}

_COMMAND = re.compile(r"/[a-z]*$")


@dataclass(kw_only=True)
class Commands:
    """Does what a line that begins with `/` asks for."""

    screen: Screen
    values: Callable[[], Mapping[str, Any]]
    """The state of the thread, as it is now."""
    _decided: ArgumentMap = field(default_factory=empty, init=False)
    _tree: MapTree = field(init=False)

    def __post_init__(self) -> None:
        self._tree = MapTree(screen=self.screen)

    def take(self, said: str) -> bool:
        """Whether a line is a command; if so, it is done."""
        name, _, rest = said.partition(" ")
        if not _COMMAND.match(name):
            return False
        rest = rest.strip()
        if name == "/map":
            self._show_map()
        elif name in ("/accept", "/refuse"):
            self._decide(rest.replace(",", " ").split(), name)
        elif name == "/export":
            self._export(rest)
        elif name == "/disclosures":
            self._disclosures()
        else:
            self._help("" if name == "/help" else name)
        return True

    def given(self) -> dict[str, Any]:
        """What goes with the next message: the person's decisions."""
        return {"argument_map": self._decided} if self._decided["decisions"] else {}

    def _known(self) -> ArgumentMap:
        return merge(self.values().get("argument_map"), self._decided)

    def _help(self, unknown: str) -> None:
        if unknown:
            self.screen.note(f"There is no command {unknown}.")
        self.screen.block([(f"{name:<14} {what}", "") for name, what in HELP.items()])

    # ── the map ──

    def _show_map(self) -> None:
        known = self._known()
        if not known["nodes"]:
            self.screen.note("Nothing is on the map yet.")
            return
        self._tree.show(known)
        if any(status_of(known, node) == "proposed" for node in known["nodes"]):
            self.screen.note("    /accept N or /refuse N decides; only you can")

    def _decide(self, named: list[str], name: str) -> None:
        status: Status = "accepted" if name == "/accept" else "refused"
        known = self._known()
        nodes = {said: self._tree.node_of(said, known) for said in named}
        unknown = [said for said, node in nodes.items() if node is None]
        if unknown or not named:
            which = f"There is no node {', '.join(unknown)}." if unknown else "Which node?"
            self.screen.note(f"{which} /map shows their numbers.")
            return
        for node in filter(None, nodes.values()):
            known = decide(known, node, status)
        self._decided = merge(self._decided, {"decisions": known["decisions"]})
        self._show_map()

    def _export(self, name: str) -> None:
        path, known = Path(name).expanduser(), self._known()
        write = EXPORTS.get(path.suffix.lower())
        if not name or write is None:
            self.screen.note(f"Give a file that ends in {', '.join(EXPORTS)}: /export map.md")
            return
        if path.exists() and self.screen.ask(f"  {name} is there; overwrite it? (y/n)") != "y":
            self.screen.note("    left as it is")
            return
        try:
            path.write_text(write(known), encoding="utf-8")
        except OSError as error:
            self.screen.note(f"It could not be written: {error.strerror}.")
            return
        self.screen.note(f"Written: {path} ({len(known['nodes'])} nodes).")

    # ── what has left ──

    def _disclosures(self) -> None:
        records = self.values().get("disclosures") or []
        if not records:
            self.screen.note("Nothing of your documents has left this device.")
            return
        rows = [
            (
                f"{r['file']}  {r['start']}-{r['end']}  {r['bytes']:,} bytes  "
                f"sha256 {r['sha256'][:12]}  by {r['tool']}"
            )
            for r in records
        ]
        total = sum(record["bytes"] for record in records)
        many = f"{len(rows)} passage{'s' * (len(rows) > 1)}"
        self.screen.block([("left this device:", "bold"), *((row, "") for row in rows)])
        self.screen.note(f"    {many}, {total:,} bytes; names of documents are not counted")
