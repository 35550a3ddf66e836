"""From a question to a report: plan, audit, the person's word, and what comes of mistakes."""

import pytest
from langchain_core.messages import HumanMessage
from pydantic import ValidationError
from research_rig import DEEP, MADE, ONE_SEARCH, QUESTION, Pages, Rig, answering, claim, plan

from bathysphere.agents.research.state import MAX_REASONING_ENTRIES, append_reasoning
from bathysphere.policy.rules import read_policy
from bathysphere.testing import ScriptedChatModel, refuses, says

NO_SEARCH_FOR_SPIES = read_policy(
    """
```toml policy
version = 1
[content]
denied_terms = ["spies"]
```
"""
)
SPYING = plan(("web_search", "spies in the sea"))


# ── the good way ──


async def test_a_question_becomes_a_plan_that_waits():
    rig = Rig()
    state = await rig.ask()
    asked = await rig.question()
    assert state["status"] == "awaiting_approval"
    assert asked.value["type"] == "plan_approval"
    assert asked.value["plan"]["objective"] == "Know how deep it went."
    assert asked.value["plan_hash"] == state["plan_hash"]
    assert asked.value["audit_result"]["verdict"] == "approved"
    assert asked.value["decisions"] == ["approve", "edit", "reject"]
    assert not rig.pages.asked


@pytest.mark.parametrize("tool", ["web_search", "search_corpus"])
async def test_the_name_of_the_tool_is_no_query(tool):
    pages = Pages(tools={tool: "words to search for"})
    rig = Rig(answering(PlanForm=[plan((tool, tool))]), pages=pages)
    state = await rig.ask()
    assert [step["input"] for step in state["plan"]["steps"]] == [QUESTION]


async def test_an_approved_plan_becomes_a_report_with_quotes_at_their_bytes():
    rig = Rig()
    state = await rig.finish()
    assert state["status"] == "complete"
    (quote,) = state["report"]["quotes"]
    assert quote["text"] == DEEP
    (source,) = [s for s in state["sources"] if s["id"] == quote["snapshot"]]
    text = rig.pages.pages[source["url"]].encode()
    assert text[quote["start"] : quote["end"]].decode() == DEEP
    assert DEEP in state["final_report"]
    assert state["messages"][-1].text == state["final_report"]


async def test_each_node_leaves_a_line_in_the_trace():
    state = await Rig().finish()
    nodes = [line["node"] for line in state["reasoning"]]
    assert nodes == ["thinker", "auditor", "hitl_gate", "tool_executor", "synthesizer"]
    assert all(line["timestamp"] and line["summary"] for line in state["reasoning"])
    assert state["reasoning"][0]["raw_thought"]


def test_the_trace_keeps_its_newest_twenty():
    known = [{"summary": str(n)} for n in range(MAX_REASONING_ENTRIES)]
    kept = append_reasoning(known, [{"summary": "new"}])
    assert len(kept) == 20
    assert [kept[0]["summary"], kept[-1]["summary"]] == ["1", "new"]
    assert append_reasoning(None, None) == []


async def test_the_ids_of_the_steps_are_uuids_and_the_same_for_the_same_plan():
    one, other = await Rig().ask(), await Rig().ask()
    assert one["plan"]["steps"][0]["id"] == other["plan"]["steps"][0]["id"]
    assert len(one["plan"]["steps"][0]["id"]) == 36
    assert one["plan_hash"] == other["plan_hash"]


async def test_a_step_shows_what_it_gave():
    state = await Rig().finish()
    assert state["plan"]["steps"][0]["output"] == "2 results, 2 sources read"
    assert state["approved_plan"]["steps"][0].keys() == state["plan"]["steps"][0].keys() - {
        "output"
    }


async def test_what_the_person_attached_is_a_source_and_their_addresses_are_steps():
    own = "My own notes say that the hatch weighed 180 kilograms."
    report = {"claims": [claim("The hatch weighed 180 kilograms.", ("S1", own))]}
    model = answering(PlanForm=plan(("fetch_page", "https://sea.example/dives")), ReportForm=report)
    rig = Rig(model)
    url = "https://sea.example/makers"
    state = await rig.finish(knowledge_context=own, context_urls=[url])
    assert [step["tool"] for step in state["plan"]["steps"]] == [
        "fetch_page",
        "fetch_page",
        "read_context",
    ]
    assert rig.pages.asked["fetch", url] == 1
    assert state["report"]["tally"]["supported"] + state["report"]["tally"]["repaired"] == 1
    origins = {source["origin"] for source in state["sources"]}
    assert origins == {"web", "client"}


async def test_a_new_question_on_the_thread_starts_over():
    rig = Rig()
    first = await rig.finish()
    again = await rig.ask("Who made it?")
    assert again["user_query"] == "Who made it?"
    assert again["status"] == "awaiting_approval"
    assert again["report"] is None
    assert again["approvals"] == []
    assert again["sources"] == []
    assert len(again["reasoning"]) > len(first["reasoning"])


