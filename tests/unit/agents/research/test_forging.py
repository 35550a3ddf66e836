"""A state, a store or a seal that was changed from outside is noticed by the next step.

The server refuses such writes (`tests/integration/server/test_client_writes.py`). Here they are
made past it, as somebody with access to the database can: before every node, in every field.
"""

import copy
from contextlib import suppress
from typing import get_type_hints

import pytest
from langgraph.errors import InvalidUpdateError
from langgraph.types import Command
from research_rig import ONE_SEARCH, QUESTION, Rig, answering, plan

from bathysphere.agents.research.agent import sealer_of
from bathysphere.agents.research.download import download
from bathysphere.agents.research.nodes.thinker import FRESH
from bathysphere.agents.research.options import ResearchOptions
from bathysphere.agents.research.plan_seal import REPORT
from bathysphere.agents.research.state import ResearchInput, ResearchState
from bathysphere.agents.research.steps import SEALED, is_step
from bathysphere.core.errors import BathysphereError
from bathysphere.core.writers import thread_namespace
from bathysphere.evidence.proof.check import verify_proof

TWO_STEPS = plan(("web_search", "bathysphere depth"), ("web_search", "bathysphere makers", 1))
ENGINE_FIELDS = sorted(get_type_hints(ResearchState).keys() - get_type_hints(ResearchInput).keys())
PLACES = ["auditor", "hitl_gate", "answer", "tool_executor", "second wave", "synthesizer"]
FOLLOW_UPS = {"answerer": "answer", "extended plan": "extend", "extension": "extend"}
"""Places of a second run on the thread, and how its message is understood."""


def new_rig(kind="new", **more):
    route = {"kind": kind, "reason": "as scripted"}
    return Rig(answering(PlanForm=TWO_STEPS, RouteForm=route), **more)


async def stop_in_follow_up(rig, place):
    """Finish one report, then run a second message up to a node."""
    await rig.finish(knowledge_context="My own notes.")
    node = {"answerer": "answerer", "extended plan": "auditor"}.get(place)
    again = {"user_query": "And who made it?"}
    if node is not None:
        await rig.graph.ainvoke(again, rig.thread, interrupt_before=[node])
        return
    await rig.graph.ainvoke(again, rig.thread)
    approve = Command(resume={"type": "approve"})
    await rig.graph.ainvoke(approve, rig.thread, interrupt_before=["tool_executor"])


async def stop_before(rig, place):
    """Run research up to a node; gives what the run goes on with."""
    begun = {"user_query": QUESTION, "knowledge_context": "My own notes."}
    approve = Command(resume={"type": "approve"})
    if place in FOLLOW_UPS:
        await stop_in_follow_up(rig, place)
        return None
    if place in ("auditor", "hitl_gate"):
        await rig.graph.ainvoke(begun, rig.thread, interrupt_before=[place])
        return None
    await rig.graph.ainvoke(begun, rig.thread)
    if place == "answer":
        return approve
    if place == "rejected":
        no = Command(resume={"type": "reject", "reason": "Look for feet."})
        await rig.graph.ainvoke(no, rig.thread, interrupt_before=["thinker"])
        return None
    node = "synthesizer" if place == "synthesizer" else "tool_executor"
    await rig.graph.ainvoke(approve, rig.thread, interrupt_before=[node])
    if place == "second wave":
        await rig.graph.ainvoke(None, rig.thread, interrupt_before=[node])
    return None


class Moment:
    """A run at a place, which can be gone back to."""

    def __init__(self, rig, goes_on_with):
        self.rig = rig
        self.goes_on_with = goes_on_with
        self._kept = copy.deepcopy(self._parts())

    def _parts(self):
        saver, store = self.rig.saver, self.rig.store
        return [saver.storage, saver.writes, saver.blobs, store._data]

    def back(self):
        for part, kept in zip(self._parts(), copy.deepcopy(self._kept), strict=True):
            part.clear()
            part.update(kept)

    async def write(self, field, value):
        """Put a value into the newest checkpoint, where nothing asks who writes."""
        saver = self.rig.saver
        found = await saver.aget_tuple(self.rig.thread)
        checkpoint = copy.deepcopy(found.checkpoint)
        version = f"{max(map(str, checkpoint['channel_versions'].values()))}.forged"
        checkpoint["channel_values"][field] = value
        checkpoint["channel_versions"][field] = version
        for seen in checkpoint["versions_seen"].values():
            seen.pop(field, None)
        place = found.config["configurable"]
        stored = saver.storage[place["thread_id"]][""][place["checkpoint_id"]]
        saver.blobs[place["thread_id"], "", field, version] = saver.serde.dumps_typed(value)
        without = {**checkpoint, "channel_values": {}}
        saver.storage[place["thread_id"]][""][place["checkpoint_id"]] = (
            saver.serde.dumps_typed(without),
            *stored[1:],
        )
        state = (await self.rig.graph.aget_state(self.rig.thread)).values
        assert state[field] == value, field

    async def go_on(self):
        return await self.rig.graph.ainvoke(self.goes_on_with, self.rig.thread)


