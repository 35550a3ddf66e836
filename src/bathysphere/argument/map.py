"""The argument map: claims, premises, evidence, objections, replies, and how they bear on another.

A map is plain JSON data in three parts. `nodes` and `relations` never change once they are there:
a node's id is made from its kind and words, so two writers who add the same thing add one thing.
`decisions` is the person's part: what they accepted or refused. Every operation returns a new map.
`merge` joins two maps in any order, any grouping and any number of times with the same result,
so it can be the reducer of graph state while several writers add at once.
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
"""Which kinds may stand in which relation to which."""


class ArgumentMapError(CallerError):
    """What was asked of the map cannot be; the message says why."""

    code = "argument_map_error"


class Source(TypedDict):
    """Where a node comes from: a message, and perhaps words in it; or a span of a file."""

    message: NotRequired[str]
    said: NotRequired[str]
    file: NotRequired[str]
    version: NotRequired[str]
    start: NotRequired[int]
    end: NotRequired[int]
    quote: NotRequired[str]


class Node(TypedDict):
    """One thing that was put forward."""

    id: str
    kind: Kind
    text: str
    author: str
    source: Source


class Relation(TypedDict):
    """How one node bears on another."""

    origin: str
    kind: RelationKind
    target: str


class Decision(TypedDict):
    """What the person said of a node; the highest revision counts."""

    status: Status
    revision: int
    reason: NotRequired[str]
    """Why, in the person's words."""


class ArgumentMap(TypedDict):
    """A whole map."""

    nodes: dict[str, Node]
    relations: dict[str, Relation]
    decisions: dict[str, Decision]


class Added(NamedTuple):
    """A map with a node in it, and the node's id."""

    map: ArgumentMap
    id: str


# ── operations ──


def empty() -> ArgumentMap:
    """A map with nothing in it."""
    return {"nodes": {}, "relations": {}, "decisions": {}}


def add(
    known: ArgumentMap, kind: Kind, text: str, *, author: str, source: Source | None = None
) -> Added:
    """Add a node; the same words again are the same node.

    Raises:
        ArgumentMapError: There are no words or too many, or the person refused this node before.
    """
    words = " ".join(text.split())
    if kind not in KINDS:
        raise ArgumentMapError(f"there is no kind '{kind}'", hint=f"choose {', '.join(KINDS)}")
    if not words or len(words) > MAX_TEXT:
        raise ArgumentMapError(
            f"a node needs 1 to {MAX_TEXT} characters, not {len(words)}",
            hint="say one thing in one sentence",
        )
    node_id = node_id_of(kind, words)
    if status_of(known, node_id) == "refused":
        raise ArgumentMapError(f"the person refused {node_id}", hint="put forward something else")
    if node_id not in known["nodes"] and len(known["nodes"]) >= MAX_NODES:
        raise ArgumentMapError(f"the map is full: it has {MAX_NODES} nodes")
    node: Node = {
        "id": node_id,
        "kind": kind,
        "text": words,
        "author": author,
        "source": source or {},
    }
    return Added(merge(known, {"nodes": {node_id: node}}), node_id)


def relate(known: ArgumentMap, origin: str, kind: RelationKind, target: str) -> ArgumentMap:
    """Say how one node bears on another.

    Raises:
        ArgumentMapError: A node is missing or refused, or kinds like these cannot stand so.
    """
    if kind not in RELATION_KINDS:
        hint = f"choose {', '.join(RELATION_KINDS)}"
        raise ArgumentMapError(f"there is no relation '{kind}'", hint=hint)
    first, second = standing(known, origin), standing(known, target)
    if origin == target:
        raise ArgumentMapError(f"{origin} cannot bear on itself")
    origins, targets = MAY[kind]
    if first["kind"] not in origins or second["kind"] not in targets:
        raise ArgumentMapError(
            f"{_a(first['kind'])} cannot stand in '{kind}' to {_a(second['kind'])}",
            hint=f"'{kind}' goes from {' or '.join(origins)} to {' or '.join(targets)}",
        )
    relation: Relation = {"origin": origin, "kind": kind, "target": target}
    return merge(known, {"relations": {relation_id_of(relation): relation}})


