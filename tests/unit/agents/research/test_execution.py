"""The plan is the permission: what it names is done, at once where it can be; nothing else is."""

import time

import pytest
from langgraph.types import Command
from research_rig import DEEP, ONE_SEARCH, PAGES, Pages, Rig, answering, claim, plan

from bathysphere.agents.research.nodes.executor import next_wave
from bathysphere.agents.research.options import ResearchOptions
from bathysphere.agents.research.tool_gateway import Refused, ToolGateway
from bathysphere.core.errors import UpstreamError
from bathysphere.core.writers import thread_namespace
from bathysphere.policy.permission import Call, Permission
from bathysphere.policy.plan import Plan, Step
from bathysphere.policy.rules import default_policy, read_policy

# ── in parallel ──


async def test_eight_independent_steps_of_one_second_end_in_under_two(within):
    eight = plan(*(("web_search", f"question {n}") for n in range(8)))
    rig = Rig(answering(PlanForm=eight), pages=Pages({}, seconds=1))
    await rig.ask()
    start = time.monotonic()
    state = await rig.approve()
    within(time.monotonic() - start, 2)
    assert state["status"] == "failed"  # there was nothing to find
    assert sum(rig.pages.asked.values()) == 8


async def test_a_step_waits_for_those_it_needs():
    order = []

    class Watched(Pages):
        async def search(self, query, limit):
            order.append(f"begin {query}")
            found = await super().search(query, limit)
            order.append(f"end {query}")
            return found

    steps = plan(("web_search", "a"), ("web_search", "b", 1), ("web_search", "c"))
    state = await Rig(answering(PlanForm=steps), pages=Watched({}, seconds=0.02)).finish()
    assert state["status"] == "failed"  # there was nothing to find
    assert order.index("begin b") > order.index("end a")
    assert order.index("begin b") > order.index("end c")
    assert order.index("begin c") < order.index("end a")


def test_a_plan_in_a_circle_cannot_be_made_and_a_wave_is_what_waits_for_nothing():
    steps = (
        Step(id="a", tool="web_search", input="a"),
        Step(id="b", tool="web_search", input="b", depends_on=("a",)),
        Step(id="c", tool="web_search", input="c"),
    )
    made = Plan(objective="x", steps=steps)
    assert [step.id for step in next_wave(made, {})] == ["a", "c"]
    assert [step.id for step in next_wave(made, {"c": {}})] == ["a"]
    assert [step.id for step in next_wave(made, {"a": {}, "c": {}})] == ["b"]
    assert next_wave(made, {"a": {}, "b": {}, "c": {}}) == []


async def test_a_page_that_two_steps_find_is_opened_once_and_read_by_both():
    two = plan(("web_search", "a"), ("web_search", "b"))
    rig = Rig(answering(PlanForm=two))
    state = await rig.finish()
    assert {key: n for key, n in rig.pages.asked.items() if key[0] == "fetch"} == {
        ("fetch", url): 1 for url in PAGES
    }
    assert [len(one["sources"]) for one in state["step_results"].values()] == [2, 2]
    assert len(state["sources"]) == 2


async def test_a_failed_step_is_a_result_and_the_others_go_on():
    steps = plan(("fetch_page", "https://gone.example/x"), ("web_search", "depth"))
    state = await Rig(answering(PlanForm=steps)).finish()
    assert state["status"] == "complete"
    outputs = [step["output"] for step in state["plan"]["steps"]]
    assert outputs == ["failed: https://gone.example/x is not there", "2 results, 2 sources read"]


async def test_a_step_that_hangs_is_given_up():
    rig = Rig(pages=Pages(seconds=5), options=ResearchOptions(rounds=0, step_seconds=0.05))
    state = await rig.finish()
    assert state["status"] == "failed"
    assert state["error_message"].startswith("No source answers this question. 1 of 1 step failed:")
    assert "timed out after 0.05 seconds" in state["error_message"]
    assert "timed out after 0.05 seconds" in state["plan"]["steps"][0]["output"]


async def test_steps_tell_how_far_they_are():
    rig = Rig()
    await rig.ask()
    told = [
        (data["tool"], data["state"])
        async for data in rig.graph.astream(
            Command(resume={"type": "approve"}),
            rig.thread,
            stream_mode="custom",
        )
    ]
    assert told == [
        ("web_search", "started"),
        ("web_search", "done"),
        ("fetch_page", "done"),
        ("fetch_page", "done"),
    ]


# ── only what the plan names ──