async def moment(place, **more):
    rig = new_rig(FOLLOW_UPS.get(place, "new"), **more)
    return Moment(rig, await stop_before(rig, place))


def changed(value):
    """Something of the same kind that is not the same."""
    if value is None:
        return "forged"
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, str):
        return f"{value[:-1]}{'0' if value[-1:] != '0' else '1'}"
    return [*value, "forged"] if isinstance(value, list) else {**value, "forged": "x"}


def is_noticed(state):
    return state["status"] == "failed" and "not approved" in state["error_message"]


# ── every field, before every node ──


@pytest.mark.parametrize("place", [*PLACES, *FOLLOW_UPS])
async def test_a_field_changed_before_a_node_is_noticed(place):
    at = await moment(place)
    before = (await at.rig.graph.aget_state(at.rig.thread)).values
    asked = dict(at.rig.pages.asked)
    for field in SEALED:
        at.back()
        await at.write(field, changed(before.get(field)))
        state = await at.go_on()
        assert is_noticed(state), field
        assert not state.get("report") or field == "report", field
        assert not state.get("answer") or field == "answer", field
        assert dict(at.rig.pages.asked) == asked, field
    at.back()
    assert not is_noticed(await at.go_on())


def test_every_field_is_sealed_but_the_client_messages_and_the_trace():
    fields = get_type_hints(ResearchState).keys()
    assert fields - set(SEALED) == {"messages", "reasoning", "step_seal"}


@pytest.mark.parametrize("place", [*PLACES, *FOLLOW_UPS])
async def test_the_trace_is_read_by_no_node(place):
    at = await moment(place)
    untouched = await at.go_on()
    at.back()
    await at.write("reasoning", [{"node": "auditor", "summary": "approved by the board"}])
    forged = await at.go_on()
    # The history names the report, whose id comes from the grant.
    volatile = {"reasoning", "step_seal", "grant", "history", "messages", "__interrupt__"}
    for state in (untouched, forged):
        for field in volatile:
            state.pop(field, None)
    assert forged == untouched


async def test_a_rejected_plan_that_was_changed_is_forgotten_not_believed():
    at = await moment("rejected")
    before = (await at.rig.graph.aget_state(at.rig.thread)).values
    for field in ENGINE_FIELDS:
        if field in ("reasoning", "step_seal"):
            continue
        at.back()
        await at.write(field, changed(before.get(field)))
        await at.go_on()
        state = (await at.rig.graph.aget_state(at.rig.thread)).values
        assert state["status"] == "awaiting_approval", field
        assert state["approvals"] == [], field
        assert state["plan"]["revision"] == 0, field
        assert state["thread_id"] == "t", field


async def test_a_new_question_takes_over_nothing_that_was_written_by_hand():
    set_by_thinker = {"thread_id", "status", "reasoning", "history", "step_seal"}
    assert set(ENGINE_FIELDS) == FRESH.keys() | set_by_thinker


# ── the order of the steps ──


@pytest.mark.parametrize("place", ["auditor", "hitl_gate", "tool_executor", "second wave"])
async def test_no_step_can_be_skipped(place):
    at = await moment(place)
    expected = {"second wave": "tool_executor"}.get(place, place)
    for node in ("auditor", "hitl_gate", "tool_executor", "synthesizer"):
        if node == expected:
            continue
        at.back()
        # LangGraph runs the right node beside the other one; two ends of one step are refused.
        with suppress(InvalidUpdateError):
            await at.rig.graph.ainvoke(Command(goto=node), at.rig.thread)
        state = await at.rig.state()
        assert is_noticed(state) or state["status"] != "complete", node
        assert not state.get("seal"), node


