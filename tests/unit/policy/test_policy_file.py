import pytest

from bathysphere.policy.audit import Judgement, audit, judge
from bathysphere.policy.errors import BadPolicy
from bathysphere.policy.plan import Plan, waves
from bathysphere.policy.rules import default_policy, default_policy_text, read_policy

FENCE = "```toml policy\nversion = 1\n{}\n```\n"


def test_the_policy_that_ships_can_be_read_and_its_prose_asks_nothing():
    policy = default_policy()
    assert policy.tools.allowed == ("web_search", "fetch_page", "search_corpus", "read_context")
    assert policy.limits.revisions == 3
    assert policy.sentences == ()
    assert not policy.has_own_rules
    assert policy.sha256 != read_policy(default_policy_text() + " ").sha256


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "The policy is empty"),
        ("# Only a title", "The policy is empty"),
        ("```toml\nversion = 1\n```", "Line 1: not a block of rules"),
        ("Be fair.\n\n```TOML policy\nversion = 1\n```", "Line 3: not a block of rules"),
        ("Be fair.\n\n  ```toml policy\nversion = 1\n```", "Line 3: not a block of rules"),
        ("Be fair.\n~~~toml policy\nversion = 1\n~~~", "Line 2: not a block of rules"),
        ("Be fair.\n> ```toml policy\n> version = 1\n> ```", "Line 2: not a block of rules"),
        ("Be fair.\n\n```toml policy\nversion = 1\n", "Line 3: the block of rules is not closed"),
        ("Be fair.\n\n[limits]\nsteps = 3\n", "Line 3: a rule outside a block"),
        ("Be fair.\n[[content.rule]]\nid = 'x'\n", "Line 2: a rule outside a block"),
        ("Be fair. <!-- a note", "A comment is not closed"),
        (FENCE.format("= 3"), "Invalid TOML"),
        (FENCE.format("[tool]\nallowed=[]"), "tool: Extra inputs"),
        (FENCE.format("[tools]\nalowed=[]"), "tools.alowed"),
        (FENCE.format("[limits]\nsteps=0"), "limits.steps"),
        (FENCE.format("[domains]\ndenied=['not a host']"), "Invalid host names"),
        (FENCE.format("[data]\nnever_matching=['(']"), "not a valid pattern"),
        (FENCE.format("[data]\nmay_leave=['files']"), "data.may_leave"),
        (
            FENCE.format("[[judge]]\nid='a'\nquestion='q'\n[[judge]]\nid='a'\nquestion='q'"),
            "Duplicate rule id",
        ),
        (FENCE.format("sentences=['x']"), "Unknown rules"),
        (FENCE.format("has_own_rules=false"), "Unknown rules"),
        (FENCE.format("sha256='x'"), "Unknown rules"),
        ("```toml policy\nversion = 2\n```\n", "version"),
        (FENCE.format("") + FENCE.format(""), "Invalid TOML"),
    ],
)
def test_what_is_no_policy_is_refused_in_words(text, says):
    with pytest.raises(BadPolicy, match=says) as caught:
        read_policy(text)
    assert caught.value.hint


def plan(**step) -> Plan:
    return Plan.model_validate(
        {"objective": "o", "steps": [{"id": "a", "tool": "web_search", "input": "dams", **step}]}
    )


ASKING = read_policy(FENCE.format("[[judge]]\nid='fair'\nquestion='Is it fair?'"))


def test_a_judgement_settles_an_open_question_either_way():
    opened = audit(plan(), ASKING)
    assert opened.verdict == "open"
    good = judge(opened, [Judgement(rule="judge.fair", allowed=True)])
    assert (good.verdict, good.violations, good.open) == ("approved", (), ())
    bad = judge(opened, [Judgement(rule="judge.fair", allowed=False, reason="no", suggestion="s")])
    assert bad.verdict == "rejected"
    assert [(v.rule, v.decided_by, v.message) for v in bad.violations] == [
        ("judge.fair", "judgement", "no")
    ]
    assert bad.suggestions[0].message == "s"


def test_silence_is_a_no_and_answers_to_other_questions_are_not_heard():
    opened = audit(plan(), ASKING)
    assert judge(opened, []).verdict == "rejected"
    other = judge(opened, [Judgement(rule="tools.allowed", allowed=True)])
    assert (other.verdict, other.judgements) == ("rejected", ())


def test_of_two_answers_the_no_counts_in_either_order():
    opened = audit(plan(), ASKING)
    answers = [Judgement(rule="judge.fair", allowed=allowed) for allowed in (True, False)]
    assert judge(opened, answers).verdict == "rejected"
    assert judge(opened, answers[::-1]).verdict == "rejected"
    assert len(judge(opened, answers).judgements) == 1


def test_a_judgement_names_its_question():
    opened = audit(plan(), ASKING)
    bad = judge(opened, [Judgement(rule="judge.fair", allowed=False, question="Another one?")])
    assert bad.judgements[0].question == bad.violations[0].question == "Is it fair?"
    assert judge(opened, []).violations[0].question == "Is it fair?"


def test_no_judgement_takes_a_rule_violation_away():
    rejected = audit(plan(tool="execute"), ASKING)
    said = [Judgement(rule=rule, allowed=True) for rule in ("tools.allowed", "judge.fair")]
    still = judge(rejected, said)
    assert still.verdict == "rejected"
    assert [(v.rule, v.decided_by) for v in still.violations] == [("tools.allowed", "rule")]


@pytest.mark.parametrize(
    "steps",
    [
        [{"id": "a"}, {"id": "a"}],
        [{"id": "a", "depends_on": ["b"]}],
        [{"id": "a", "depends_on": ["b"]}, {"id": "b", "depends_on": ["a"]}],
        [{"id": "a", "depends_on": ["a"]}],
        [{"id": "a", "domains": ["http://x"]}],
        [{"id": "a", "input": "   "}],
        [{"id": "a b"}],
        [{"id": "a", "calls": 0}],
        [{"id": "a", "output": "x"}],
        [],
    ],
)
def test_what_is_no_plan_is_refused(steps):
    full = [{"tool": "web_search", "input": "x"} | step for step in steps]
    with pytest.raises(ValueError, match="validation error"):
        Plan.model_validate({"objective": "o", "steps": full})


def test_steps_come_in_waves():
    base = {"tool": "web_search", "input": "x"}
    steps = [
        {"id": "c", "dependsOn": ["a", "b"]},
        {"id": "a"},
        {"id": "b"},
        {"id": "d", "dependsOn": ["c"]},
    ]
    built = Plan.model_validate({"objective": "o", "steps": [base | step for step in steps]})
    assert [[step.id for step in wave] for wave in waves(built.steps)] == [["a", "b"], ["c"], ["d"]]


def test_the_hash_is_of_every_field_and_of_either_spelling():
    one = plan()
    assert one.sha256 == plan().sha256
    assert Plan.model_validate(one.model_dump(by_alias=True)).sha256 == one.sha256
    changes = [{"input": "dam"}, {"calls": 2}, {"pages": 1}, {"domains": ["*"]}, {"rationale": "r"}]
    hashes = {plan(**change).sha256 for change in changes}
    assert len(hashes | {one.sha256}) == 6