async def test_a_message_is_a_question_too():
    rig = Rig()
    state = await rig.graph.ainvoke({"messages": [HumanMessage("Who made it?")]}, rig.thread)
    assert state["user_query"] == "Who made it?"
    done = await rig.approve()
    assert [m.type for m in done["messages"]] == ["human", "ai"]


# ── the audit ──


async def test_a_refused_plan_goes_back_with_the_reason():
    rig = Rig(answering(PlanForm=[SPYING, ONE_SEARCH]), policy=NO_SEARCH_FOR_SPIES)
    state = await rig.ask()
    assert state["status"] == "awaiting_approval"
    assert state["plan_revision_count"] == 1
    assert state["plan"]["revision"] == 1
    second = rig.model.requests[1][-1].text
    assert "it is about 'spies'" in second


async def test_a_plan_that_is_refused_to_the_ceiling_ends_the_run():
    rig = Rig(answering(PlanForm=SPYING), policy=NO_SEARCH_FOR_SPIES)
    state = await rig.ask(max_plan_revisions=2)
    assert state["status"] == "failed"
    assert state["plan_revision_count"] == 2
    assert "rejected 2 times" in state["error_message"]
    assert "spies" in state["error_message"]
    assert not rig.pages.asked
    assert "__interrupt__" not in state


async def test_a_client_cannot_raise_the_ceiling_above_the_policy():
    state = await Rig(answering(PlanForm=SPYING), policy=NO_SEARCH_FOR_SPIES).ask(
        max_plan_revisions=50
    )
    assert state["plan_revision_count"] == NO_SEARCH_FOR_SPIES.limits.revisions


JUDGED = read_policy(
    """
```toml policy
version = 1
[[judge]]
id = "fair"
question = "Is the plan one-sided?"
```
"""
)


@pytest.mark.parametrize(
    ("judgements", "verdict"),
    [
        (
            [{"rule": "judge.fair", "allowed": True, "suggestion": "Look at critics too."}],
            "approved",
        ),
        ([{"rule": "judge.fair", "allowed": False, "reason": "Only praise."}], "rejected"),
        ([], "rejected"),
    ],
)
async def test_what_rules_leave_open_is_the_auditors(judgements, verdict):
    model = answering(AuditForm={"judgements": judgements})
    state = await Rig(model, policy=JUDGED).ask(max_plan_revisions=1)
    assert state["audit_result"]["verdict"] == verdict
    if verdict == "approved":
        assert state["audit_result"]["suggestions"] == ["Look at critics too."]
    else:
        (found,) = state["audit_result"]["detail"]["violations"]
        assert found["decided_by"] == "judgement"


async def test_where_rules_decide_no_auditor_is_asked():
    rig = Rig()
    await rig.ask()
    assert rig.model.metadata["asked"] == {"PlanForm": 1}


# ── the person's word ──


async def test_a_rejected_plan_goes_back_with_the_persons_reason():
    other = plan(("web_search", "who designed the bathysphere"))
    rig = Rig(answering(PlanForm=[ONE_SEARCH, other]))
    await rig.ask()
    state = await rig.say(type="reject", reason="I want to know who made it.")
    assert state["status"] == "awaiting_approval"
    assert state["plan"]["steps"][0]["input"] == "who designed the bathysphere"
    assert "I want to know who made it." in rig.model.requests[1][-1].text
    assert [one["decision"] for one in state["approvals"]] == ["reject"]
    assert not rig.pages.asked


async def test_an_edited_plan_is_audited_again_and_runs_as_edited():
    rig = Rig()
    shown = (await rig.ask())["plan"]
    steps = [{**shown["steps"][0], "input": "bathysphere record"}]
    state = await rig.say(type="edit", plan={**shown, "steps": steps})
    assert state["status"] == "complete"
    assert rig.pages.asked["search", "bathysphere record"] == 1
    assert rig.pages.asked["search", "bathysphere depth"] == 0
    assert [line["node"] for line in state["reasoning"]][:4] == [
        "thinker",
        "auditor",
        "hitl_gate",
        "auditor",
    ]
    assert [one["decision"] for one in state["approvals"]] == ["edit", "approve"]
    assert state["approvals"][-1]["plan_sha256"] == state["plan_hash"]


async def test_an_edit_that_breaks_the_policy_comes_back_and_cannot_be_approved():
    rig = Rig(policy=NO_SEARCH_FOR_SPIES)
    shown = (await rig.ask())["plan"]
    spying = {**shown, "steps": [{**shown["steps"][0], "input": "spies"}]}
    state = await rig.say(type="edit", plan=spying)
    asked = await rig.question()
    assert state["status"] == "awaiting_approval"
    assert asked.value["decisions"] == ["edit", "reject"]
    assert asked.value["audit_result"]["verdict"] == "rejected"
    with pytest.raises(ValidationError):
        await rig.approve()
    done = await rig.say(type="edit", plan=shown)
    assert done["status"] == "complete"
    assert rig.pages.asked["search", "spies"] == 0


