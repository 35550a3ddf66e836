"""The argument map: claims, premises, evidence, objections and replies, and their relations.

A map is plain JSON data in three parts. `nodes` and `relations` are immutable once added: a node's
id is a hash of its kind and text, so two writers who add the same node add one. `decisions` are the
person's: what they accepted or refused. Every operation returns a new map. `merge` is associative,
commutative and idempotent, so it can be the reducer of graph state with concurrent writers.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, NotRequired, TypedDict, get_args

from bathysphere.core.errors import CallerError

Kind = Literal["claim", "premise", "evidence", "objection", "reply"]
RelationKind = Literal["supports", "attacks", "answers"]
Status = Literal["proposed", "accepted", "refused"]

KINDS: tuple[Kind, ...] = get_args(Kind)
RELATION_KINDS: tuple[RelationKind, ...] = get_args(RelationKind)
STATUSES: tuple[Status, ...] = get_args(Status)

MAX_TEXT = 600
MAX_NODES = 300

MAY: dict[RelationKind, tuple[tuple[Kind, ...], tuple[Kind, ...]]] = {
    "supports": (("claim", "premise", "evidence"), ("claim", "premise", "objection", "reply")),
    "attacks": (("objection",), KINDS),
    "answers": (("reply",), ("objection",)),
}
"""Relation → the kinds of node it may start from, and those it may point to."""


class ArgumentMapError(CallerError):
    """An invalid operation on an argument map."""

    code = "argument_map_error"


class Source(TypedDict):
    """The source of a node: a message, optionally with a quote from it, or a span of a file."""

    message: NotRequired[str]
    said: NotRequired[str]
    file: NotRequired[str]
    version: NotRequired[str]
    start: NotRequired[int]
    end: NotRequired[int]
    quote: NotRequired[str]


class Node(TypedDict):
    """A node: one statement."""

    id: str
    kind: Kind
    text: str
    author: str
    source: Source


class Relation(TypedDict):
    """A directed relation between two nodes."""

    origin: str
    kind: RelationKind
    target: str


class Decision(TypedDict):
    """The person's decision on a node; the highest revision wins."""

    status: Status
    revision: int
    reason: NotRequired[str]
    """The person's reason."""


class ArgumentMap(TypedDict):
    """An argument map."""

    nodes: dict[str, Node]
    relations: dict[str, Relation]
    decisions: dict[str, Decision]


class Added(NamedTuple):
    """The map after adding a node, and the node's id."""

    map: ArgumentMap
    id: str


# ── operations ──


def empty() -> ArgumentMap:
    """Return an empty map."""
    return {"nodes": {}, "relations": {}, "decisions": {}}


def add(
    known: ArgumentMap, kind: Kind, text: str, *, author: str, source: Source | None = None
) -> Added:
    """Add a node; the same kind and text give the same node.

    Raises:
        ArgumentMapError: The text is empty or too long, or the person refused this node before.
    """
    words = " ".join(text.split())
    if kind not in KINDS:
        raise ArgumentMapError(f"Unknown kind of node: '{kind}'", hint=f"choose {', '.join(KINDS)}")
    if not words or len(words) > MAX_TEXT:
        raise ArgumentMapError(
            f"A node must have 1 to {MAX_TEXT} characters, not {len(words)}",
            hint="write one statement in one sentence",
        )
    node_id = node_id_of(kind, words)
    if status_of(known, node_id) == "refused":
        raise ArgumentMapError(
            f"The person refused this node: {node_id}", hint="propose something else"
        )
    if node_id not in known["nodes"] and len(known["nodes"]) >= MAX_NODES:
        raise ArgumentMapError(f"The argument map is full: it has {MAX_NODES} nodes")
    node: Node = {
        "id": node_id,
        "kind": kind,
        "text": words,
        "author": author,
        "source": source or {},
    }
    return Added(merge(known, {"nodes": {node_id: node}}), node_id)


