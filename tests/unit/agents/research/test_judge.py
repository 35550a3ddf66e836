"""A judgement is shown beside its claim, and nothing that is checked depends on it."""

import json

import pytest
from research_rig import DEEP, MADE, Rig, answering, claim, form_of

from bathysphere.agents.research.download import ReportChanged, download
from bathysphere.agents.research.judge import MAX_CALLS
from bathysphere.agents.research.options import ResearchOptions
from bathysphere.agents.research.structured_output import Sizes
from bathysphere.evidence.proof.check import verify_proof
from bathysphere.policy.rules import read_policy
from bathysphere.testing import ScriptedChatModel

TRUE = claim("It reached 923 metres.", ("S1", DEEP))
FALSE = claim("William Beebe paid for it.", ("S2", MADE))
LOST = claim("It was red.", ("S1", "The sphere was painted a bright red."))
DRAFT = {"claims": [TRUE, FALSE, LOST], "contradictions": []}
BOTH = [{"claim": "c1", "follows": True}, {"claim": "c2", "follows": False, "reason": "who named"}]


async def finished(*answers, draft=DRAFT, **more):
    rig = Rig(answering(ReportForm=draft, JudgeForm=list(answers)), **more)
    state = await rig.finish()
    assert state["status"] == "complete", state["error_message"]
    return rig, state


def judgements(state):
    claims = [one for section in state["report"]["sections"] for one in section["claims"]]
    return {one["id"]: one["judgement"] and one["judgement"]["follows"] for one in claims}


def without(report):
    """The report as it was settled."""
    sections = [
        {**section, "claims": [{**one, "judgement": None} for one in section["claims"]]}
        for section in report["sections"]
    ]
    return {**report, "sections": sections}


async def test_claims_are_judged_in_one_call_and_those_without_support_not_at_all():
    rig, state = await finished({"judgements": BOTH})
    assert judgements(state) == {"c1": True, "c2": False, "c3": None}
    assert rig.model.metadata["asked"]["JudgeForm"] == 1
    asked = next(m for m in rig.model.requests if form_of(m) == "JudgeForm")[-1].text
    assert f'<quote claim="c2">\n{MADE}\n</quote>' in asked
    assert "It was red." not in asked
    assert "Judged by a model: does not follow from its quotes: who named" in state["final_report"]
    assert "2 claims judged, 1 of them as not following" in state["reasoning"][-1]["summary"]


@pytest.mark.parametrize(
    "answer",
    [
        {"judgements": []},
        {},
        "I think that both are fine.",
        {"judgements": [{"claim": "c1"}]},
        {"judgements": [{"claim": "c1", "follows": "yes"}]},
        {"judgements": [{"claim": "c1", "follows": 1}]},
        {"judgements": [{"claim": "c1", "follows": None}]},
        {"judgements": [{"claim": "c9", "follows": True}]},
        {"judgements": [{"claim": "c1", "follows": f} for f in (True, False)]},
        {"judgements": [{"claim": "c3", "follows": True}]},
    ],
)
async def test_a_missing_or_malformed_judgement_is_not_judged(answer):
    _, state = await finished(answer)
    assert judgements(state) == {"c1": None, "c2": None, "c3": None}
    assert state["final_report"].count("*Not judged*") == 2
    assert "Judged by a model" not in state["final_report"]


async def test_what_is_checked_is_the_same_whatever_the_judge_says():
    reports, proofs = [], []
    for follows in (True, False):
        answer = [{"claim": f"c{n}", "follows": follows} for n in range(1, 4)]
        rig, state = await finished({"judgements": answer})
        file = await download(state, "zip", store=rig.store, thread_id="t", config=rig.config)
        reports.append(without(state["report"]))
        proofs.append(verify_proof(file.body))
    _, unjudged = await finished({"judgements": []})
    assert reports == [without(unjudged["report"])] * 2
    assert all(proof.ok for proof in proofs)


async def test_a_changed_judgement_is_not_exported():
    rig, state = await finished({"judgements": BOTH})
    forged = json.loads(json.dumps(state["report"]))
    forged["sections"][0]["claims"][1]["judgement"] = {"follows": True, "reason": ""}
    with pytest.raises(ReportChanged):
        await download(
            {**state, "report": forged}, "md", store=rig.store, thread_id="t", config=rig.config
        )


async def test_a_judge_that_fails_does_not_take_the_report():
    def answer(messages):
        if form_of(messages) == "JudgeForm":
            raise TimeoutError("no answer")
        return answers.answer(messages)

    answers = answering(ReportForm=DRAFT)
    rig = Rig(ScriptedChatModel(answer=answer), retries=0)
    state = await rig.finish()
    assert state["status"] == "complete", state["error_message"]
    assert judgements(state) == {"c1": None, "c2": None, "c3": None}


async def test_it_can_be_switched_off():
    rig, state = await finished(
        {"judgements": BOTH}, options=ResearchOptions(rounds=0, judge=False)
    )
    assert rig.model.metadata["asked"]["JudgeForm"] == 0
    assert judgements(state) == {"c1": None, "c2": None, "c3": None}


async def test_the_calls_are_bounded():
    many = [claim(f"It reached 923 metres{'!' * n}", ("S1", DEEP)) for n in range(40)]
    draft = {"claims": many, "contradictions": []}
    rig, state = await finished({"judgements": []}, draft=draft, sizes=Sizes(claims=40, shown=250))
    assert rig.model.metadata["asked"]["JudgeForm"] == MAX_CALLS
    assert state["report"]["tally"]["claims"] == 40


async def test_the_judge_is_not_asked_where_the_limit_of_tokens_leaves_no_room():
    _, unjudged = await finished(options=ResearchOptions(rounds=0, judge=False))
    judged, state = await finished({"judgements": BOTH})
    assert state["tokens_used"] > unjudged["tokens_used"]
    limit = unjudged["tokens_used"] + 10
    policy = read_policy(f"```toml policy\nversion = 1\n[limits]\ntokens = {limit}\n```")
    rig, state = await finished({"judgements": BOTH}, policy=policy)
    assert judged.model.metadata["asked"]["JudgeForm"] == 1
    assert rig.model.metadata["asked"]["JudgeForm"] == 0
    assert judgements(state) == {"c1": None, "c2": None, "c3": None}


async def test_the_model_for_audits_judges():
    main = answering(ReportForm=DRAFT)
    audit = answering(JudgeForm={"judgements": BOTH})
    rig = Rig(main, audit=audit)
    state = await rig.finish()
    assert judgements(state) == {"c1": True, "c2": False, "c3": None}
    assert main.metadata["asked"]["JudgeForm"] == 0
