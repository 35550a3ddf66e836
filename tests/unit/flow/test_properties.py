"""No value is vouched for in any other way than the rule allows, whatever was read or is called.

The judge is compared with a second, naive reading of the rule on generated plans, ledgers and
calls. The values are chosen to resemble each other.
"""

import json
from functools import reduce

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from bathysphere.flow import Call, FlowPolicy, Ledger, Lookup, Step, flow, judge, ledger, merge

RUN = "run"
POLICY = FlowPolicy(
    tools={
        "send": flow(acts=True, sends=True, to="who", file="id:file", place="what", body="text"),
        "drop": flow(acts=True, file="id:file", room="inside"),
        "fetch": flow(sends=True, url="where"),
        "contact": flow(finds=Lookup(("name",), "name", {"mail": "who", "file": "id:file"})),
        "page": flow(),
    }
)
TOOLS = ["send", "drop", "fetch", "unknown"]
ARGUMENTS = {
    "send": ["to", "file", "place", "body", "more"],
    "drop": ["file", "room"],
    "fetch": ["url"],
    "unknown": ["to", "file"],
}
VALUES = [
    "bob@x.com",
    "bоb@x.com",  # Cyrillic
    "bob@x.com\u200b",
    "ｂｏｂ@x.com",
    "bob@x.co",
    "b.com",
    "b.com/a",
    "13",
    "1",
    "Plaza",
    "Plaza Bob",
    "Bob",
]
VALUE = st.sampled_from(VALUES)
STEP_IDS = st.sampled_from(["1", "2", "3"])
REFERENCES = st.sampled_from(["1.mail", "1.file", "2.mail", "2.link", "3.link", "9.mail", "mail"])


@st.composite
def steps(draw):
    tool = draw(st.sampled_from([*TOOLS, "contact", "page"]))
    names = ARGUMENTS.get(tool, ["name"])
    return Step(
        id=draw(STEP_IDS),
        tool=tool,
        arguments=draw(st.dictionaries(st.sampled_from(names), VALUE, max_size=2)),
        references=draw(st.dictionaries(st.sampled_from(names), REFERENCES, max_size=1)),
        many=draw(st.booleans()),
    )


PLANS = st.lists(steps(), max_size=3, unique_by=lambda step: step.id)


@st.composite
def calls(draw):
    tool = draw(st.sampled_from(TOOLS))
    value = VALUE | st.lists(VALUE, max_size=2)
    arguments = draw(st.dictionaries(st.sampled_from(ARGUMENTS[tool]), value, min_size=1))
    return Call("call", tool, arguments)


RUNS = st.sampled_from([RUN, RUN, "earlier"])
ENTRIES = st.one_of(
    st.builds(ledger.said, st.sampled_from("ab"), VALUE),
    st.builds(ledger.claimed, RUNS, STEP_IDS, st.sampled_from(["call", "other"])),
    st.builds(ledger.refused, RUNS, st.just("other")),
    st.builds(
        ledger.approved,
        RUNS,
        st.sampled_from(TOOLS),
        st.dictionaries(st.sampled_from(["to", "file", "url", "place"]), VALUE, max_size=2),
        st.just({}),
    ),
    st.builds(ledger.found, RUNS, STEP_IDS, st.fixed_dictionaries({"mail": VALUE, "file": VALUE})),
    st.builds(ledger.linked, RUNS, STEP_IDS, st.lists(VALUE, max_size=2)),
    st.builds(ledger.made, RUNS, st.sampled_from(["id:file", "id:event"]), VALUE),
    st.builds(ledger.named, st.lists(VALUE, max_size=2)),
    st.builds(ledger.marked, st.sampled_from(["secret", "secret_unplanned"])),
    st.builds(
        ledger.trusted,
        st.sampled_from(["c1", "c2"]),
        st.just("page"),
        st.just("the page"),
        st.lists(VALUE, max_size=3).map(lambda values: ["Pay " + " ".join(values)]),
    ),
    st.builds(ledger.revoked, st.lists(st.sampled_from(["c1 page", "c2 page"]), max_size=1)),
)
LEDGERS = st.lists(ENTRIES, max_size=8).map(lambda all_: reduce(merge, all_, {}))


# ── a second reading of the rule, on raw data and with plain equality ──


def flat(value):
    return value if isinstance(value, list) else [value]


