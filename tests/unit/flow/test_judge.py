"""The rule: what runs unasked, and for each other call the reason."""

import pytest

from bathysphere.core.errors import ConfigError
from bathysphere.flow import Call, FlowPolicy, Ledger, Lookup, Step, flow, judge, ledger, merge
from bathysphere.flow.provenance import Source, explain
from bathysphere.flow.records import data_of, find, made, names

POLICY = FlowPolicy(
    tools={
        "send_email": flow(
            acts=True, sends=True, to="who", cc="who", attachments="id:file", body="text"
        ),
        "send_money": flow(acts=True, sends=True, recipient="who", amount="amount", date="when"),
        "delete_file": flow(acts=True, file_id="id:file"),
        "create_file": flow(acts=True, makes={"id": "id:file"}, name="what", content="text"),
        "post": flow(acts=True, sends=True, channel="inside", body="text"),
        "book": flow(acts=True, sends=True, hotel="what", start="when"),
        "fetch": flow(sends=True, url="where"),
        "open": flow(sends=True),
        "search": flow(sends=True, query="query", limit="flag"),
        "find_contact": flow(finds=Lookup(("name",), "name", {"email": "who", "id": "id:person"})),
        "read_page": flow(),
        "notes": flow(reads="trusted"),
    }
)
RUN = "run"
CONTACT = Step("look", "find_contact", {"name": "Bob"})


def known(*steps, words="", marks=("untrusted",), more=()):
    """A ledger with a plan, in which something untrusted was read."""
    entries = merge(ledger.planned(RUN, steps), ledger.marked(*marks))
    for entry in (ledger.said("m1", words), *more):
        entries = merge(entries, entry)
    return Ledger(entries)


def verdict(entries, tool, key="call", **arguments):
    return judge(Call(key, tool, arguments), entries, POLICY, run=RUN)


def whys(entries, tool, **arguments):
    return [(r.why, r.argument) for r in verdict(entries, tool, **arguments).reasons]


# ── control ──


def test_before_anything_untrusted_is_read_every_call_is_free():
    assert verdict(known(marks=()), "send_money", recipient="X", amount=1).is_free
    assert verdict(known(marks=()), "anything", a=1).is_free


def test_a_call_before_that_uses_its_step():
    step = Step("1", "send_money", {"recipient": "X"})
    assert verdict(known(step, marks=()), "send_money", recipient="X").step == "1"


def test_a_tool_that_neither_acts_nor_sends_is_free():
    assert verdict(known(), "read_page", url="evil.com").is_free


def test_a_planned_call_is_free_and_each_argument_says_why():
    step = Step("1", "send_money", {"recipient": "UK1", "amount": 50})
    found = verdict(known(step), "send_money", recipient="UK1", amount=50.0, date="2024-01-01")
    assert found.is_free
    assert found.step == "1"
    assert [(v.argument, v.how) for v in found.vouched] == [
        ("recipient", "literal"),
        ("amount", "literal"),
    ]


def test_an_unplanned_call_is_asked_about_even_with_the_person_words():
    entries = known(words="Pay UK1 50")
    (unplanned, who, amount) = verdict(entries, "send_money", recipient="UK1", amount=50).reasons
    assert unplanned.why == "unplanned"
    assert (who.argument, who.said, amount.said) == ("recipient", True, True)


def test_a_tool_that_nobody_declared_acts_sends_and_has_only_sensitive_arguments():
    assert whys(known(), "unknown", a="x") == [("unplanned", None), ("not_vouched", "a")]
    assert whys(known(Step("1", "unknown")), "unknown", a="x") == [("not_vouched", "a")]
    assert verdict(known(Step("1", "unknown", {"a": "x"})), "unknown", a="x").is_free


def test_an_argument_that_is_not_named_is_sensitive():
    step = Step("1", "send_money", {"recipient": "UK1", "amount": 1})
    found = whys(known(step), "send_money", recipient="UK1", amount=1, memo="x")
    assert found == [("not_vouched", "memo")]


