"""A map on paper: Markdown to read, Argdown for other tools, JSON to keep and take in again."""

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

_SPECIAL = re.compile(r"([\\\[\]<>{}@#*_])")


def outline(known: ArgumentMap) -> str:
    """The map as a nested list: under each node what bears on it. A node in a circle ends it."""
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
    for node in nodes.values():  # what is left stands in circles
        if node["id"] not in shown:
            show(node, "", ())
    return "\n".join(lines)


def refusals(known: ArgumentMap) -> str:
    """What the person refused, and why, for one who would put it forward again; '' for nothing."""
    rows = [
        f"- {node['kind']}: {node['text']}" + (f" (because: {why})" if why else "")
        for node, why in refused_nodes(known)[:MOST_REFUSALS]
    ]
    return "\n".join([REFUSED, *rows]) if rows else ""


def to_markdown(known: ArgumentMap, *, title: str = "Argument") -> str:
    """The map as a document: the outline, and what is still missing."""
    parts = [f"# {title}", outline(known) or "Nothing yet."]
    findings = check(known)
    if findings:
        parts.append("## Open\n\n" + "\n".join(f"- {finding['says']}" for finding in findings))
    return "\n\n".join(parts) + "\n"


def to_argdown(known: ArgumentMap, *, title: str = "Argument") -> str:
    """The map in Argdown: one statement a node, with the relations that bear on it."""
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
    """The whole map, refused nodes too, as it is stored."""
    data = {"format": FORMAT, "version": VERSION, **clean(known)}
    return json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def from_json(text: str) -> ArgumentMap:
    """Take a map in again.

    Raises:
        ArgumentMapError: It is not such a file, or a part of it is not well formed.
    """
    try:
        data: Any = json.loads(text)
    except ValueError as error:
        raise ArgumentMapError("this is not JSON", hint=str(error)) from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise ArgumentMapError("this is not an argument map", hint=f'"format" must be "{FORMAT}"')
    if data.get("version") != VERSION:
        raise ArgumentMapError(f"this map has version {data.get('version')}, not {VERSION}")
    known = clean(data)
    for part, kept in known.items():
        given = data.get(part)
        if not isinstance(given, dict) or set(given) != set(kept):  # type: ignore[call-overload]
            raise ArgumentMapError(f"a part of the map is not well formed: {part}")
    missing = {end for r in known["relations"].values() for end in (r["origin"], r["target"])}
    missing = (missing | set(known["decisions"])) - set(known["nodes"])
    if missing:
        raise ArgumentMapError(f"the map speaks of nodes it has not: {', '.join(sorted(missing))}")
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
