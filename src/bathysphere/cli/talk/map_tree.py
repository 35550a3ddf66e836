"""The argument map as a tree: under each node what bears on it, with a number to name it by."""

from dataclasses import dataclass, field

from rich.text import Text
from rich.tree import Tree

from bathysphere.argument.checks import check
from bathysphere.argument.map import ArgumentMap, Node, live_nodes, live_relations, status_of
from bathysphere.cli.talk.screen import Screen, safe

BEARS = {"supports": "supported by", "attacks": "attacked by", "answers": "answered by"}
MARKS = {"accepted": ("ok", "green"), "proposed": ("open", "yellow")}


@dataclass(kw_only=True)
class MapTree:
    """Shows maps; a node keeps the number it was first shown with."""

    screen: Screen
    numbers: dict[str, int] = field(default_factory=dict)

    def show(self, known: ArgumentMap) -> None:
        """Show the map, and what is missing in it."""
        tree = Tree(Text("argument map", "bold"), guide_style="dim")
        for root, below in forest(known):
            self._grow(tree, known, root, "", below)
        self.screen.print(tree, indent=2)
        missing = [finding["says"] for finding in check(known)]
        if missing:
            self.screen.block([("open:", "bold"), *((self._numbered(m), "") for m in missing)])

    def node_of(self, said: str, known: ArgumentMap) -> str | None:
        """The node that a person names by its number or id."""
        by_number = {str(number): node for node, number in self.numbers.items()}
        node = by_number.get(said, said)
        return node if node in known["nodes"] else None

    def _grow(
        self, tree: Tree, known: ArgumentMap, node: Node, how: str, below: "Branches"
    ) -> None:
        branch = tree.add(self._label(known, node, how))
        for relation, child, branches in below:
            self._grow(branch, known, child, BEARS[relation], branches)

    def _label(self, known: ArgumentMap, node: Node, how: str) -> Text:
        number = self.numbers.setdefault(node["id"], len(self.numbers) + 1)
        mark, style = MARKS[status_of(known, node["id"])]
        source = node["source"]
        where = (
            f", {source['file']} {source.get('start')}-{source.get('end')}"
            if "file" in source
            else ""
        )
        who = "you" if node["author"] == "person" else node["author"]
        return Text.assemble(
            (f"{number} ", "cyan"),
            (f"{self.screen.marks[mark]} ", style),
            (f"{how} " if how else "", "dim"),
            (f"{node['kind']}  ", "bold"),
            (safe(node["text"]), ""),
            (safe(f"  ({who}{where})"), "dim"),
        )

    def _numbered(self, words: str) -> str:
        for node, number in self.numbers.items():
            words = words.replace(node, f"node {number}")
        return words


Branches = list[tuple[str, Node, "Branches"]]


def forest(known: ArgumentMap) -> list[tuple[Node, Branches]]:
    """The nodes that bear on nothing, each with what bears on it; every node stands once."""
    nodes = {node["id"]: node for node in live_nodes(known)}
    relations = live_relations(known)
    shown: set[str] = set()

    def below(target: str) -> Branches:
        found: Branches = []
        for relation in relations:
            if relation["target"] == target and relation["origin"] not in shown:
                shown.add(relation["origin"])
                found.append((relation["kind"], nodes[relation["origin"]], []))
        return [(kind, node, below(node["id"])) for kind, node, _ in found]

    bearing = {relation["origin"] for relation in relations}
    first = [node for node in nodes.values() if node["id"] not in bearing]
    trees = []
    for node in [*first, *nodes.values()]:  # after the roots, what stands in circles
        if node["id"] not in shown:
            shown.add(node["id"])
            trees.append((node, below(node["id"])))
    return trees