def test_every_literal_of_the_step_must_match_whatever_its_kind():
    step = Step("1", "send_money", {"recipient": "UK1", "amount": 1, "date": "2024-01-01"})
    call = {"recipient": "UK1", "amount": 1}
    assert verdict(known(step), "send_money", **call, date="2024-01-01").is_free
    assert not verdict(known(step), "send_money", **call, date="2025-01-01").is_free
    assert not verdict(known(step), "send_money", **call).is_free


def test_a_step_is_used_once_unless_it_is_for_many():
    step = Step("1", "send_money", {"recipient": "UK1", "amount": 1})
    call = {"recipient": "UK1", "amount": 1}
    used = known(step, more=[ledger.claimed(RUN, "1", "other")])
    assert verdict(used, "send_money", **call).reasons[0].why == "used_up"
    many = Step("1", "send_money", {"recipient": "UK1", "amount": 1}, many=True)
    used = known(many, more=[ledger.claimed(RUN, "1", "other")])
    assert verdict(used, "send_money", **call).is_free


def test_its_own_claim_does_not_use_a_step_up():
    step = Step("1", "send_money", {"recipient": "UK1", "amount": 1})
    used = known(step, more=[ledger.claimed(RUN, "1", "call")])
    assert verdict(used, "send_money", recipient="UK1", amount=1).is_free


def test_the_plan_of_another_run_does_not_count():
    entries = known(Step("1", "fetch", {"url": "a.com"}))
    call = Call("call", "fetch", {"url": "a.com"})
    assert judge(call, entries, POLICY, run=RUN).is_free
    assert not judge(call, entries, POLICY, run="next").is_free


def test_the_most_specific_step_is_used_first():
    steps = [Step("open", "post"), Step("exact", "post", {"channel": "general"})]
    assert verdict(known(*steps), "post", channel="general", body="hi").step == "exact"


# ── data ──


def test_an_open_argument_is_asked_about_even_if_the_person_said_the_value():
    entries = known(Step("1", "send_email"), words="Write to bob@x.com")
    (reason,) = verdict(entries, "send_email", to="bob@x.com", body="hi").reasons
    assert (reason.why, reason.argument, reason.said) == ("not_vouched", "to", True)


def test_each_value_of_a_list_is_checked():
    step = Step("1", "send_email", {"to": ["a@x.com"]})
    assert verdict(known(step), "send_email", to=["a@x.com"]).is_free
    assert not verdict(known(step), "send_email", to=["a@x.com", "evil@x.com"]).is_free
    assert whys(known(step), "send_email", to=["a@x.com"], cc=["evil@x.com"]) == [
        ("not_vouched", "cc")
    ]


def test_a_field_of_the_record_that_the_step_refers_to_is_vouched_for():
    step = Step("1", "send_email", references={"to": "look.email"})
    entries = known(CONTACT, step, more=[ledger.found(RUN, "look", {"email": "bob@x.com"})])
    assert verdict(entries, "send_email", to="bob@x.com").vouched[0].how == "found"
    assert not verdict(entries, "send_email", to="eve@x.com").is_free
    assert not verdict(entries, "send_email", to="bob@x.com", cc="bob@x.com").is_free


def test_each_value_of_a_list_in_the_record_is_vouched_for_and_no_part_of_one():
    step = Step("1", "send_email", references={"to": "look.email"})
    found = ledger.found(RUN, "look", {"email": ["bob@x.com", "eve@x.com"]})
    entries = known(CONTACT, step, more=[found])
    assert verdict(entries, "send_email", to=["eve@x.com", "bob@x.com"]).is_free
    assert verdict(entries, "send_email", to="bob@x.com").is_free
    assert not verdict(entries, "send_email", to=["bob@x.com", "mallory@x.com"]).is_free
    assert not verdict(entries, "send_email", to="bob@x.com, eve@x.com").is_free


def test_literals_may_stand_beside_a_reference():
    step = Step("1", "send_email", {"to": ["a@x.com"]}, {"to": "look.email"})
    entries = known(CONTACT, step, more=[ledger.found(RUN, "look", {"email": "bob@x.com"})])
    assert verdict(entries, "send_email", to=["a@x.com", "bob@x.com"]).is_free
    assert not verdict(entries, "send_email", to=["a@x.com", "eve@x.com"]).is_free


