"""Exports: what is on paper is what is in the map."""

import json
import re

import pytest
from argument_maps import build_map, maps
from hypothesis import given

from bathysphere.argument.export import from_json, outline, to_argdown, to_json, to_markdown
from bathysphere.argument.map import (
    ArgumentMapError,
    decide,
    live_nodes,
    live_relations,
    relate,
)


def example():
    known, ids = build_map(
        ("claim", "Money is trust."),
        ("premise", "Paper has no use.", "supports", "Money is trust."),
        ("objection", "Gold has [some] use.", "attacks", "Money is trust."),
        ("reply", "Its price is not its use.", "answers", "Gold has [some] use."),
    )
    return decide(known, ids["Money is trust."], "accepted"), ids


def test_markdown_nests_what_bears_on_a_node_under_it():
    known, ids = example()
    claim, premise, objection, reply = ids.values()
    lines = to_markdown(known, title="Money").splitlines()
    assert lines[0] == "# Money"
    assert f"- **{claim}** Money is trust. (accepted; person)" in lines
    assert f"  - supports: **{premise}** Paper has no use. (not yet accepted; person)" in lines
    assert any(line.startswith(f"  - attacks: **{objection}**") for line in lines)
    assert any(line.startswith(f"    - answers: **{reply}**") for line in lines)
    assert lines[-1] == f"- {claim} has only one support."


def test_argdown_has_every_statement_and_sign():
    known, ids = example()
    claim, premise, objection, reply = ids.values()
    text = to_argdown(known)
    assert f"[{claim}]: Money is trust.\n  - [{objection}]\n  + [{premise}]" in text
    assert f"[{objection}]: Gold has \\[some\\] use.\n  - [{reply}]" in text


def test_argdown_escapes_what_has_a_meaning_there():
    known, _ = build_map(("claim", "See https://a.org/*b* {c} @d #e <f> _g_ \\ == h, 1/2."))
    text = r"See https:\/\/a.org\/\*b\* \{c\} \@d \#e \<f\> \_g\_ \\ \=\= h, 1/2."
    assert f": {text}\n" in to_argdown(known)


def test_a_circle_does_not_make_the_outline_endless():
    known, ids = build_map(("claim", "a"), ("claim", "b", "supports", "a"))
    known = relate(known, ids["a"], "supports", ids["b"])
    assert outline(known).count("(above)") == 1


@given(maps())
def test_json_comes_back_as_it_went(known):
    known["relations"] = {
        key: r
        for key, r in known["relations"].items()
        if r["origin"] in known["nodes"] and r["target"] in known["nodes"]
    }
    known["decisions"] = {k: d for k, d in known["decisions"].items() if k in known["nodes"]}
    assert from_json(to_json(known)) == known


@given(maps())
def test_every_node_that_stands_is_on_paper_once_and_no_refused_one(known):
    ids = [node["id"] for node in live_nodes(known)]
    shown = re.findall(r"\*\*(\w+-\w+)\*\*(?! \(above\))", outline(known))
    assert sorted(shown) == sorted(ids)
    argdown = to_argdown(known)
    assert sorted(re.findall(r"^\[(\S+)\]:", argdown, re.MULTILINE)) == sorted(ids)
    assert len(re.findall(r"^  [+-] ", argdown, re.MULTILINE)) == len(live_relations(known))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda d: d.pop("format"), "Not an argument map"),
        (lambda d: d.update(version=9), "Unsupported version of an argument map: 9"),
        (lambda d: d.pop("decisions"), "Invalid entries in the argument map: decisions"),
        (
            lambda d: next(iter(d["nodes"].values())).update(kind="rumour"),
            "Invalid entries .*: nodes",
        ),
        (lambda d: d["nodes"].popitem(), "Unknown nodes in the argument map"),
    ],
)
def test_a_file_that_is_not_a_map_is_refused_with_the_reason(change, why):
    data = json.loads(to_json(example()[0]))
    change(data)
    with pytest.raises(ArgumentMapError, match=why):
        from_json(json.dumps(data))


def test_text_that_is_not_json_says_so():
    with pytest.raises(ArgumentMapError, match="Invalid JSON"):
        from_json("{")