def decide(known: ArgumentMap, node_id: str, status: Status, *, reason: str = "") -> ArgumentMap:
    """Write down what the person said of a node: nobody else may call this.

    Raises:
        ArgumentMapError: There is no such node or status.
    """
    if node_id not in known["nodes"]:
        raise _unknown(known, node_id)
    if status not in STATUSES:
        raise ArgumentMapError(f"there is no status '{status}'")
    before = known["decisions"].get(node_id)
    decision: Decision = {"status": status, "revision": before["revision"] + 1 if before else 1}
    if reason.strip():
        decision["reason"] = reason.strip()
    return merge(known, {"decisions": {node_id: decision}})


def standing(known: ArgumentMap, node_id: str) -> Node:
    """A node that is there and was not refused.

    Raises:
        ArgumentMapError: It is not.
    """
    if node_id not in known["nodes"]:
        raise _unknown(known, node_id)
    if status_of(known, node_id) == "refused":
        raise ArgumentMapError(f"the person refused {node_id}")
    return known["nodes"][node_id]


def status_of(known: ArgumentMap, node_id: str) -> Status:
    """What the person said of a node; a node that they said nothing of is proposed."""
    decision = known["decisions"].get(node_id)
    return decision["status"] if decision else "proposed"


def live_nodes(known: ArgumentMap) -> list[Node]:
    """The nodes that were not refused, in a fixed order: by kind, then id."""
    nodes = known["nodes"].values()
    return _in_order(node for node in nodes if status_of(known, node["id"]) != "refused")


def refused_nodes(known: ArgumentMap) -> list[tuple[Node, str]]:
    """What the person refused, in a fixed order, with the reason where they gave one."""
    nodes = known["nodes"].values()
    gone = _in_order(node for node in nodes if status_of(known, node["id"]) == "refused")
    return [(node, known["decisions"][node["id"]].get("reason", "")) for node in gone]


def live_relations(known: ArgumentMap) -> list[Relation]:
    """The relations between nodes that were not refused, in a fixed order."""
    live = {node["id"] for node in live_nodes(known)}
    found = [known["relations"][key] for key in sorted(known["relations"])]
    return [r for r in found if r["origin"] in live and r["target"] in live]


def node_id_of(kind: Kind, text: str) -> str:
    """The id of a node: its kind and a hash of its words."""
    words = " ".join(text.split()).casefold()
    return f"{kind}-{hashlib.sha256(words.encode('utf-8', 'replace')).hexdigest()[:8]}"


def relation_id_of(relation: Relation) -> str:
    """The key of a relation."""
    return f"{relation['origin']} {relation['kind']} {relation['target']}"


# ── joining ──


def merge(left: Mapping[str, Any] | None, right: Mapping[str, Any] | None) -> ArgumentMap:
    """Join two maps, or parts of maps: associative, commutative, idempotent, and never raises.

    What is not well formed is left out, so that nothing a client sends can block a thread.
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
    """The well-formed part of what claims to be a map."""
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
    """Of two nodes with the same words the one with the better source counts."""
    rank = 2 if "file" in node["source"] else 1 if "said" in node["source"] else 0
    return rank, json.dumps(node, sort_keys=True)


def _decision_order(decision: Decision) -> tuple[int, int, str]:
    status = STATUSES.index(decision["status"])
    return decision["revision"], status, decision.get("reason", "")


def _unknown(known: ArgumentMap, node_id: str) -> ArgumentMapError:
    ids = ", ".join(node["id"] for node in live_nodes(known)[:20])
    return ArgumentMapError(f"there is no node '{node_id}'", hint=ids or "the map is empty")


def _a(kind: Kind) -> str:
    return f"an {kind}" if kind == "objection" else kind if kind == "evidence" else f"a {kind}"