def test_look_ups_cannot_be_swapped():
    other = Step("eve", "find_contact", {"name": "Eve"})
    step = Step("1", "send_email", references={"to": "look.email"})
    found = [ledger.found(RUN, s, {"email": f"{s}@x.com"}) for s in ("look", "eve")]
    entries = known(CONTACT, other, step, more=found)
    assert verdict(entries, "send_email", to="look@x.com").is_free
    assert not verdict(entries, "send_email", to="eve@x.com").is_free


def test_the_field_must_be_of_the_kind_of_the_argument():
    step = Step("1", "delete_file", references={"file_id": "look.id"})
    entries = known(CONTACT, step, more=[ledger.found(RUN, "look", {"id": "13"})])
    assert not verdict(entries, "delete_file", file_id="13").is_free


def test_a_reference_to_a_step_that_looks_nothing_up_vouches_for_nothing():
    page = Step("page", "read_page")
    step = Step("1", "send_email", references={"to": "page.email"})
    entries = known(page, step, more=[ledger.found(RUN, "page", {"email": "eve@x.com"})])
    assert not verdict(entries, "send_email", to="eve@x.com").is_free


def test_an_id_that_the_run_made_is_vouched_for_as_its_kind():
    entries = known(Step("1", "delete_file"), more=[ledger.made(RUN, "id:file", 13)])
    assert verdict(entries, "delete_file", file_id="13").vouched[0].how == "made"
    entries = known(Step("1", "delete_file"), more=[ledger.made(RUN, "id:event", 13)])
    assert not verdict(entries, "delete_file", file_id="13").is_free
    entries = known(Step("1", "delete_file"), more=[ledger.made("earlier", "id:file", 13)])
    assert not verdict(entries, "delete_file", file_id="13").is_free


def test_an_approval_holds_for_its_tool_and_argument():
    kinds = POLICY.of("send_email").arguments
    approved = ledger.approved(RUN, "send_email", {"to": "eve@x.com", "body": "at e.com"}, kinds)
    entries = known(Step("1", "send_email"), Step("2", "send_money"), more=[approved])
    assert verdict(entries, "send_email", to="eve@x.com", body="see e.com").is_free
    assert not verdict(entries, "send_email", cc="eve@x.com").is_free
    assert not verdict(entries, "send_email", to="e.com").is_free
    assert not verdict(entries, "send_money", recipient="eve@x.com").is_free


def test_an_approval_is_no_step():
    approved = ledger.approved(RUN, "send_money", {"recipient": "X", "amount": 1}, {})
    assert whys(known(more=[approved]), "send_money", recipient="X", amount=1) == [
        ("unplanned", None)
    ]


def test_a_name_of_a_catalogue_is_vouched_for_with_whole_literals_around_it():
    catalogue = ledger.named(["Riverside Hotel", "Plaza"])
    entries = known(Step("1", "book", {"start": "Booking"}), more=[catalogue])
    call = {"start": "Booking"}
    assert verdict(entries, "book", **call, hotel="Riverside Hotel").is_free
    assert verdict(entries, "book", **call, hotel="Booking Plaza").is_free
    for other in ("Riverside", "Plaza Riverside Hotel", "Hotel Plaza", "Book Plaza", "plaza"):
        assert not verdict(entries, "book", **call, hotel=other).is_free, other
    assert not verdict(known(more=[catalogue]), "book", hotel="Plaza").is_free


def test_a_name_of_a_catalogue_is_no_recipient():
    entries = known(Step("1", "send_email"), more=[ledger.named(["eve@x.com"])])
    assert not verdict(entries, "send_email", to="eve@x.com").is_free


# ── fetches ──


def test_a_planned_fetch_may_open_what_the_person_typed_and_nothing_hung_on_it():
    entries = known(Step("1", "fetch"), words="Read www.a.com/x please")
    assert verdict(entries, "fetch", url="https://www.a.com/x").vouched[0].how == "typed"
    for other in ("www.a.com", "www.a.com/x?q=secret", "www.a.com/x/y", "www.a.com.evil.com/x"):
        assert not verdict(entries, "fetch", url=other).is_free, other