async def test_a_copied_state_belongs_to_another_thread():
    at = await moment("tool_executor")
    values = (await at.rig.graph.aget_state(at.rig.thread)).values
    other = {"configurable": {"thread_id": "other"}}
    await at.rig.graph.aupdate_state(other, values, as_node="hitl_gate")
    state = await at.rig.graph.ainvoke(None, other)
    assert is_noticed(state)
    assert not at.rig.pages.asked


# ── every seal, byte by byte ──


def flipped(text, at):
    return f"{text[:at]}{'0' if text[at] != '0' else '1'}{text[at + 1 :]}"


@pytest.mark.parametrize("place", [*PLACES, *FOLLOW_UPS])
@pytest.mark.parametrize("part", ["mac", "after", "node"])
async def test_a_flipped_byte_of_a_step_seal_is_noticed(place, part):
    at = await moment(place)
    seal = (await at.rig.graph.aget_state(at.rig.thread)).values["step_seal"]
    if not seal[part]:  # the first step comes after none
        forged = [{**seal, part: "0"}]
    else:
        forged = [{**seal, part: flipped(seal[part], n)} for n in range(len(seal[part]))]
    for one in [*forged, None, "0" * 64, {**seal, part: None}, {"mac": seal["mac"]}]:
        at.back()
        await at.write("step_seal", one)
        assert is_noticed(await at.go_on()), one


async def test_a_seal_is_for_one_thread_and_one_next_node():
    at = await moment("synthesizer")
    state = (await at.rig.graph.aget_state(at.rig.thread)).values
    sealer = sealer_of(at.rig.config)
    assert is_step(sealer, state, "t", next_node="synthesizer")
    assert not is_step(sealer, state, "another thread", next_node="synthesizer")
    assert not is_step(sealer, state, "t", next_node="tool_executor")


@pytest.mark.parametrize("place", ["tool_executor", "second wave", "synthesizer"])
async def test_a_flipped_byte_of_the_permit_is_noticed(place):
    at = await moment(place)
    permit = (await at.rig.graph.aget_state(at.rig.thread)).values["permit"]
    for position in range(len(permit)):
        at.back()
        await at.write("permit", flipped(permit, position))
        assert is_noticed(await at.go_on()), position


@pytest.mark.parametrize("place", ["tool_executor", "second wave", "synthesizer"])
async def test_a_permit_counts_even_where_the_step_s_seal_is_right(place):
    """Two locks: whoever got past the seal of the step has not got past the gate's."""
    at = await moment(place)
    state = (await at.rig.graph.aget_state(at.rig.thread)).values
    forged = {**state, "permit": flipped(state["permit"], 0)}
    seal = state["step_seal"]
    fields = {name: forged.get(name) for name in SEALED}
    left = {"of": "step", "thread": "t", "node": seal["node"], "after": seal["after"]}
    mac = sealer_of(at.rig.config).seal({**left, "fields": fields})
    await at.write("permit", forged["permit"])
    await at.write("step_seal", {**seal, "mac": mac})
    asked = dict(at.rig.pages.asked)
    state = await at.go_on()
    assert is_noticed(state)
    assert "approve it at the gate" in state["error_message"] or not state.get("seal")
    assert dict(at.rig.pages.asked) == asked


def store_items(rig, kind):
    return rig.store._data[(*thread_namespace("t"), "research", kind)]


@pytest.mark.parametrize("field", ["seal", "call", "info", "text", "body"])
async def test_a_snapshot_that_was_changed_or_planted_is_noticed(field):
    at = await moment("synthesizer")
    state = (await at.rig.graph.aget_state(at.rig.thread)).values
    for source in state["sources"]:
        at.back()
        item = store_items(at.rig, "snapshots")[source["id"]]
        value = item.value[field]
        if field == "call":
            item.value[field] = {**value, "input": "https://elsewhere.example/"}
        elif field == "info":
            item.value[field] = {**value, "title": "Reuters"}
        else:
            item.value[field] = flipped(value, 0)
        ended = await at.go_on()
        assert ended["status"] == "failed"
        assert not ended.get("seal")


