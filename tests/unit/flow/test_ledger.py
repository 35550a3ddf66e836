"""The ledger merges in any order, adds nothing twice, and void entries vouch for nothing."""

from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from bathysphere.flow import Ledger, Step, ledger, merge
from bathysphere.flow.ledger import additions, merge_writes

KEYS = st.sampled_from("abc")
VALUES = st.sampled_from(["x", "y", "1", True])
ENTRIES = st.one_of(
    st.builds(ledger.said, KEYS, st.sampled_from(["hi", "ho"])),
    st.builds(ledger.planned, KEYS, st.lists(st.builds(Step, id=KEYS, tool=KEYS), max_size=2)),
    st.builds(ledger.claimed, KEYS, KEYS, KEYS),
    st.builds(ledger.refused, KEYS, KEYS),
    st.builds(ledger.approved, KEYS, KEYS, st.dictionaries(KEYS, VALUES), st.just({})),
    st.builds(ledger.found, KEYS, KEYS, st.dictionaries(KEYS, VALUES)),
    st.builds(ledger.linked, KEYS, KEYS, st.lists(st.sampled_from(["a.com", "b.com"]))),
    st.builds(ledger.made, KEYS, st.just("id:file"), VALUES),
    st.builds(ledger.named, st.lists(KEYS)),
    st.builds(ledger.marked, st.sampled_from(["untrusted", "secret", "secret_unplanned"])),
    st.builds(ledger.trusted, KEYS, KEYS, KEYS, st.lists(KEYS, max_size=2)),
    st.builds(ledger.revoked, st.lists(st.sampled_from(["a a", "a b", "b a"]), max_size=2)),
)
LEDGERS = st.lists(ENTRIES, max_size=6).map(lambda entries: reduce(merge, entries, {}))
FORGED = st.recursive(
    st.none() | st.booleans() | st.text(max_size=2), lambda inner: st.dictionaries(KEYS, inner)
).map(lambda value: value if isinstance(value, dict) else {"a": value})
ANY = LEDGERS | FORGED


@given(ANY, ANY)
def test_merging_is_commutative(one, other):
    assert merge(one, other) == merge(other, one)


@given(ANY, ANY, ANY)
def test_merging_is_associative(one, two, three):
    assert merge(merge(one, two), three) == merge(one, merge(two, three))


@given(ANY, ANY)
def test_merging_is_idempotent(one, other):
    assert merge(one, one) == one
    both = merge(one, other)
    assert merge(both, other) == both == merge(both, one)


@given(LEDGERS, st.lists(LEDGERS, max_size=4), st.lists(LEDGERS, max_size=4))
def test_writes_may_be_merged_in_any_batches(start, first, second):
    apart = merge_writes(merge_writes(start, first), second)
    assert apart == merge_writes(start, [*first, *second])


@given(ANY, ANY)
def test_the_additions_to_a_ledger_are_enough(one, other):
    both = merge(one, other)
    assert merge(one, additions(both, one)) == both
    assert additions(one, one) == {}


@given(LEDGERS, LEDGERS)
def test_merging_loses_no_mark_no_claim_and_no_refusal(one, other):
    both, parts = Ledger(merge(one, other)), (Ledger(one), Ledger(other))
    for mark in ("untrusted", "secret", "secret_unplanned"):
        assert both.has(mark) == any(part.has(mark) for part in parts)
    for run in "abc":
        assert both.refusals(run) >= max(part.refusals(run) for part in parts)
        for part in parts:
            released = both.entries.get("released", {})
            for call, used in part.entries.get("claims", {}).items():
                if call not in released:
                    assert all(both.uses(*key.split()) for key in used)


def test_a_record_that_was_found_twice_with_different_values_vouches_for_nothing():
    both = merge(ledger.found("r", "s", {"email": "a"}), ledger.found("r", "s", {"email": "b"}))
    assert Ledger(both).field_found("r", "s", "email") is None
    again = merge(both, ledger.found("r", "s", {"email": "a"}))
    assert Ledger(again).field_found("r", "s", "email") is None


def test_two_plans_of_one_run_are_none():
    one, other = Step(id="1", tool="send"), Step(id="1", tool="delete")
    both = Ledger(merge(ledger.planned("r", [one]), ledger.planned("r", [other])))
    assert both.steps("r") == []
    assert both.is_planned("r")


def test_a_void_mark_and_a_void_claim_still_count():
    torn = merge({"marks": {"untrusted": True}}, {"marks": {"untrusted": "no"}})
    assert Ledger(torn).has("untrusted")
    torn = merge(ledger.claimed("r", "1", "call"), {"claims": {"call": "no"}})
    assert Ledger(torn).uses("r", "1") == 1
    torn = merge(merge(torn, ledger.refused("r", "call")), {"released": {"call": "maybe"}})
    assert Ledger(torn).uses("r", "1") == 1


def test_a_refused_call_uses_no_step():
    used = merge(ledger.claimed("r", "1", "call"), ledger.refused("r", "call"))
    assert Ledger(used).uses("r", "1") == 0


def test_a_step_is_kept_as_it_was_planned():
    step = Step("1", "send", {"to": ["a", "b"], "amount": 5}, {"id": "2.id"}, many=True)
    assert Ledger(ledger.planned("r", [step])).steps("r") == [step]


@given(LEDGERS, LEDGERS, KEYS, KEYS)
def test_a_trust_taken_back_stays_so_in_every_order(one, other, call, source):
    given_ = ledger.trusted(call, source, "the page", ["x"])
    taken = ledger.revoked([f"{call} {source}"])
    for entries in ([one, given_, taken, other], [taken, other, given_, one, given_]):
        assert f"{call} {source}" not in Ledger(reduce(merge, entries, {})).trusts


def test_trusting_again_is_another_trust():
    entries = [ledger.trusted("1", "s", "the page", ["x"]), ledger.revoked(["1 s"])]
    again = ledger.trusted("2", "s", "the page", ["x"])
    assert Ledger(reduce(merge, entries, {})).trusted_texts == []
    assert Ledger(reduce(merge, [again, *entries], {})).trusted_texts == ["x"]


def test_a_trust_written_twice_with_different_texts_is_void():
    entries = [ledger.trusted("1", "s", "the page", [text]) for text in ("x", "y")]
    assert Ledger(reduce(merge, entries, {})).trusts == {}