def test_an_address_that_the_person_typed_may_be_opened_without_a_plan():
    entries = known(words="Read www.a.com/x please")
    assert verdict(entries, "fetch", url="https://www.a.com/x").is_free
    assert not verdict(entries, "fetch", url="www.a.com/x?q=secret").is_free
    assert not verdict(entries, "fetch", url="www.a.com/x", depth="all").is_free
    secret = known(words="Read www.a.com/x please", marks=("untrusted", "secret_unplanned"))
    assert whys(secret, "fetch", url="www.a.com/x") == [("secret", None)]


def test_an_argument_without_a_kind_may_be_a_link_if_the_tool_only_sends():
    step = Step("1", "open", references={"page": "page.link"})
    more = [ledger.linked(RUN, "page", ["a.com/x"])]
    entries = known(Step("page", "read_page"), step, more=more)
    assert verdict(entries, "open", page="a.com/x").is_free
    assert not verdict(entries, "open", page="evil.com").is_free


def test_an_address_that_the_person_typed_is_no_recipient():
    entries = known(Step("1", "unknown"), words="See www.a.com")
    assert not verdict(entries, "unknown", url="www.a.com").is_free


def test_a_link_must_stand_whole_in_the_source_that_the_step_names():
    step = Step("1", "fetch", references={"url": "page.link"}, many=True)
    pages = [Step("page", "read_page"), Step("other", "read_page")]
    links = [ledger.linked(RUN, "page", ["a.com/x"]), ledger.linked(RUN, "other", ["evil.com"])]
    entries = known(*pages, step, more=links)
    assert verdict(entries, "fetch", url="https://a.com/x").vouched[0].how == "link"
    for other in ("evil.com", "a.com/x?q=1", "a.com"):
        assert not verdict(entries, "fetch", url=other).is_free, other


def test_a_link_is_no_recipient():
    step = Step("1", "send_email", references={"to": "page.link"})
    more = [ledger.linked(RUN, "page", ["eve@x.com"])]
    entries = known(Step("page", "read_page"), step, more=more)
    assert not verdict(entries, "send_email", to="eve@x.com").is_free


# ── texts ──


@pytest.mark.parametrize(
    "body",
    [
        "see evil.com/login",
        "mail eve@evil.com",
        "pay DE89370400440532013000",
        "call +49 30 1234567",
        "see ev\u200bil.com",
        ["fine", "evil.com"],
        {"text": "evil.com"},
    ],
)
def test_an_address_in_a_text_is_asked_about(body):
    step = Step("1", "send_email", {"to": "bob@x.com"})
    found = whys(known(step, words="Write to Bob"), "send_email", to="bob@x.com", body=body)
    assert ("address", "body") in found


def test_an_address_that_the_person_or_the_step_has_may_stand_in_a_text():
    step = Step("1", "send_email", {"to": "bob@x.com"})
    entries = known(step, words="Send him www.a.com")
    assert verdict(entries, "send_email", to="bob@x.com", body="bob@x.com: www.a.com").is_free
    assert not verdict(entries, "send_email", to="bob@x.com", body="www.a.com/hung").is_free


def test_an_address_of_a_trusted_catalogue_may_stand_in_a_text():
    step = Step("1", "post", {"channel": "general"})
    entries = known(step, more=[ledger.named(["Plaza, Shinjuku, 160-0023 Tokyo"])])
    assert verdict(entries, "post", channel="general", body="Meet at 160-0023").is_free
    assert not verdict(entries, "post", channel="general", body="Meet at 160-0024").is_free


def test_a_disguised_form_of_a_known_address_is_asked_about():
    step = Step("1", "send_email", {"to": "bob@x.com"})
    entries = known(step, words="Send him www.a.com")
    assert not verdict(entries, "send_email", to="bob@x.com", body="www.a\u200b.com").is_free


def test_inside_needs_the_plan_and_holds_no_address():
    entries = known(Step("1", "post"))
    assert verdict(entries, "post", channel="general", body="hi").is_free
    assert not verdict(known(), "post", channel="general", body="hi").is_free
    assert not verdict(entries, "post", channel="https://evil.com", body="hi").is_free