def relate(known: ArgumentMap, origin: str, kind: RelationKind, target: str) -> ArgumentMap:
    """Add a relation between two nodes.

    Raises:
        ArgumentMapError: A node is missing or refused, or the relation does not allow their kinds.
    """
    if kind not in RELATION_KINDS:
        hint = f"choose {', '.join(RELATION_KINDS)}"
        raise ArgumentMapError(f"Unknown relation: '{kind}'", hint=hint)
    first, second = standing(known, origin), standing(known, target)
    if origin == target:
        raise ArgumentMapError(f"A node cannot be related to itself: {origin}")
    origins, targets = MAY[kind]
    if first["kind"] not in origins or second["kind"] not in targets:
        raise ArgumentMapError(
            f"Invalid relation: {first['kind']} '{kind}' {second['kind']}",
            hint=f"'{kind}' goes from {' or '.join(origins)} to {' or '.join(targets)}",
        )
    relation: Relation = {"origin": origin, "kind": kind, "target": target}
    return merge(known, {"relations": {relation_id_of(relation): relation}})


def decide(known: ArgumentMap, node_id: str, status: Status, *, reason: str = "") -> ArgumentMap:
    """Record the person's decision on a node; never call this for a model.

    Raises:
        ArgumentMapError: The node or the status is unknown.
    """
    if node_id not in known["nodes"]:
        raise _unknown(known, node_id)
    if status not in STATUSES:
        raise ArgumentMapError(f"Unknown status: '{status}'")
    before = known["decisions"].get(node_id)
    decision: Decision = {"status": status, "revision": before["revision"] + 1 if before else 1}
    if reason.strip():
        decision["reason"] = reason.strip()
    return merge(known, {"decisions": {node_id: decision}})


def standing(known: ArgumentMap, node_id: str) -> Node:
    """Return a node that was not refused.

    Raises:
        ArgumentMapError: The node does not exist or was refused.
    """
    if node_id not in known["nodes"]:
        raise _unknown(known, node_id)
    if status_of(known, node_id) == "refused":
        raise ArgumentMapError(f"The person refused this node: {node_id}")
    return known["nodes"][node_id]


def status_of(known: ArgumentMap, node_id: str) -> Status:
    """Return the status of a node; without a decision it is proposed."""
    decision = known["decisions"].get(node_id)
    return decision["status"] if decision else "proposed"


def live_nodes(known: ArgumentMap) -> list[Node]:
    """Return the nodes that were not refused, ordered by kind, then id."""
    nodes = known["nodes"].values()
    return _in_order(node for node in nodes if status_of(known, node["id"]) != "refused")


def refused_nodes(known: ArgumentMap) -> list[tuple[Node, str]]:
    """Return the refused nodes in the same order, each with its reason or ''."""
    nodes = known["nodes"].values()
    gone = _in_order(node for node in nodes if status_of(known, node["id"]) == "refused")
    return [(node, known["decisions"][node["id"]].get("reason", "")) for node in gone]


def live_relations(known: ArgumentMap) -> list[Relation]:
    """Return the relations between nodes that were not refused, ordered by id."""
    live = {node["id"] for node in live_nodes(known)}
    found = [known["relations"][key] for key in sorted(known["relations"])]
    return [r for r in found if r["origin"] in live and r["target"] in live]


def node_id_of(kind: Kind, text: str) -> str:
    """Return the id of a node: its kind and a hash of its normalized text."""
    words = " ".join(text.split()).casefold()
    return f"{kind}-{hashlib.sha256(words.encode('utf-8', 'replace')).hexdigest()[:8]}"


def relation_id_of(relation: Relation) -> str:
    """Return the key of a relation."""
    return f"{relation['origin']} {relation['kind']} {relation['target']}"


# ── joining ──


