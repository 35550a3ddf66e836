"""The history's reducer appends quickly and still does all that deepagents' does."""

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from bathysphere.harness.state import merge_messages
from bathysphere.upstream import merge_message_writes

ids = st.sampled_from(["a", "b", "c", "d", None])
written = st.one_of(
    st.builds(lambda i, t: HumanMessage(t, id=i), ids, st.text(max_size=3)),
    st.builds(lambda i, t: AIMessage(t, id=i), ids, st.text(max_size=3)),
    st.builds(lambda i: RemoveMessage(id=i), st.sampled_from(["a", "b", REMOVE_ALL_MESSAGES])),
    st.builds(lambda t: ("user", t), st.text(max_size=3)),
)
batches = st.lists(st.one_of(st.lists(written, max_size=3), written), max_size=4)


@given(st.lists(batches, max_size=4))
def test_it_gives_what_deepagents_reducer_gives(steps):
    ours = theirs = None
    for writes in steps:
        ours, theirs = merge_messages(ours, writes), merge_message_writes(theirs, writes)
        assert [(m.type, m.id, m.content) for m in ours] == [
            (m.type, m.id, m.content) for m in theirs
        ]


def test_two_new_messages_of_one_id_are_one():
    first, second = HumanMessage("1", id="a"), HumanMessage("2", id="a")
    assert merge_messages([], [[first, second]]) == [second]