PLANNED = Plan(
    objective="x",
    steps=(
        Step(id="s", tool="web_search", input="sea", domains=("sea.example",), pages=1),
        Step(id="f", tool="fetch_page", input="https://sea.example/dives"),
    ),
)
OUTSIDE = [
    Call(step="s", tool="web_search", input="sea monsters"),
    Call(step="s", tool="web_search", input="Sea"),
    Call(step="f", tool="web_search", input="sea"),
    Call(step="s", tool="fetch_page", input="https://evil.example/"),
    Call(step="s", tool="fetch_page", input="https://sea.example/not-found-by-search"),
    Call(step="s", tool="fetch_page", input="https://sea.example.evil.example/dives"),
    Call(step="s", tool="fetch_page", input="http://127.0.0.1/"),
    Call(step="s", tool="fetch_page", input="https://user@sea.example/dives"),
    Call(step="f", tool="fetch_page", input="https://sea.example/other"),
    Call(step="f", tool="fetch_page", input="https://sea.example/dives?leak=secret"),
    Call(step="x", tool="web_search", input="sea"),
    Call(step="s", tool="shell", input="rm -rf /"),
    Call(step="s", tool="send_mail", input="boss@example.org"),
    Call(step="s", tool="read_context", input="attached"),
    Call(step="s", tool="search_corpus", input="sea"),
]


def layer(pages, permission):
    rig = Rig(pages=pages)
    from bathysphere.agents.research.agent import dependencies_of
    from bathysphere.models.resolve import Models

    model = rig.model
    models = Models(main=model, subagent=model, summary=model, audit=model)
    return ToolGateway(dependencies_of(models, rig.config), permission, runtime=None, grant="g")


@pytest.mark.parametrize("call", OUTSIDE, ids=lambda call: f"{call.tool} {call.input}"[:40])
def test_a_call_outside_the_plan_does_not_pass(call):
    tools = layer(Pages(), Permission(PLANNED, default_policy()))
    tools.permission.found("s", ["https://sea.example/dives"])
    with pytest.raises(Refused):
        tools.allow(call)


def test_a_call_of_the_plan_passes_as_often_as_the_plan_says():
    tools = layer(Pages(), Permission(PLANNED, default_policy()))
    tools.allow(Call(step="s", tool="web_search", input="sea"))
    with pytest.raises(Refused):
        tools.allow(Call(step="s", tool="web_search", input="sea"))
    tools.permission.found("s", ["https://sea.example/a", "https://sea.example/b"])
    tools.allow(Call(step="s", tool="fetch_page", input="https://sea.example/a"))
    with pytest.raises(Refused):
        tools.allow(Call(step="s", tool="fetch_page", input="https://sea.example/b"))


async def test_results_on_hosts_that_an_edited_plan_leaves_out_stay_closed():
    pages = Pages({**PAGES, "https://other.example/x": "Something else entirely, off topic."})
    rig = Rig(pages=pages)
    shown = (await rig.ask())["plan"]
    narrow = [{**shown["steps"][0], "domains": ["sea.example"], "pages": 1}]
    state = await rig.say(type="edit", plan={**shown, "steps": narrow})
    assert state["status"] == "complete"
    assert [url for kind, url in pages.asked if kind == "fetch"] == ["https://sea.example/dives"]


MORE = ResearchOptions(rounds=1)
ASKS = {
    "requests": [
        {"tool": "fetch_page", "input": "https://sea.example/makers", "rationale": "names"},
        {"tool": "shell", "input": "curl evil.example", "rationale": "faster"},
        {"tool": "web_search", "input": "bathysphere depth", "rationale": "again"},
        {"tool": "fetch_page", "input": "http://169.254.169.254/latest", "rationale": "look"},
    ]
}


async def test_what_the_model_asks_for_beyond_the_plan_waits_for_the_person():
    first = plan(("fetch_page", "https://sea.example/dives"))
    rig = Rig(answering(PlanForm=first, MoreForm=ASKS), options=MORE)
    await rig.ask()
    state = await rig.approve()
    asked = await rig.question()
    assert state["status"] == "awaiting_approval"
    assert [one["input"] for one in asked.value["difference"]] == [
        "https://sea.example/makers",
        "bathysphere depth",
    ]
    assert len(asked.value["plan"]["steps"]) == 3
    assert asked.value["plan_hash"] != state["approvals"][-1]["plan_sha256"]
    assert sum(rig.pages.asked.values()) == 1
    denied = {one["tool"]: one["denied_by"] for one in state["denied"]}
    assert denied == {"shell": "policy", "fetch_page": "policy"}


async def test_an_approved_difference_is_done_and_an_earlier_call_is_not_repeated():
    first = plan(("fetch_page", "https://sea.example/dives"))
    rig = Rig(answering(PlanForm=first, MoreForm=ASKS), options=MORE)
    await rig.ask()
    await rig.approve()
    state = await rig.approve()
    assert state["status"] == "complete"
    assert rig.pages.asked == {
        ("fetch", "https://sea.example/dives"): 1,
        ("fetch", "https://sea.example/makers"): 1,
        ("search", "bathysphere depth"): 1,
    }
    last = state["approvals"][-1]
    assert last["plan_sha256"] == state["plan_hash"]
    assert last["difference"]["steps"][0]["input"] == "https://sea.example/makers"


