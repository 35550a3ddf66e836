"""The argument map as a tree: related nodes are nested, and each node has a number."""

from dataclasses import dataclass, field

from rich.text import Text
from rich.tree import Tree

from bathysphere.argument.checks import check
from bathysphere.argument.map import ArgumentMap, Node, live_nodes, live_relations, status_of
from bathysphere.cli.talk.screen import Screen, safe

RELATION_LABELS = {"supports": "supported by", "attacks": "attacked by", "answers": "answered by"}
MARKS = {"accepted": ("ok", "green"), "proposed": ("open", "yellow")}


@dataclass(kw_only=True)
class MapTree:
    """Renders maps; a node keeps the number it was first shown with."""

    screen: Screen
    numbers: dict[str, int] = field(default_factory=dict)

    def show(self, argument_map: ArgumentMap) -> None:
        """Show the map and the findings of its checks."""
        tree = Tree(Text("argument map", "bold"), guide_style="dim")
        for root, below in forest(argument_map):
            self._grow(tree, argument_map, root, "", below)
        self.screen.print(tree, indent=2)
        findings = [finding["says"] for finding in check(argument_map)]
        if findings:
            self.screen.block(
                [("open:", "bold"), *((self._numbered(text), "") for text in findings)]
            )

    def node_of(self, name: str, argument_map: ArgumentMap) -> str | None:
        """Find a node by its number or id."""
        by_number = {str(number): node for node, number in self.numbers.items()}
        node = by_number.get(name, name)
        return node if node in argument_map["nodes"] else None

    def _grow(
        self, tree: Tree, argument_map: ArgumentMap, node: Node, how: str, below: "Branches"
    ) -> None:
        branch = tree.add(self._label(argument_map, node, how))
        for relation, child, branches in below:
            self._grow(branch, argument_map, child, RELATION_LABELS[relation], branches)

    def _label(self, argument_map: ArgumentMap, node: Node, how: str) -> Text:
        number = self.numbers.setdefault(node["id"], len(self.numbers) + 1)
        mark, style = MARKS[status_of(argument_map, node["id"])]
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

    def _numbered(self, text: str) -> str:
        for node, number in self.numbers.items():
            text = text.replace(node, f"node {number}")
        return text


Branches = list[tuple[str, Node, "Branches"]]


def forest(argument_map: ArgumentMap) -> list[tuple[Node, Branches]]:
    """Arrange the nodes as trees, each node once; roots are nodes with no outgoing relation."""
    nodes = {node["id"]: node for node in live_nodes(argument_map)}
    relations = live_relations(argument_map)
    shown: set[str] = set()

    def below(target: str) -> Branches:
        found: Branches = []
        for relation in relations:
            if relation["target"] == target and relation["origin"] not in shown:
                shown.add(relation["origin"])
                found.append((relation["kind"], nodes[relation["origin"]], []))
        return [(kind, node, below(node["id"])) for kind, node, _ in found]

    origins = {relation["origin"] for relation in relations}
    roots = [node for node in nodes.values() if node["id"] not in origins]
    trees = []
    for node in [*roots, *nodes.values()]:  # nodes in cycles come after the roots
        if node["id"] not in shown:
            shown.add(node["id"])
            trees.append((node, below(node["id"])))
    return trees