def ways(entries, plan, step, tool, name):
    """All values that the rule's ways vouch for, for one argument."""
    kind = POLICY.of(tool).kind(name)
    found = Ledger(entries)
    vouched = set()
    step_id, _, field = step.references.get(name, "").partition(".")
    if name in step.references and field:
        vouched |= set(flat(step.arguments.get(name, [])))
    target = plan.get(step_id)
    if target is not None and target.tool == "contact" and field in ("mail", "file"):
        of = {"mail": "who", "file": "id:file"}[field]
        if kind in ("", of):
            vouched.add(found.field_found(RUN, step_id, field))
    if is_fetch(tool) and kind in ("where", ""):
        vouched |= typed(entries)
        if target is not None and field == "link":
            links = entries.get("links", {}).get(RUN, {}).get(step_id, {})
            vouched |= {v for v in VALUES if f"text {v}" in links or f"text https://{v}" in links}
    if kind == "id:file":
        made = entries.get("made", {}).get(RUN, {}).get(kind, {})
        vouched |= {value for value in VALUES if f"text {value}" in made}
    approved = entries.get("approved", {}).get(RUN, {}).get(tool, {}).get(name, {})
    vouched |= {value for value in VALUES if f"text {value}" in approved}
    if kind == "what":
        names = set(entries.get("names", {}))
        own = [v for literal in step.arguments.values() for v in flat(literal)]
        vouched |= names | {f"{n} {o}" for n in names for o in own}
        vouched |= {f"{o} {n}" for n in names for o in own}
        vouched |= {f"{o} {n} {p}" for n in names for o in own for p in own}
    return vouched | trusted(entries, tool)


def trusted(entries, tool):
    """The whole values of sources that the person trusts and did not take back."""
    if POLICY.of(tool).sends and "secret" in entries.get("marks", {}):
        return set()
    kept = set(entries.get("trusts", {})) - set(entries.get("revoked", {}))
    known = [entries["trusts"][key] for key in kept]
    texts = [text for one in known if one for text in json.loads(one)["texts"]]
    return {value for value in VALUES if any(f" {value} " in f"{text} " for text in texts)}


def typed(entries):
    return {value for value in VALUES if is_address(value)} & set(entries.get("said", {}).values())


def is_fetch(tool):
    return POLICY.of(tool).sends and not POLICY.of(tool).acts


def opens_what_was_typed(entries, call):
    """Whether the rule lets a call run without a step."""
    kinds = {POLICY.of(call.tool).kind(name) for name in call.arguments}
    values = {value for given in call.arguments.values() for value in flat(given)}
    is_open = is_fetch(call.tool) and bool(values) and kinds <= {"where", ""}
    is_secret = "secret_unplanned" in entries.get("marks", {})
    return is_open and not is_secret and values <= typed(entries)


def is_address(value):
    return "." in value


def allows(entries, plan, step, call):
    """Whether the rule lets a call run by this step."""
    tool = POLICY.of(call.tool)
    literals = {n: v for n, v in step.arguments.items() if n not in step.references}
    if step.tool != call.tool or any(call.arguments.get(n) != v for n, v in literals.items()):
        return False
    released = {c for c, r in entries.get("released", {}).items() if r}
    claims = entries.get("claims", {})
    users = {c for c, used in claims.items() if f"{RUN} {step.id}" in used} - released - {"call"}
    if users and not step.many:
        return False
    if tool.sends and "secret_unplanned" in entries.get("marks", {}):
        return False
    for name, value in call.arguments.items():
        kind = tool.kind(name)
        if kind in ("text", "inside") or name in literals:
            continue
        if not set(flat(value)) <= ways(entries, plan, step, call.tool, name):
            return False
    return True


def without_addresses(call):
    """Texts are tested on their own."""
    open_ = [n for n in call.arguments if POLICY.of(call.tool).kind(n) in ("text", "inside")]
    return all(v in ("13", "1", "Plaza", "Bob") for n in open_ for v in flat(call.arguments[n]))


@settings(max_examples=500, deadline=None)
@given(PLANS, LEDGERS, calls())
@example([Step("1", "send", {}, {}, many=False)], {}, Call("call", "send", {"to": "bob@x.com"}))
@example(
    [Step("1", "send")],
    merge(ledger.trusted("c1", "page", "it", ["Pay bob@x.com"]), ledger.marked("secret")),
    Call("call", "send", {"to": "bob@x.com"}),
)
def test_a_call_runs_unasked_exactly_if_the_rule_says_so(plan, entries, call):
    assume(without_addresses(call))
    entries = reduce(merge, [ledger.planned(RUN, plan), ledger.marked("untrusted")], entries)
    by_id = {step.id: step for step in plan}
    expected = any(allows(entries, by_id, step, call) for step in plan)
    expected = expected or opens_what_was_typed(entries, call)
    assert judge(call, Ledger(entries), POLICY, run=RUN).is_free == expected


