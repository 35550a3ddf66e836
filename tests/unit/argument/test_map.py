"""The argument map: operations say why not, and merging forgets nothing."""

import json

import pytest
from argument_maps import FILE, JSON, build_map, maps
from hypothesis import given

from bathysphere.argument.map import (
    MAX_NODES,
    MAX_TEXT,
    ArgumentMapError,
    add,
    clean,
    decide,
    empty,
    live_nodes,
    live_relations,
    merge,
    node_id_of,
    refused_nodes,
    relate,
    status_of,
)


def test_a_node_is_added_with_its_words_squeezed_and_its_source():
    known, node = add(empty(), "claim", " Money  is\ntrust. ", author="person", source=FILE)
    assert known["nodes"][node] == {
        "id": node,
        "kind": "claim",
        "text": "Money is trust.",
        "author": "person",
        "source": FILE,
    }
    assert status_of(known, node) == "proposed"
    assert node == node_id_of("claim", "money is TRUST.")


def test_the_same_words_again_are_the_same_node_and_keep_the_better_source():
    known, node = add(empty(), "claim", "Money is trust.", author="tutor", source=FILE)
    again, same = add(known, "claim", "money is trust.", author="tutor", source={"message": "m"})
    assert same == node
    assert again["nodes"][node]["source"] == FILE


def test_an_operation_changes_nothing_of_the_map_it_was_given():
    known, ids = build_map(("claim", "a"), ("premise", "b"))
    before = json.dumps(known)
    relate(known, ids["b"], "supports", ids["a"])
    decide(known, ids["a"], "accepted")
    assert json.dumps(known) == before


@pytest.mark.parametrize(
    ("kind", "text", "why"),
    [
        ("rumour", "a", "Unknown kind of node: 'rumour'"),
        ("claim", "  ", "not 0"),
        ("claim", "a" * (MAX_TEXT + 1), str(MAX_TEXT + 1)),
    ],
)
def test_a_node_that_cannot_be_says_why(kind, text, why):
    with pytest.raises(ArgumentMapError, match=why):
        add(empty(), kind, text, author="tutor")


def test_a_full_map_takes_no_more_but_still_knows_what_it_has():
    known = empty()
    for number in range(MAX_NODES):
        known, _ = add(known, "claim", f"claim {number}", author="tutor")
    with pytest.raises(ArgumentMapError, match="full"):
        add(known, "claim", "one more", author="tutor")
    assert len(add(known, "claim", "claim 7", author="tutor").map["nodes"]) == MAX_NODES


def test_what_the_person_refused_is_gone_and_cannot_be_put_forward_again():
    known, ids = build_map(("claim", "a"), ("premise", "b", "supports", "a"))
    known = decide(known, ids["b"], "refused")
    assert [node["id"] for node in live_nodes(known)] == [ids["a"]]
    assert live_relations(known) == []
    with pytest.raises(ArgumentMapError, match=f"refused this node: {ids['b']}"):
        add(known, "premise", "B", author="tutor")
    with pytest.raises(ArgumentMapError, match=f"refused this node: {ids['b']}"):
        relate(known, ids["b"], "supports", ids["a"])


def test_the_person_can_think_again():
    known, ids = build_map(("claim", "a"))
    for status in ("refused", "accepted", "proposed", "accepted"):
        known = decide(known, ids["a"], status)
        assert status_of(known, ids["a"]) == status
    with pytest.raises(ArgumentMapError, match="Unknown status"):
        decide(known, ids["a"], "maybe")
    with pytest.raises(ArgumentMapError, match="Node not found"):
        decide(known, "claim-00000000", "accepted")


def test_a_decision_keeps_its_reason_until_the_next_one():
    known, ids = build_map(("claim", "a"))
    known = decide(known, ids["a"], "refused", reason=" Too broad. ")
    assert [(node["id"], why) for node, why in refused_nodes(known)] == [(ids["a"], "Too broad.")]
    assert merge(known, {"decisions": {ids["a"]: {"status": "refused", "revision": 1}}}) == known
    known = decide(known, ids["a"], "refused")
    assert [why for _, why in refused_nodes(known)] == [""]
    odd = {"decisions": {ids["a"]: {"status": "refused", "revision": 3, "reason": 7}}}
    assert merge(known, odd)["decisions"][ids["a"]] == {"status": "refused", "revision": 3}


@pytest.mark.parametrize(
    ("origin", "kind", "target", "why"),
    [
        ("b", "supports", "b", "related to itself"),
        ("a", "answers", "b", "Invalid relation: claim 'answers' premise"),
        ("b", "attacks", "a", "Invalid relation: premise 'attacks'"),
        ("b", "likes", "a", "Unknown relation: 'likes'"),
        ("b", "supports", "nothing", "Node not found: 'nothing'"),
    ],
)
def test_a_relation_that_cannot_be_says_why(origin, kind, target, why):
    known, ids = build_map(("claim", "a"), ("premise", "b"))
    with pytest.raises(ArgumentMapError, match=why):
        relate(known, ids[origin], kind, ids.get(target, target))


# ── merging ──


@given(maps(), maps(), maps())
def test_merging_does_not_depend_on_order_grouping_or_repetition(a, b, c):
    assert merge(merge(a, b), c) == merge(a, merge(b, c))
    assert merge(a, b) == merge(b, a)
    assert merge(a, a) == a
    assert merge(merge(a, b), b) == merge(a, b)
    assert merge(a, None) == merge(None, a) == a


@given(maps(), maps())
def test_merging_loses_no_node_and_no_relation(a, b):
    joined = merge(a, b)
    assert set(joined["nodes"]) == set(a["nodes"]) | set(b["nodes"])
    assert set(joined["relations"]) == set(a["relations"]) | set(b["relations"])
    for node in joined["decisions"]:
        revisions = [m["decisions"][node]["revision"] for m in (a, b) if node in m["decisions"]]
        assert joined["decisions"][node]["revision"] == max(revisions)


@given(maps(), JSON)
def test_nothing_a_client_sends_breaks_the_map(known, sent):
    joined = merge(known, sent)
    assert clean(joined) == joined
    assert set(known["nodes"]) <= set(joined["nodes"])
    json.dumps(joined)


def test_two_writers_who_add_at_once_both_stay():
    start, ids = build_map(("claim", "a"))
    left, one = add(start, "premise", "b", author="advocate")
    left = relate(left, one, "supports", ids["a"])
    right, two = add(start, "objection", "c", author="sceptic")
    right = relate(right, two, "attacks", ids["a"])
    joined = merge(merge(start, left), right)
    assert set(joined["nodes"]) == {ids["a"], one, two}
    assert len(joined["relations"]) == 2


def test_a_client_cannot_smuggle_in_a_node_under_another_id():
    known, ids = build_map(("claim", "a"))
    forged = {"id": ids["a"], "kind": "claim", "text": "z", "author": "tutor", "source": {}}
    joined = merge(known, {"nodes": {ids["a"]: forged}})
    assert joined["nodes"][ids["a"]]["text"] == "a"
    assert joined["nodes"][node_id_of("claim", "z")]["text"] == "z"