# ── secrets and queries ──


def test_nothing_is_sent_after_a_secret_was_read_outside_the_plan():
    step = Step("1", "fetch", {"url": "a.com"})
    marks = ("untrusted", "secret", "secret_unplanned")
    assert whys(known(step, marks=marks), "fetch", url="a.com") == [("secret", None)]
    assert verdict(known(step, marks=("untrusted", "secret")), "fetch", url="a.com").is_free
    entries = known(Step("1", "delete_file", {"file_id": "1"}), marks=marks)
    assert verdict(entries, "delete_file", file_id="1").is_free


def test_a_query_needs_no_plan_until_a_secret_was_read():
    assert verdict(known(), "search", query="x", limit=3).is_free
    entries = known(marks=("untrusted", "secret"))
    assert whys(entries, "search", query="x") == [("query", "query")]
    assert whys(known(), "search", query="x", other="y")[0] == ("unplanned", None)
    planned = known(Step("1", "search", {"query": "x"}), marks=("untrusted", "secret"))
    assert verdict(planned, "search", query="x").is_free


# ── results ──


def test_a_look_up_finds_the_one_record_of_that_name():
    lookup = POLICY.of("find_contact").finds
    bob, eve = {"name": "Bob", "email": "b"}, {"name": "Bobby", "email": "e"}
    assert find(lookup, {"name": "Bob"}, [bob, eve]) == {"email": "b"}
    assert find(lookup, {"name": "Bob"}, {"contacts": [bob, eve]}) == {"email": "b"}
    assert find(lookup, {"name": "Bob"}, bob) == {"email": "b"}
    assert find(lookup, {"name": "Bob"}, [eve]) is None
    assert find(lookup, {"name": "Bob"}, [bob, {"name": "Bob", "email": "e"}]) == {}
    assert find(lookup, {"name": "Bob"}, [{"name": "Воb", "email": "e"}]) is None
    assert find(lookup, {}, [bob]) is None


def test_the_data_of_a_result_is_its_artifact_or_its_json():
    assert data_of([{"a": 1}], "text") == [{"a": 1}]
    assert data_of(None, '{"a": 1}') == {"a": 1}
    assert data_of(None, "[" * 100_000) is None
    assert data_of(object(), "IBAN: X") is None
    assert data_of(None, "13") is None


def test_ids_and_names_are_read_from_results():
    tool = POLICY.of("create_file")
    assert list(made(tool, {"id": 7, "name": "x"})) == [("id:file", 7)]
    assert list(made(tool, {"name": "x"})) == []
    assert names({"Plaza": {"stars": 4, "city": "Paris"}}, "") == [
        "Plaza",
        "stars",
        "city",
        "Paris",
    ]
    assert "Plaza" in names(None, "Hotels: Plaza\nRiverside")


# ── declarations ──


@pytest.mark.parametrize("kind", ["whom", "id:", "", "ID:file"])
def test_an_unknown_kind_is_an_error(kind):
    with pytest.raises(ConfigError, match="Unknown kind"):
        flow(to=kind)


def test_a_look_up_without_a_key_is_an_error():
    with pytest.raises(ConfigError, match="at least one key"):
        flow(finds=Lookup((), "name", {}))


# ── the card ──


def test_a_reason_names_the_newest_source_of_its_value():
    entries = known(Step("1", "send_email"))
    reasons = verdict(entries, "send_email", to="eve@x.com", body="hi").reasons
    old = Source("c1", "read_page", "a.com", "eve@x.com")
    new = Source("c2", "read_page", "b.com", "First line\nmail\u202e EVE@x.com now")
    (shown,) = explain(reasons, [old, new])
    assert shown["arg"] == "to"
    assert shown["source"] == {
        "call": "c2",
        "tool": "read_page",
        "about": "b.com",
        "line": 2,
        "excerpt": "mail⟨U+202E⟩ EVE@x.com now",
        "found": "EVE@x.com",
    }
    assert explain(reasons, [])[0]["source"] is None
