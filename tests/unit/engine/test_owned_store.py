"""Two owners in one store never meet, whatever namespaces their graphs use."""

from hypothesis import given
from hypothesis import strategies as st
from langgraph.store.memory import InMemoryStore

from bathysphere.core.identity import Owner
from bathysphere.core.writers import thread_namespace
from bathysphere.engine.attempt_services.owned_store import OwnedStore
from bathysphere.engine.namespaces import engine_thread_namespace, owner_namespace

names = st.sampled_from(["a", "a.b", "a%2Eb", "owners", "b"])
owners = st.builds(lambda t, u: Owner(tenant=t, user=u), names, names)
parts = st.lists(st.sampled_from(["owners", "a", "b", "notes"]), min_size=1, max_size=3).map(tuple)


def everything(store):
    return {(item.namespace, item.key): item.value for item in store.search((), limit=1000)}


@given(
    owners,
    owners,
    st.lists(st.tuples(st.booleans(), parts, st.sampled_from(["k", "l"])), max_size=12),
)
def test_each_owner_sees_exactly_what_they_put(one, other, writes):
    if one == other:
        return
    store = InMemoryStore()
    mine, theirs = OwnedStore(store, one), OwnedStore(store, other)
    expected = ({}, {})
    for number, (is_mine, namespace, key) in enumerate(writes):
        (mine if is_mine else theirs).put(namespace, key, {"n": number})
        expected[0 if is_mine else 1][namespace, key] = {"n": number}
    for view, known in ((mine, expected[0]), (theirs, expected[1])):
        assert everything(view) == known
        assert set(view.list_namespaces()) == {namespace for namespace, _ in known}
        for (namespace, key), value in known.items():
            assert view.get(namespace, key).value == value
            assert view.list_namespaces(prefix=namespace[:1])


async def test_deleting_reaches_only_ones_own():
    store = InMemoryStore()
    alice = OwnedStore(store, Owner(tenant="t", user="alice"))
    bob = OwnedStore(store, Owner(tenant="t", user="bob"))
    await alice.aput(("notes",), "k", {"of": "alice"})
    await bob.adelete(("notes",), "k")
    item = await alice.aget(("notes",), "k")
    assert item.value == {"of": "alice"}
    assert item.namespace == ("notes",)


def test_what_the_engine_keeps_is_below_another_root():
    store = InMemoryStore()
    owner = Owner(tenant="t", user="alice")
    view = OwnedStore(store, owner)
    space = thread_namespace("one")
    view.put((*space, "snapshots"), "k", {"n": 1})
    view.put(("notes",), "k", {"n": 2})
    assert view.get((*space, "snapshots"), "k").value == {"n": 1}
    assert [item.key for item in view.search(space)] == ["k"]
    assert everything(view) == {(("notes",), "k"): {"n": 2}}
    assert len(store.search(engine_thread_namespace(owner, "one"))) == 1
    assert not store.search((*owner_namespace(owner), *space))