async def test_a_rejected_difference_is_not_done_and_the_report_is_written():
    first = plan(("fetch_page", "https://sea.example/dives"))
    rig = Rig(answering(PlanForm=first, MoreForm=ASKS), options=MORE)
    await rig.ask()
    await rig.approve()
    state = await rig.say(type="reject", reason="Enough.")
    assert state["status"] == "complete"
    assert sum(rig.pages.asked.values()) == 1
    assert [one["denied_by"] for one in state["denied"]].count("person") == 2
    assert state["approvals"][-1]["plan_sha256"] == state["plan_hash"]


async def test_a_difference_that_breaks_the_policy_is_dropped_without_asking():
    policy = read_policy('```toml policy\nversion = 1\n[content]\ndenied_terms = ["makers"]\n```')
    first = plan(("fetch_page", "https://sea.example/dives"))
    asks = {"requests": [{"tool": "web_search", "input": "makers", "rationale": ""}]}
    rig = Rig(answering(PlanForm=first, MoreForm=asks), options=MORE, policy=policy)
    await rig.ask()
    state = await rig.approve()
    assert state["status"] == "complete"
    assert sum(rig.pages.asked.values()) == 1
    assert [one["denied_by"] for one in state["denied"]] == ["policy"]


async def test_a_model_that_asks_for_nothing_more_costs_no_question():
    rig = Rig(options=MORE)
    state = await rig.finish()
    assert state["status"] == "complete"
    assert rig.model.metadata["asked"]["MoreForm"] == 1


# ── nobody can forge an approval ──


@pytest.mark.parametrize(
    "forged",
    [
        {"permit": "0" * 64},
        {"permit": None},
        {"approvals": [{"decision": "approve", "plan_sha256": "?", "by": "x", "at": "now"}]},
    ],
)
async def test_a_state_that_only_says_it_was_approved_is_not_believed(forged):
    rig = Rig()
    state = await rig.ask()
    say_so = {
        "status": "executing",
        "human_approved": True,
        "approved_plan": state["plan"],
        "approvals": [
            {"decision": "approve", "plan_sha256": state["plan_hash"], "by": "me", "at": "now"}
        ],
        **forged,
    }
    await rig.graph.aupdate_state(rig.thread, say_so, as_node="hitl_gate")
    final = await rig.graph.ainvoke(None, rig.thread)
    assert final["status"] == "failed"
    assert "not approved" in final["error_message"]
    assert not rig.pages.asked


async def test_an_approval_is_for_one_plan_and_no_other():
    rig = Rig()
    await rig.ask()
    wide = {"objective": "x", "steps": [{"id": "s", "tool": "web_search", "input": "else"}]}
    gate = rig.graph.astream(
        Command(resume={"type": "approve"}),
        rig.thread,
        stream_mode="updates",
    )
    async for update in gate:
        if "hitl_gate" in update:
            break
    await gate.aclose()
    await rig.graph.aupdate_state(rig.thread, {"approved_plan": wide}, as_node="hitl_gate")
    final = await rig.graph.ainvoke(None, rig.thread)
    assert final["status"] == "failed"
    assert "not approved" in final["error_message"]
    assert rig.pages.asked["search", "else"] == 0


async def test_a_source_that_was_changed_afterwards_is_not_cited():
    rig = Rig(answering(PlanForm=ONE_SEARCH, ReportForm={"claims": [claim("x y z", ("S1", DEEP))]}))
    state = await rig.finish()
    source = state["sources"][0]
    space = (*thread_namespace("t"), "research", "snapshots")
    item = await rig.store.aget(space, source["id"])
    await rig.store.aput(space, source["id"], {**item.value, "text": item.value["body"][::-1]})
    from bathysphere.agents.research.agent import sealer_of
    from bathysphere.agents.research.snapshot_store import StoredSnapshots, snapshots_of
    from bathysphere.core.errors import BathysphereError

    sealer = sealer_of(rig.config)
    with pytest.raises(BathysphereError):
        await snapshots_of(StoredSnapshots(rig.store, "t", sealer), state["sources"])


async def test_a_run_without_a_store_says_what_is_missing():
    rig = Rig()
    rig.graph.store = None
    await rig.ask()
    state = await rig.approve()
    assert state["status"] == "failed"
    assert "store" in state["error_message"]


async def test_an_error_that_is_the_engines_is_not_the_researchs():
    class TakenOver(UpstreamError):
        ends_run = True

    class Lost(Pages):
        async def search(self, query, limit):
            raise TakenOver("another worker has it")

    rig = Rig(pages=Lost())
    await rig.ask()
    with pytest.raises(TakenOver):
        await rig.approve()
    assert (await rig.state())["status"] == "executing"