@pytest.mark.parametrize(
    ("kind", "place"), [("calls", "tool_executor"), ("snapshots", "synthesizer")]
)
async def test_a_flipped_byte_of_a_seal_in_the_store_is_noticed(kind, place):
    rig = new_rig()
    await rig.finish()
    asked = dict(rig.pages.asked)
    start = await fork_of(rig, place)
    for item in store_items(rig, kind).values():
        kept = item.value["seal"]
        for position in range(len(kept)):
            item.value["seal"] = flipped(kept, position)
            state = await rig.graph.ainvoke(None, start)
            assert state["status"] == "failed", position
            assert not state.get("seal")
        item.value["seal"] = kept
    assert dict(rig.pages.asked) == asked
    assert (await rig.graph.ainvoke(None, start))["status"] == "complete"


# ── counters and forks ──


async def fork_of(rig, node):
    """The checkpoint from which the node ran first."""
    states = [state async for state in rig.graph.aget_state_history(rig.thread)]
    return next(state.config for state in reversed(states) if state.next == (node,))


async def test_an_approved_plan_runs_once_from_whichever_checkpoint():
    rig = new_rig()
    done = await rig.finish()
    asked = dict(rig.pages.asked)
    assert sum(asked.values()) >= 4
    start = await fork_of(rig, "tool_executor")
    for _ in range(5):
        again = await rig.graph.ainvoke(None, start)
        assert again["status"] == "complete"
        assert again["sources"] == done["sources"]
        assert dict(rig.pages.asked) == asked
    await rig.ask()
    await rig.approve()  # a new approval is a new permission
    assert sum(rig.pages.asked.values()) > sum(asked.values())


async def test_a_record_of_a_call_that_was_changed_is_noticed():
    rig = new_rig()
    await rig.finish()
    start = await fork_of(rig, "tool_executor")
    for item in store_items(rig, "calls").values():
        item.value["result"] = {**item.value["result"], "hits": []}
    again = await rig.graph.ainvoke(None, start)
    assert again["status"] == "failed"
    assert "Call record was modified" in again["error_message"]


@pytest.mark.parametrize(
    "reset", [{"used": {}}, {"step_results": {}}, {"used": {}, "step_results": {}}, {"rounds": 0}]
)
async def test_counters_that_were_reset_are_noticed(reset):
    rig = new_rig(options=ResearchOptions(rounds=1))
    done = await rig.finish()
    asked = dict(rig.pages.asked)
    assert done["status"] == "complete"
    back = {"status": "executing", **reset}
    await rig.graph.aupdate_state(rig.thread, back, as_node="hitl_gate")
    again = await rig.graph.ainvoke(None, rig.thread)
    assert is_noticed(again)
    assert dict(rig.pages.asked) == asked


async def test_a_plan_that_only_says_it_was_audited_is_not_approved():
    """An edited plan with a clean audit needs no second yes; both must be the run's own."""
    rig = Rig(answering(PlanForm=ONE_SEARCH))
    state = await rig.ask()
    forged = {
        "status": "awaiting_approval",
        "edited": True,
        "audit_result": {**state["audit_result"], "verdict": "approved"},
        "plan": {
            "objective": "x",
            "steps": [{"id": "s", "tool": "web_search", "input": "where do these minors live"}],
        },
    }
    await rig.graph.aupdate_state(rig.thread, forged, as_node="auditor")
    ended = await rig.graph.ainvoke(None, rig.thread)
    assert is_noticed(ended)
    assert not rig.pages.asked


# ── the download ──


async def test_a_download_notices_every_field_that_a_proof_rests_on():
    rig = new_rig()
    state = await rig.finish()

    async def proof(values):
        file = await download(values, "zip", store=rig.store, thread_id="t", config=rig.config)
        return file.body

    untouched = await proof(state)
    assert verify_proof(untouched).ok
    for field in (*REPORT, "seal"):
        with pytest.raises(BathysphereError):
            await proof({**state, field: changed(state.get(field))})
    for field in set(SEALED) - {*REPORT, "seal", "documents", "knowledge_context", "context_urls"}:
        assert await proof({**state, field: changed(state.get(field))}) == untouched, field
    for position in range(64):
        with pytest.raises(BathysphereError):
            await proof({**state, "seal": flipped(state["seal"], position)})
    for source in state["sources"]:
        item = store_items(rig, "snapshots")[source["id"]]
        kept = item.value["seal"]
        for position in range(64):
            item.value["seal"] = flipped(kept, position)
            with pytest.raises(BathysphereError):
                await proof(state)
        item.value["seal"] = kept
    assert await proof(state) == untouched
