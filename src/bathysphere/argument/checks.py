"""Rule-based checks of an argument map: each finding suggests the tutor's next move.

The checks do not judge whether a claim is true. Refused nodes are ignored.
"""

from typing import Literal, TypedDict

from bathysphere.argument.map import (
    ArgumentMap,
    Kind,
    live_nodes,
    live_relations,
    status_of,
)
from bathysphere.argument.moves import Move

Check = Literal[
    "circular_support",
    "unanswered_objection",
    "claim_without_premise",
    "evidence_without_source",
    "lost_support",
    "unconnected",
    "single_support",
]


class Finding(TypedDict):
    """A gap in the argument, described in a sentence, and the move that would ask about it."""

    check: Check
    nodes: list[str]
    says: str
    move: Move


def check(known: ArgumentMap) -> list[Finding]:
    """Return all gaps in the argument in a fixed order, the most serious first."""
    return [
        *_circles(known),
        *_objections(known),
        *_bare_claims(known),
        *_evidence(known),
        *_lost(known),
        *_unconnected(known),
        *_single(known),
    ]


def in_titles(finding: Finding, known: ArgumentMap) -> str:
    """Return the sentence of a finding with the text of each node in place of its id."""
    says = finding["says"]
    for node in sorted(finding["nodes"], key=len, reverse=True):
        says = says.replace(node, f"“{known['nodes'][node]['text'].rstrip('.')}”")
    return says


def unanswered_objections(known: ArgumentMap) -> list[str]:
    """Return the ids of objections without a reply."""
    return [node_id for finding in _objections(known) for node_id in finding["nodes"]]


def _circles(known: ArgumentMap) -> list[Finding]:
    supports: dict[str, set[str]] = {}
    for relation in live_relations(known):
        if relation["kind"] == "supports":
            supports.setdefault(relation["origin"], set()).add(relation["target"])
    reach = {node: _reachable(node, supports) for node in supports}
    circles: list[list[str]] = []
    for node in sorted(supports):
        circle = sorted(other for other in reach[node] if node in reach.get(other, ()))
        if node in reach[node] and circle not in circles:
            circles.append(circle)
    return [
        {
            "check": "circular_support",
            "nodes": circle,
            "says": f"{', '.join(circle)} support each other in a circle.",
            "move": "ask_premise",
        }
        for circle in circles
    ]


def _reachable(start: str, edges: dict[str, set[str]]) -> set[str]:
    seen: set[str] = set()
    ahead = [start]
    while ahead:
        for node in edges.get(ahead.pop(), ()):
            if node not in seen:
                seen.add(node)
                ahead.append(node)
    return seen


def _objections(known: ArgumentMap) -> list[Finding]:
    answered = _targets(known, "answers")
    return [
        {
            "check": "unanswered_objection",
            "nodes": [node],
            "says": f"Nothing answers {node}.",
            "move": "steelman",
        }
        for node in _of_kind(known, "objection")
        if node not in answered
    ]


def _bare_claims(known: ArgumentMap) -> list[Finding]:
    supported = _targets(known, "supports")
    return [
        {
            "check": "claim_without_premise",
            "nodes": [node],
            "says": f"Nothing supports {node}.",
            "move": "ask_premise",
        }
        for node in _of_kind(known, "claim")
        if node not in supported and not _had_support(known, node)
    ]


def _evidence(known: ArgumentMap) -> list[Finding]:
    return [
        {
            "check": "evidence_without_source",
            "nodes": [node["id"]],
            "says": f"{node['id']} has no source that can be checked.",
            "move": "ask_evidence",
        }
        for node in live_nodes(known)
        if node["kind"] == "evidence" and "file" not in node["source"]
    ]


def _lost(known: ArgumentMap) -> list[Finding]:
    supported = _targets(known, "supports")
    return [
        {
            "check": "lost_support",
            "nodes": [node["id"]],
            "says": f"Everything that supported {node['id']} was refused.",
            "move": "test_implication",
        }
        for node in live_nodes(known)
        if node["id"] not in supported and _had_support(known, node["id"])
    ]


def _unconnected(known: ArgumentMap) -> list[Finding]:
    relations = live_relations(known)
    bound = {r["origin"] for r in relations}
    return [
        {
            "check": "unconnected",
            "nodes": [node["id"]],
            "says": f"{node['id']} is not connected to anything.",
            "move": "test_implication",
        }
        for node in live_nodes(known)
        if node["kind"] != "claim" and node["id"] not in bound
    ]


def _single(known: ArgumentMap) -> list[Finding]:
    supports = [r["target"] for r in live_relations(known) if r["kind"] == "supports"]
    return [
        {
            "check": "single_support",
            "nodes": [node],
            "says": f"{node} has only one support.",
            "move": "counter_example",
        }
        for node in _of_kind(known, "claim")
        if supports.count(node) == 1
    ]


def _of_kind(known: ArgumentMap, kind: Kind) -> list[str]:
    return [node["id"] for node in live_nodes(known) if node["kind"] == kind]


def _targets(known: ArgumentMap, kind: str) -> set[str]:
    return {r["target"] for r in live_relations(known) if r["kind"] == kind}


def _had_support(known: ArgumentMap, node: str) -> bool:
    """Whether a node was supported by one that the person refused."""
    return any(
        r["kind"] == "supports" and r["target"] == node
        for r in known["relations"].values()
        if status_of(known, r["origin"]) == "refused"
    )