@settings(max_examples=150, deadline=None)
@given(PLANS, LEDGERS, LEDGERS, calls())
def test_what_another_agent_knows_never_frees_a_call_that_no_voucher_of_it_covers(
    plan, mine, others, call
):
    """Merging marks, claims and refusals can only add questions."""
    kept = ("marks", "claims")
    restricting = {key: value for key, value in others.items() if key in kept}
    mine = merge(mine, ledger.planned(RUN, plan))
    mine = merge(mine, ledger.marked("untrusted"))
    before = judge(call, Ledger(mine), POLICY, run=RUN)
    after = judge(call, Ledger(merge(mine, restricting)), POLICY, run=RUN)
    assert before.is_free or not after.is_free


# ── disguises ──

LETTERS = {"a": "а", "b": "Ь", "c": "с", "e": "е", "i": "і", "o": "о", "p": "р", "x": "х", "1": "l"}
INVISIBLE = ["\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u202e", "\u0301", "\u00a0"]


@st.composite
def disguises(draw, value):
    at = draw(st.integers(0, len(value) - 1))
    char = value[at]
    look_alike = LETTERS.get(char, chr(ord(char) + 0xFEE0))
    return draw(
        st.sampled_from(
            [
                value[:at] + look_alike + value[at + 1 :],
                value[:at] + chr(ord(char) + 0xFEE0) + value[at + 1 :],
                *(value[:at] + mark + value[at:] for mark in INVISIBLE),
                *(value + mark for mark in INVISIBLE),
                value[:at],
                value[at + 1 :],
                value + value,
                f"{value},{value}",
                f"{value}.evil.com",
                f"{value}?q=1",
                f"evil.com/{value}",
                f'["{value}"]',
            ]
        )
    )


@st.composite
def disguised_values(draw):
    value = draw(
        st.sampled_from(["bob@pexico.com", "https://pexico.com/abc", "UK1234567890", "13"])
    )
    return value, draw(disguises(value))


FREE = {
    "literal": (Step("1", "send", {"to": "{}"}), "to", ()),
    "found": (Step("1", "send", {}, {"to": "look.mail"}), "to", ("found",)),
    "made": (Step("1", "drop"), "file", ("made",)),
    "approved": (Step("1", "send"), "to", ("approved",)),
    "catalogue": (Step("1", "send"), "place", ("named",)),
    "trusted": (Step("1", "send"), "to", ("trusted",)),
    "link": (Step("1", "fetch", {}, {"url": "page.link"}), "url", ("link",)),
}


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(sorted(FREE)), disguised_values())
def test_no_disguise_part_or_combination_of_a_value_passes(way, pair):
    value, other = pair
    assume(other.strip(" ") != value and other != "")
    step, name, _ = FREE[way]
    if way == "link":  # the scheme of a link does not count
        assume(value.startswith("https") and other != value.removeprefix("https://"))
    if way == "literal":
        step = Step("1", "send", {"to": value})
    entries = reduce(
        merge,
        [
            ledger.planned(RUN, [step, Step("look", "contact"), Step("page", "page")]),
            ledger.marked("untrusted"),
            ledger.said("m", f"Please take {value}"),
            ledger.found(RUN, "look", {"mail": value}) if way == "found" else {},
            ledger.made(RUN, "id:file", value) if way == "made" else {},
            ledger.approved(RUN, step.tool, {name: value}, {}) if way == "approved" else {},
            ledger.named([value]) if way == "catalogue" else {},
            ledger.linked(RUN, "page", [value]) if way == "link" else {},
            ledger.trusted("c0", "s", "the page", [f"Pay {value} now"]) if way == "trusted" else {},
        ],
    )
    found = Ledger(entries)
    assert judge(Call("c", step.tool, {name: value}), found, POLICY, run=RUN).is_free
    assert not judge(Call("c", step.tool, {name: other}), found, POLICY, run=RUN).is_free
    assert not judge(Call("c", step.tool, {name: [value, other]}), found, POLICY, run=RUN).is_free


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=30), st.sampled_from(["evil.com/a", "eve@evil.com", "https://evil.com"]))
def test_no_text_around_an_address_hides_it(around, address):
    entries = merge(ledger.planned(RUN, [Step("1", "send")]), ledger.marked("untrusted"))
    call = Call("c", "send", {"body": f"{around} {address} {around}"})
    assert not judge(call, Ledger(entries), POLICY, run=RUN).is_free
