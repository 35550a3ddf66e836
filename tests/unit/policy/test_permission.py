"""The plan is the permission: nothing outside of it gets through."""

import random

import pytest

from bathysphere.policy.permission import (
    Approval,
    Call,
    Difference,
    Grant,
    NotApproved,
    Permission,
    Used,
    permit,
)
from bathysphere.policy.plan import Plan, Step
from bathysphere.policy.rules import Policy

PLAN = Plan.model_validate(
    {
        "objective": "o",
        "steps": [
            {
                "id": "look",
                "tool": "web_search",
                "input": "aurora dam",
                "domains": ["example.org"],
                "pages": 2,
            },
            {"id": "open", "tool": "fetch_page", "input": "https://www.example.net/dam"},
            {"id": "own", "tool": "search_corpus", "input": "dams", "calls": 2},
        ],
    }
)
POLICY = Policy.model_validate({"version": 1, "domains": {"denied": ["evil.example"]}})


@pytest.fixture
def permission() -> Permission:
    given = Permission(PLAN, POLICY)
    given.found(
        "look", ["https://example.org/1", "https://a.example.org/2", "https://example.com/3"]
    )
    given.found(
        "look", ["https://example.org/1", "https://evil.example/4", "https://example.org/5"]
    )
    return given


def call(step: str, tool: str, text: str) -> Call:
    return Call(step=step, tool=tool, input=text)


def test_what_the_plan_names_is_granted_and_counted(permission):
    assert permission.ask(call("look", "web_search", " aurora  dam")).left == 0
    assert permission.ask(call("look", "fetch_page", "https://example.org/1")).left == 1
    assert permission.ask(call("look", "fetch_page", "https://a.example.org/2")).left == 0
    assert permission.ask(call("open", "fetch_page", "https://www.example.net/dam")).left == 0
    assert permission.ask(call("own", "search_corpus", "dams")).left == 1
    assert permission.left("look") == {"calls": 0, "pages": 0}


@pytest.mark.parametrize(
    ("asked", "reason", "approvable"),
    [
        (call("look", "web_search", "aurora dam owner's secret"), "input", True),
        (call("look", "search_corpus", "aurora dam"), "tool", True),
        (call("look", "execute", "ls"), "forbidden_tool", False),
        (call("nowhere", "web_search", "aurora dam"), "unknown_step", True),
        (call("look", "fetch_page", "https://example.com/3"), "domain", True),
        (call("look", "fetch_page", "https://evil.example/4"), "denied_domain", False),
        (call("look", "fetch_page", "https://example.org/other"), "not_found_by_search", True),
        (call("look", "fetch_page", "https://example.org/1?q=secret"), "not_found_by_search", True),
        (call("look", "fetch_page", "http://127.0.0.1/"), "address", False),
        (call("open", "fetch_page", "https://www.example.net/other"), "input", True),
        (call("open", "web_search", "aurora dam"), "tool", True),
        (call("own", "fetch_page", "https://example.org/1"), "tool", True),
    ],
)
def test_what_it_does_not_name_is_a_difference_and_counts_nothing(
    permission, asked, reason, approvable
):
    before = permission.used.model_copy(deep=True)
    answer = permission.ask(asked)
    assert isinstance(answer, Difference)
    assert (answer.reason, answer.can_be_approved) == (reason, approvable)
    assert permission.used == before


def test_counts_end(permission):
    page = call("look", "fetch_page", "https://example.org/1")
    assert isinstance(permission.ask(page), Grant)
    assert isinstance(permission.ask(page), Grant)
    assert permission.ask(page).reason == "pages"
    search = call("look", "web_search", "aurora dam")
    assert isinstance(permission.ask(search), Grant)
    assert permission.ask(search).reason == "calls"


def test_the_ceiling_of_the_policy_holds_whatever_the_plan_says():
    tight = Policy.model_validate({"version": 1, "limits": {"requests": 1}})
    permission = Permission(PLAN, tight)
    assert isinstance(permission.ask(call("look", "web_search", "aurora dam")), Grant)
    refused = permission.ask(call("open", "fetch_page", "https://www.example.net/dam"))
    assert (refused.reason, refused.can_be_approved) == ("policy_requests", False)
    assert isinstance(permission.ask(call("own", "search_corpus", "dams")), Grant)


