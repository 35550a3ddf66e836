"""Export of argument maps: Markdown to read, Argdown for other tools, JSON to import again."""

import json
import re
from typing import Any

from bathysphere.argument.checks import check
from bathysphere.argument.map import (
    ArgumentMap,
    ArgumentMapError,
    Node,
    Relation,
    clean,
    live_nodes,
    live_relations,
    refused_nodes,
    status_of,
)

MARKS = {"accepted": "accepted", "proposed": "not yet accepted", "refused": "refused"}
ARGDOWN_SIGNS = {"supports": "+", "attacks": "-", "answers": "-"}
REFUSED = "Refused by the person; do not bring it back as theirs:"
MOST_REFUSALS = 20
FORMAT = "bathysphere-argument-map"
VERSION = 1

_SPECIAL = re.compile(r"([\\\[\]<>{}@#*_]|/(?=[/*])|(?<=/)/|=(?==)|(?<==)=)")
"""What begins a link, a mention, a tag, emphasis, data, a comment or front matter in Argdown."""


def outline(known: ArgumentMap) -> str:
    """Render the map as a nested list: under each node the nodes related to it, each one once."""
    nodes = {node["id"]: node for node in live_nodes(known)}
    below: dict[str, list[Relation]] = {}
    for relation in live_relations(known):
        below.setdefault(relation["target"], []).append(relation)
    bearing = {relation["origin"] for rows in below.values() for relation in rows}
    lines: list[str] = []
    shown: set[str] = set()

    def show(node: Node, how: str, path: tuple[str, ...]) -> None:
        again = node["id"] in shown
        shown.add(node["id"])
        lines.append(f"{'  ' * len(path)}- {how}{_line(known, node, again=again)}")
        for relation in [] if again else below.get(node["id"], []):
            show(nodes[relation["origin"]], f"{relation['kind']}: ", (*path, node["id"]))

    for node in nodes.values():
        if node["id"] not in bearing:
            show(node, "", ())
    for node in nodes.values():  # the remaining nodes are in cycles
        if node["id"] not in shown:
            show(node, "", ())
    return "\n".join(lines)


def refusals(known: ArgumentMap) -> str:
    """List the refused nodes with their reasons, so that they are not proposed again; may be ''."""
    rows = [
        f"- {node['kind']}: {node['text']}" + (f" (because: {why})" if why else "")
        for node, why in refused_nodes(known)[:MOST_REFUSALS]
    ]
    return "\n".join([REFUSED, *rows]) if rows else ""


def to_markdown(known: ArgumentMap, *, title: str = "Argument") -> str:
    """Render the map as a Markdown document: its outline and its open points."""
    parts = [f"# {title}", outline(known) or "Nothing yet."]
    findings = check(known)
    if findings:
        parts.append("## Open\n\n" + "\n".join(f"- {finding['says']}" for finding in findings))
    return "\n\n".join(parts) + "\n"


def to_argdown(known: ArgumentMap, *, title: str = "Argument") -> str:
    """Render the map in Argdown: one statement per node, with its incoming relations."""
    blocks = [f"# {_argdown(title)}"]
    relations = live_relations(known)
    for node in live_nodes(known):
        rows = [f"[{node['id']}]: {_argdown(node['text'])}"]
        rows += [
            f"  {ARGDOWN_SIGNS[relation['kind']]} [{relation['origin']}]"
            for relation in relations
            if relation["target"] == node["id"]
        ]
        blocks.append("\n".join(rows))
    return "\n\n".join(blocks) + "\n"


def to_json(known: ArgumentMap) -> str:
    """Serialize the whole map, including refused nodes."""
    data = {"format": FORMAT, "version": VERSION, **clean(known)}
    return json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def from_json(text: str) -> ArgumentMap:
    """Parse a map that `to_json` wrote.

    Raises:
        ArgumentMapError: The text is not an argument map, or part of it is invalid.
    """
    try:
        data: Any = json.loads(text)
    except ValueError as error:
        raise ArgumentMapError("Invalid JSON", hint=str(error)) from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ArgumentMapError("Not an argument map", hint=f'"format" must be "{FORMAT}"')
    if data.get("version") != VERSION:
        raise ArgumentMapError(f"Unsupported version of an argument map: {data.get('version')}")
    known = clean(data)
    for part, kept in known.items():
        given = data.get(part)
        if not isinstance(given, dict) or set(given) != set(kept):  # type: ignore[call-overload]
            raise ArgumentMapError(f"Invalid entries in the argument map: {part}")
    missing = {end for r in known["relations"].values() for end in (r["origin"], r["target"])}
    missing = (missing | set(known["decisions"])) - set(known["nodes"])
    if missing:
        raise ArgumentMapError(f"Unknown nodes in the argument map: {', '.join(sorted(missing))}")
    return known


def _line(known: ArgumentMap, node: Node, *, again: bool) -> str:
    if again:
        return f"**{node['id']}** (above)"
    mark = MARKS[status_of(known, node["id"])]
    return f"**{node['id']}** {node['text']} ({mark}; {node['author']}{_where(node)})"


def _where(node: Node) -> str:
    source = node["source"]
    if "file" in source:
        return f"; {source['file']} {source.get('start', 0)}-{source.get('end', 0)}"
    return ""


def _argdown(text: str) -> str:
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))