def merge(left: Mapping[str, Any] | None, right: Mapping[str, Any] | None) -> ArgumentMap:
    """Merge two maps or parts of maps. Associative, commutative, idempotent; never raises.

    Invalid entries are dropped, so that a client cannot block a thread.
    """
    one, two = clean(left), clean(right)
    nodes, decisions = dict(one["nodes"]), dict(one["decisions"])
    for key, node in two["nodes"].items():
        nodes[key] = max(nodes.get(key, node), node, key=_node_order)
    for key, decision in two["decisions"].items():
        decisions[key] = max(decisions.get(key, decision), decision, key=_decision_order)
    relations = {**one["relations"], **two["relations"]}
    return {"nodes": nodes, "relations": relations, "decisions": decisions}


def clean(data: Mapping[str, Any] | None) -> ArgumentMap:
    """Return the valid entries of untrusted data as a map."""
    found = data if isinstance(data, Mapping) else {}
    nodes = [_node(value) for value in _values(found, "nodes")]
    relations = [_relation(value) for value in _values(found, "relations")]
    decisions = found.get("decisions")
    return {
        "nodes": {node["id"]: node for node in sorted(filter(None, nodes), key=_node_order)},
        "relations": {relation_id_of(r): r for r in relations if r},
        "decisions": {
            key: _decision(value)
            for key, value in (decisions if isinstance(decisions, Mapping) else {}).items()
            if isinstance(key, str) and _is_decision(value)
        },
    }


# ── private ──

_TEXTS = ("message", "said", "file", "version", "quote")
_NUMBERS = ("start", "end")


def _in_order(nodes: Iterable[Node]) -> list[Node]:
    return sorted(nodes, key=lambda node: (KINDS.index(node["kind"]), node["id"]))


def _values(data: Mapping[str, Any], part: str) -> list[Any]:
    values = data.get(part)
    return list(values.values()) if isinstance(values, Mapping) else []


def _node(value: Any) -> Node | None:
    if not isinstance(value, Mapping) or value.get("kind") not in KINDS:
        return None
    text, author = value.get("text"), value.get("author")
    if not isinstance(text, str) or not isinstance(author, str) or not 0 < len(text) <= MAX_TEXT:
        return None
    kind: Kind = value["kind"]
    node_id = node_id_of(kind, text)
    source = _source(value.get("source"))
    return {"id": node_id, "kind": kind, "text": text, "author": author, "source": source}


def _source(value: Any) -> Source:
    given = value if isinstance(value, Mapping) else {}
    kept: dict[str, Any] = {key: given[key] for key in _TEXTS if isinstance(given.get(key), str)}
    kept |= {key: given[key] for key in _NUMBERS if type(given.get(key)) is int}
    return kept  # type: ignore[return-value]  # each key has the type that Source says


def _relation(value: Any) -> Relation | None:
    if not isinstance(value, Mapping) or value.get("kind") not in RELATION_KINDS:
        return None
    origin, target = value.get("origin"), value.get("target")
    if not isinstance(origin, str) or not isinstance(target, str) or origin == target:
        return None
    return {"origin": origin, "kind": value["kind"], "target": target}


def _is_decision(value: Any) -> bool:
    if not isinstance(value, Mapping) or value.get("status") not in STATUSES:
        return False
    return type(value.get("revision")) is int


def _decision(value: Mapping[str, Any]) -> Decision:
    decision: Decision = {"status": value["status"], "revision": value["revision"]}
    reason = value.get("reason")
    if isinstance(reason, str) and reason:
        decision["reason"] = reason[:MAX_TEXT]
    return decision


def _node_order(node: Node) -> tuple[int, str]:
    """Order nodes with the same id by the quality of their source."""
    rank = 2 if "file" in node["source"] else 1 if "said" in node["source"] else 0
    return rank, json.dumps(node, sort_keys=True)


def _decision_order(decision: Decision) -> tuple[int, int, str]:
    status = STATUSES.index(decision["status"])
    return decision["revision"], status, decision.get("reason", "")


def _unknown(known: ArgumentMap, node_id: str) -> ArgumentMapError:
    ids = ", ".join(node["id"] for node in live_nodes(known)[:20])
    return ArgumentMapError(f"Node not found: '{node_id}'", hint=ids or "the map is empty")
