"""Maps for tests: small ones by hand, any by hypothesis."""

from hypothesis import strategies as st

from bathysphere.argument.map import KINDS, RELATION_KINDS, STATUSES, add, clean, empty, relate

FILE = {"file": "f1", "version": "1", "start": 0, "end": 9, "quote": "the words"}


def build_map(*nodes):
    """`("claim", "text", relation, target text)` rows; returns the map and ids by text."""
    known, ids = empty(), {}
    for kind, text, *bond in nodes:
        known, ids[text] = add(known, kind, text, author="person")
        if bond:
            known = relate(known, ids[text], bond[0], ids[bond[1]])
    return known, ids


WORDS = st.sampled_from(["money is trust", "gold is scarce", "Gold is  scarce", "so it holds", "x"])
NODES = st.fixed_dictionaries(
    {
        "kind": st.sampled_from(KINDS),
        "text": WORDS,
        "author": st.sampled_from(["person", "tutor"]),
        "source": st.sampled_from([{}, {"message": "m1"}, {"message": "m", "said": "x"}, FILE]),
    }
)
DECISIONS = st.fixed_dictionaries(
    {"status": st.sampled_from(STATUSES), "revision": st.integers(0, 3)}
)


@st.composite
def maps(draw):
    nodes = clean({"nodes": dict(enumerate(draw(st.lists(NODES, max_size=5))))})["nodes"]
    ids = [*nodes, "claim-00000000"]
    ends = st.sampled_from(ids)
    rows = st.tuples(ends, st.sampled_from(RELATION_KINDS), ends)
    relations = [
        {"origin": origin, "kind": kind, "target": target}
        for origin, kind, target in draw(st.lists(rows, max_size=4))
    ]
    decisions = draw(st.dictionaries(ends, DECISIONS, max_size=3))
    return clean({"nodes": nodes, "relations": dict(enumerate(relations)), "decisions": decisions})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "nodes",
                    "relations",
                    "decisions",
                    "kind",
                    "text",
                    "author",
                    "source",
                    "claim",
                    "x",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