@pytest.mark.parametrize(
    "answer",
    [
        {"type": "approve", "plan_hash": "0" * 64},
        {"type": "approve", "note": "yes"},
        {"type": "reject"},
        {"type": "reject", "reason": "  "},
        {"type": "edit"},
        {"type": "edit", "plan": {"objective": "x", "steps": []}},
        {
            "type": "edit",
            "plan": {"objective": "x", "steps": [{"id": "a", "tool": "X Y", "input": "q"}]},
        },
        {"type": "perhaps"},
        "yes",
    ],
)
async def test_an_invalid_answer_is_refused_and_can_be_corrected(answer):
    from langgraph.types import Command

    rig = Rig()
    await rig.ask()
    asked = await rig.question()
    with pytest.raises(ValidationError):
        await rig.graph.ainvoke(Command(resume=answer), rig.thread)
    assert (await rig.question()).id == asked.id
    assert (await rig.say(type="approve", plan_hash=asked.value["plan_hash"]))[
        "status"
    ] == "complete"


# ── when it goes wrong ──


async def test_a_model_that_never_gives_json_ends_as_failed_with_its_trace():
    rig = Rig(answering(PlanForm="I would rather not."))
    state = await rig.ask()
    assert state["status"] == "failed"
    assert "did not give a usable PlanForm" in state["error_message"]
    assert state["reasoning"][-1]["node"] == "thinker"
    assert state["reasoning"][-1]["summary"].startswith("Error: ")
    assert rig.model.metadata["asked"]["PlanForm"] == 3


async def test_a_model_that_refuses_for_a_moment_is_asked_again():
    turns = [refuses(503), refuses(429)]

    def answer(messages):
        return turns.pop() if turns else answering().answer(messages)

    state = await Rig(ScriptedChatModel(answer=answer)).ask()
    assert state["status"] == "awaiting_approval"


async def test_a_model_that_is_away_ends_as_failed():
    state = await Rig(ScriptedChatModel(answer=lambda _: refuses(503))).ask()
    assert state["status"] == "failed"
    assert "503" in state["error_message"]


async def test_a_run_that_failed_can_be_asked_again():
    turns = [says("no"), says("no"), says("no")]

    def answer(messages):
        return turns.pop() if turns else answering().answer(messages)

    rig = Rig(ScriptedChatModel(answer=answer))
    assert (await rig.ask())["status"] == "failed"
    again = await rig.ask()
    assert again["status"] == "awaiting_approval"
    assert again["error_message"] is None


async def test_nothing_asked_is_one_sentence():
    rig = Rig()
    state = await rig.graph.ainvoke({"user_query": "  "}, rig.thread)
    assert state["status"] == "failed"
    assert state["error_message"].startswith("The question is empty")


async def test_nothing_to_search_with_is_one_sentence():
    rig = Rig(pages=Pages(tools={"read_context": "what the person attached"}))
    assert (await rig.ask())["error_message"].startswith("No search tool is available")


async def test_tokens_above_the_policy_end_the_run():
    policy = read_policy("```toml policy\nversion = 1\n[limits]\ntokens = 600\n```")
    rig = Rig(policy=policy)
    state = await rig.finish()
    assert state["status"] == "failed"
    assert "of 600" in state["error_message"]


async def test_without_sources_there_are_no_claims():
    rig = Rig(pages=Pages({}))
    state = await rig.finish()
    assert state["status"] == "failed"
    assert state["error_message"].startswith("No source answers this question. 1 step succeeded")
    assert (state["report"], state["final_report"], state["seal"]) == (None, None, None)
    assert rig.model.metadata["asked"]["ReportForm"] == 0


async def test_sources_that_say_nothing_to_the_question_are_no_report():
    state = await Rig(answering(ReportForm={"claims": []})).finish()
    assert state["status"] == "failed"
    assert state["error_message"].startswith("The sources that were read do not answer this")
    assert state["report"] is None


async def test_addresses_that_no_tool_can_open_are_listed_not_dropped():
    from bathysphere.agents.research.source_access import sample

    rig = Rig(answering(PlanForm=plan(("search_corpus", "depth"))), pages=sample())
    state = await rig.ask(context_urls=["https://sea.example/deep"])
    [skipped] = state["denied"]
    assert skipped["input"] == "https://sea.example/deep"
    assert "no tool for opening web pages" in skipped["why"]


async def test_the_question_is_the_reports():
    state = await Rig(
        answering(ReportForm={"claims": [claim("Barton designed it.", ("S2", MADE))]})
    ).finish()
    assert state["report"]["question"] == QUESTION
