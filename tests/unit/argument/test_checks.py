"""The checks: what is missing in an argument, by rule."""

import pytest
from argument_maps import FILE, build_map, maps
from hypothesis import given

from bathysphere.argument.checks import check, unanswered_objections
from bathysphere.argument.map import add, decide, live_nodes, relate
from bathysphere.argument.moves import MOVES


def names(known):
    return [finding["check"] for finding in check(known)]


@pytest.mark.parametrize(
    ("nodes", "found"),
    [
        ([], []),
        ([("claim", "a")], ["claim_without_premise"]),
        ([("claim", "a"), ("premise", "b", "supports", "a")], ["single_support"]),
        (
            [("claim", "a"), ("premise", "b", "supports", "a"), ("premise", "c", "supports", "a")],
            [],
        ),
        ([("premise", "a")], ["unconnected"]),
        (
            [("claim", "a"), ("evidence", "b", "supports", "a")],
            ["evidence_without_source", "single_support"],
        ),
        (
            [("claim", "a"), ("objection", "b", "attacks", "a")],
            ["unanswered_objection", "claim_without_premise"],
        ),
        (
            [
                ("claim", "a"),
                ("objection", "b", "attacks", "a"),
                ("reply", "c", "answers", "b"),
            ],
            ["claim_without_premise"],
        ),
    ],
)
def test_what_is_missing_is_found(nodes, found):
    assert names(build_map(*nodes)[0]) == found


def test_evidence_with_a_file_behind_it_has_a_source():
    known, ids = build_map(("claim", "a"))
    known, node = add(known, "evidence", "b", author="tutor", source=FILE)
    assert names(relate(known, node, "supports", ids["a"])) == ["single_support"]


def test_evidence_that_was_only_said_has_no_source_that_can_be_checked():
    known, ids = build_map(("claim", "a"))
    source = {"message": "m1", "said": "b"}
    known, node = add(known, "evidence", "b", author="person", source=source)
    found = check(relate(known, node, "supports", ids["a"]))
    assert (found[0]["check"], found[0]["nodes"]) == ("evidence_without_source", [node])


def test_a_circle_is_found_once_however_long_it_is():
    known, ids = build_map(("claim", "a"), ("claim", "b"), ("claim", "c"), ("premise", "p"))
    for origin, target in ("ab", "bc", "ca", "pa"):
        known = relate(known, ids[origin], "supports", ids[target])
    circle = next(f for f in check(known) if f["check"] == "circular_support")
    assert circle["nodes"] == sorted(ids[name] for name in "abc")
    assert names(known).count("circular_support") == 1


def test_two_circles_are_two_findings():
    known, ids = build_map(*(("claim", name) for name in "abcd"))
    for origin, target in ("ab", "ba", "cd", "dc"):
        known = relate(known, ids[origin], "supports", ids[target])
    assert names(known).count("circular_support") == 2


def test_a_claim_whose_only_premise_was_refused_lost_its_support():
    known, ids = build_map(("claim", "a"), ("premise", "b", "supports", "a"))
    known = decide(known, ids["b"], "refused")
    assert names(known) == ["lost_support"]


def test_a_refused_reply_answers_nothing():
    known, ids = build_map(
        ("claim", "a"), ("objection", "b", "attacks", "a"), ("reply", "c", "answers", "b")
    )
    assert unanswered_objections(known) == []
    assert unanswered_objections(decide(known, ids["c"], "refused")) == [ids["b"]]
    assert unanswered_objections(decide(known, ids["b"], "refused")) == []


@given(maps())
def test_findings_are_the_same_each_time_and_speak_of_nodes_that_stand(known):
    findings = check(known)
    assert findings == check(known)
    live = {node["id"] for node in live_nodes(known)}
    for finding in findings:
        assert finding["nodes"]
        assert set(finding["nodes"]) <= live
        assert finding["move"] in MOVES