@pytest.mark.parametrize(
    ("step", "address", "reason"),
    [
        ("open", "https://example.net/new", None),
        ("open", "https://docs.example.net/new", None),
        ("open", "https://example.com/", "domain"),
        ("open", "https://evil.example/", "denied_domain"),
        ("open", "http://[::1]/", "address"),
        ("look", "https://b.example.org/", None),
        ("look", "https://example.net/", "domain"),
        ("gone", "https://example.org/", "unknown_step"),
    ],
)
def test_a_redirect_stays_within_the_step(permission, step, address, reason):
    difference = permission.may_visit(step, address)
    assert (difference.reason if difference else None) == reason


def test_a_call_outside_the_plan_passes_once_the_plan_has_grown_by_it(permission):
    for asked in (
        call("look", "web_search", "who built it"),
        call("look", "fetch_page", "https://example.org/other"),
        call("new", "web_search", "who paid for it"),
    ):
        assert isinstance(permission.ask(asked), Difference)
        grown = PLAN.grown([Step(id="added", tool=asked.tool, input=asked.input)])
        assert (grown.revision, grown.sha256 != PLAN.sha256) == (PLAN.revision + 1, True)
        assert grown.steps[:-1] == PLAN.steps
        later = Permission(grown, POLICY, permission.used.model_copy(deep=True))
        assert isinstance(later.ask(asked.model_copy(update={"step": "added"})), Grant)


def test_what_the_policy_forbids_cannot_be_approved(permission):
    difference = permission.ask(call("look", "fetch_page", "https://evil.example/4"))
    assert not difference.can_be_approved
    assert permission.ask(call("look", "web_search", "x y z")).can_be_approved


def test_a_plan_does_not_grow_by_a_step_that_it_has():
    with pytest.raises(ValueError, match="Duplicate step id"):
        PLAN.grown([PLAN.steps[0]])


def approval(decision="approve", sha256=PLAN.sha256) -> Approval:
    return Approval(decision=decision, plan_sha256=sha256, by="ana", at="2026-11-15T12:00:00Z")


def test_only_an_approved_plan_gives_a_permission():
    assert permit(PLAN, [approval("reject"), approval()], POLICY).plan == PLAN
    for said in ([], [approval("reject")], [approval(), approval("reject")], [approval("edit")]):
        with pytest.raises(NotApproved):
            permit(PLAN, said, POLICY)
    changed = PLAN.model_copy(update={"revision": 9})
    with pytest.raises(NotApproved):
        permit(changed, [approval()], POLICY)


def test_what_was_used_survives_as_plain_data(permission):
    permission.ask(call("look", "web_search", "aurora dam"))
    used = Used.model_validate_json(permission.used.model_dump_json())
    again = Permission(PLAN, POLICY, used)
    assert again.ask(call("look", "web_search", "aurora dam")).reason == "calls"
    assert isinstance(again.ask(call("look", "fetch_page", "https://example.org/5")), Grant)


def test_a_model_that_tries_everything_never_gets_more_than_the_plan(permission):
    rng = random.Random(3)
    tools = ["web_search", "fetch_page", "search_corpus", "execute", "read_context"]
    inputs = [
        "aurora dam",
        "dams",
        "steal",
        "https://example.org/1",
        "https://www.example.net/dam",
        "https://evil.example/4",
        "http://169.254.169.254/",
    ]
    granted = []
    for _ in range(5_000):
        asked = call(
            rng.choice(["look", "open", "own", "x"]), rng.choice(tools), rng.choice(inputs)
        )
        if isinstance(permission.ask(asked), Grant):
            granted.append((asked.step, asked.tool, asked.input))
    assert sorted(granted) == sorted(
        [
            ("look", "web_search", "aurora dam"),
            ("look", "fetch_page", "https://example.org/1"),
            ("look", "fetch_page", "https://example.org/1"),
            ("open", "fetch_page", "https://www.example.net/dam"),
            ("own", "search_corpus", "dams"),
            ("own", "search_corpus", "dams"),
        ]
    )
