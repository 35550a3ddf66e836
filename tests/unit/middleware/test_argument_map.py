"""The argument map in an agent: who may put what on it, and whose word counts."""

import asyncio
import contextlib
import hashlib

import pytest
from jsonschema import Draft202012Validator
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import ValidationError

from bathysphere.argument.map import node_id_of, status_of
from bathysphere.argument.review import decisions_on
from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec, SubagentSpec
from bathysphere.middleware.argument_map import NOT_SAID, ArgumentMapMiddleware
from bathysphere.middleware.clarify import ClarifyMiddleware
from bathysphere.middleware.client_files import ClientFilesMiddleware
from bathysphere.testing import ScriptedChatModel, calls, says, together

THREAD = {"configurable": {"thread_id": "1"}}
CLAIM = node_id_of("claim", "Money is trust.")
DRAFT = "Gold is scarce.\n\nIt does not rust, and nobody can print it."


def agent(*script, **extra):
    model = ScriptedChatModel(script=list(script))
    layers = (ArgumentMapMiddleware(), ClarifyMiddleware(), ClientFilesMiddleware())
    spec = AgentSpec(name="t", model=model, middleware=layers, **extra)
    return build(spec, checkpointer=InMemorySaver()), model


async def say(graph, text="I hold that money is trust."):
    return await graph.ainvoke({"messages": [HumanMessage(text, id="m1")]}, THREAD)


async def answer(graph, paused, value):
    (waiting,) = paused["__interrupt__"]
    return await graph.ainvoke(Command(resume={waiting.id: value}), THREAD)


def results(state):
    return [(m.status, m.text) for m in state["messages"] if m.type == "tool"]


def claim(**more):
    return calls("propose_node", kind="claim", text="Money is trust.", **more)


async def test_a_node_that_the_person_said_is_theirs_and_linked_to_their_message():
    graph, _ = agent(claim(said="money is trust"), says("I see."))
    state = await say(graph)
    node = state["argument_map"]["nodes"][CLAIM]
    assert node["author"] == "person"
    assert node["source"] == {"message": "m1", "said": "money is trust"}
    assert status_of(state["argument_map"], CLAIM) == "proposed"


async def test_words_that_the_person_did_not_say_are_refused():
    graph, _ = agent(claim(said="money is gold"), says("I see."))
    state = await say(graph)
    assert results(state) == [("error", NOT_SAID)]
    assert not state.get("argument_map", {}).get("nodes")


async def test_an_answer_to_a_question_is_something_that_the_person_said():
    ask = calls("ask_user", {"question": "What do you hold?"}, id="q")
    graph, _ = agent(ask, claim(said="Money is trust"), says("I see."))
    state = await answer(graph, await say(graph, "Hello"), {"response": "Money is trust, I say."})
    assert state["argument_map"]["nodes"][CLAIM]["author"] == "person"


async def test_a_node_by_the_tutor_is_linked_to_the_message_that_added_it():
    graph, _ = agent(claim(), says("I see."))
    state = await say(graph)
    node = state["argument_map"]["nodes"][CLAIM]
    assert node["author"] == "tutor"
    assert node["source"]["message"] == state["messages"][1].id


async def test_the_model_sees_the_map_and_what_is_missing_in_it():
    graph, model = agent(claim(said="money is trust"), says("I see."))
    await say(graph)
    before, after = (request[0].text for request in model.requests)
    assert "argument map\nIt is" not in before
    assert f"**{CLAIM}** Money is trust. (not yet accepted; person)" in after
    assert f"- Nothing supports {CLAIM}." in after


async def test_what_cannot_be_is_an_error_result_that_says_why():
    graph, _ = agent(
        claim(),
        together(
            calls("propose_node", kind="premise", text="It is.", relation="supports", target="x-1"),
            calls("propose_node", kind="premise", text="It is.", relation="supports"),
            calls("propose_relation", origin=CLAIM, relation="answers", target=CLAIM),
        ),
        says("I see."),
    )
    state = await say(graph)
    statuses, texts = zip(*results(state)[1:], strict=True)
    assert statuses == ("error",) * 3
    assert texts[0].startswith("Node not found: 'x-1'")
    assert texts[1].startswith("Anchor it")
    assert list(state["argument_map"]["nodes"]) == [CLAIM]


async def test_nodes_proposed_at_once_are_all_on_the_map():
    bond = {"relation": "supports", "target": CLAIM}
    graph, _ = agent(
        claim(),
        together(*(calls("propose_node", kind="premise", text=t, **bond) for t in ("a", "b", "c"))),
        says("I see."),
    )
    state = await say(graph)
    assert len(state["argument_map"]["nodes"]) == 4
    assert len(state["argument_map"]["relations"]) == 3


# ── whose word counts ──


async def test_the_person_decides_in_a_form_that_every_client_shows():
    graph, model = agent(claim(), calls("review_nodes", {"nodes": [CLAIM]}, id="r"), says("Good."))
    paused = await say(graph)
    assert paused["__interrupt__"][0].value == {
        "type": "clarification_request",
        "tool": "review_nodes",
        "tool_call_id": "r",
        "question": "Which of these do you agree with?",
        "options": [
            {"id": f"accept:{CLAIM}", "label": "Yes: Money is trust."},
            {"id": f"refuse:{CLAIM}", "label": "No: Money is trust."},
        ],
        "allow_multiple": True,
        "allow_freeform": True,
    }
    said = {"selected": [f"accept:{CLAIM}"], "freeform": "For now."}
    state = await answer(graph, paused, said)
    assert status_of(state["argument_map"], CLAIM) == "accepted"
    assert results(state)[-1] == ("success", f"{CLAIM}: accepted\nThey added: For now.")
    model.assert_done()


@pytest.mark.parametrize(
    ("selected", "why"),
    [
        (["accept:claim-00000000"], "not among the options"),
        ([f"accept:{CLAIM}", f"refuse:{CLAIM}"], "at most 1"),
        ([], "choose an option"),
    ],
)
async def test_a_decision_that_was_not_asked_for_is_refused_and_can_be_given_again(selected, why):
    graph, _ = agent(claim(), calls("review_nodes", nodes=[CLAIM]), says("Good."))
    paused = await say(graph)
    with pytest.raises(ValidationError, match=why):
        await answer(graph, paused, {"selected": selected})
    state = await answer(graph, paused, {"selected": [f"refuse:{CLAIM}"]})
    assert status_of(state["argument_map"], CLAIM) == "refused"


@pytest.mark.parametrize(
    ("answer", "fits"),
    [
        ({"selected": ["accept:claim-0", "refuse:claim-1"]}, True),
        ({"freeform": "Neither, yet."}, True),
        ({"selected": [], "freeform": " "}, False),
        ({"selected": ["accept:claim-0", "refuse:claim-0"]}, False),
        ({"selected": ["accept:claim-0", "accept:claim-0"]}, False),
        ({"selected": ["accept:claim-2"]}, False),
        ({}, False),
        ({"selected": ["accept:claim-0"], "more": 1}, False),
    ],
)
def test_the_schema_that_the_server_checks_by_is_as_strict_as_the_model(answer, fits):
    decisions = decisions_on(["claim-0", "claim-1"])
    assert Draft202012Validator(decisions.model_json_schema()).is_valid(answer) is fits
    with contextlib.nullcontext() if fits else pytest.raises(ValidationError):
        decisions.model_validate(answer)


async def test_a_client_with_a_map_of_its_own_writes_the_decision_into_the_state():
    graph, _ = agent(claim(), says("Good."))
    await say(graph)
    decision = {"decisions": {CLAIM: {"status": "accepted", "revision": 1}}}
    await graph.aupdate_state(THREAD, {"argument_map": decision})
    state = (await graph.aget_state(THREAD)).values
    assert status_of(state["argument_map"], CLAIM) == "accepted"
    assert state["argument_map"]["nodes"][CLAIM]["text"] == "Money is trust."


async def test_the_agent_is_told_what_was_refused_and_why():
    graph, model = agent(claim(), says("Good."), says("What is it, then?"))
    await say(graph)
    refused = {"status": "refused", "revision": 1, "reason": "Gold was money, too."}
    message = HumanMessage("Go on.", id="m2")
    decided = {"messages": [message], "argument_map": {"decisions": {CLAIM: refused}}}
    await graph.ainvoke(decided, THREAD)
    assert "Refused by the person" not in model.requests[-2][0].text
    told = model.requests[-1][0].text
    assert "- claim: Money is trust. (because: Gold was money, too.)" in told
    assert f"**{CLAIM}**" not in told


async def test_no_tool_of_the_model_decides():
    _, model = (graph_and_model := agent(says("Hi.")))
    await say(graph_and_model[0])
    for schema in model.tool_schemas(0):
        assert not {"status", "decisions", "accepted"} & set(
            schema["function"]["parameters"].get("properties", {})
        )


async def test_a_node_that_is_not_there_is_not_asked_about():
    graph, _ = agent(calls("review_nodes", nodes=["claim-0"]), says("Good."))
    assert results(await say(graph))[0][0] == "error"


# ── quotes ──


def quote(words="It does not rust", **more):
    args = {"text": "Gold lasts.", "file_id": "f1", "quote": words, **more}
    return calls("propose_quote", args, id="c1")


def window(**more):
    return {"c1": {"file_id": "f1", "version": "3", "start": 0, "total": 99, "text": DRAFT, **more}}


async def test_a_quote_is_checked_on_the_device_and_keeps_its_place():
    graph, _ = agent(claim(), quote(target=CLAIM), says("Good."))
    paused = await say(graph)
    assert paused["__interrupt__"][0].value == {
        "type": "tool",
        "tool_call": {
            "id": "c1",
            "name": "read_user_file",
            "args": {"file_id": "f1", "offset": 0, "limit": 20_000},
        },
    }
    state = await answer(graph, paused, window())
    node = state["argument_map"]["nodes"][node_id_of("evidence", "Gold lasts.")]
    place = DRAFT.index("It does not rust")
    assert node["source"] | {"message": ""} == {
        "message": "",
        "file": "f1",
        "version": "3",
        "start": place,
        "end": place + len("It does not rust"),
        "quote": "It does not rust",
    }
    assert [r["kind"] for r in state["argument_map"]["relations"].values()] == ["supports"]


async def test_what_was_read_for_a_quote_is_in_the_record_of_disclosures():
    graph, _ = agent(quote(), says("Good."))
    state = await answer(graph, await say(graph), window())
    assert state["disclosures"] == [
        {
            "call": "c1",
            "tool": "propose_quote",
            "file": "f1",
            "version": "3",
            "start": 0,
            "end": len(DRAFT),
            "bytes": len(DRAFT.encode()),
            "sha256": hashlib.sha256(DRAFT.encode()).hexdigest(),
        }
    ]


@pytest.mark.parametrize(
    ("words", "given", "why"),
    [
        ("It does never rust", {}, "does not stand in f1 (version 3, characters 0-59)"),
        ("It does not rust", {"text": "Something else"}, "does not stand in f1"),
        ("It does not rust", {"file_id": "f2"}, "another document"),
    ],
)
async def test_a_quote_that_does_not_match_is_an_error_and_nothing_is_added(words, given, why):
    graph, _ = agent(quote(words), says("Sorry."))
    state = await answer(graph, await say(graph), window(**given))
    ((status, text),) = results(state)
    assert status == "error"
    assert why in text
    assert not state.get("argument_map", {}).get("nodes")


async def test_a_device_that_cannot_read_says_so_to_the_model():
    graph, _ = agent(quote(), says("Sorry."))
    state = await answer(graph, await say(graph), {"c1": {"error": "no such file"}})
    assert results(state) == [("error", "The person's device says: no such file")]


async def test_an_answer_of_the_device_in_the_wrong_shape_can_be_given_again():
    graph, _ = agent(quote(), says("Good."))
    paused = await say(graph)
    with pytest.raises(ValidationError):
        await answer(graph, paused, {"c1": {"text": 7}})
    assert results(await answer(graph, paused, window()))[0][0] == "success"


async def test_the_device_is_not_troubled_for_a_node_that_is_not_there():
    graph, _ = agent(quote(target="claim-0"), says("Sorry."))
    state = await say(graph)
    assert "__interrupt__" not in state
    assert results(state)[0][0] == "error"


def test_it_works_without_async_and_without_a_record_of_disclosures():
    model = ScriptedChatModel(script=[claim(), quote(target=CLAIM), says("Good.")])
    spec = AgentSpec(name="t", model=model, middleware=(ArgumentMapMiddleware(),))
    graph = build(spec, checkpointer=InMemorySaver())
    paused = graph.invoke({"messages": [("user", "Go")]}, THREAD)
    (waiting,) = paused["__interrupt__"]
    state = graph.invoke(Command(resume={waiting.id: window()}), THREAD)
    assert len(state["argument_map"]["nodes"]) == 2


# ── voices ──


def voices(messages):
    """The main agent sends two voices out at once; each puts one node on the map."""
    task = messages[1].text if len(messages) > 1 else ""
    done = any(m.type == "tool" for m in messages)
    if task == "for" and not done:
        args = {"kind": "premise", "text": "It works.", "relation": "supports", "target": CLAIM}
        return calls("propose_node", **args)
    if task == "against" and not done:
        args = {"kind": "objection", "text": "It fails.", "relation": "attacks", "target": CLAIM}
        return calls("propose_node", **args)
    if task in ("for", "against"):
        return says(f"[{CLAIM}] {task}")
    tools = sum(m.type == "tool" for m in messages)
    if tools == 0:
        return claim(said="money is trust")
    if tools == 1:
        return together(
            calls("task", description="for", subagent_type="advocate"),
            calls("task", description="against", subagent_type="sceptic"),
        )
    return says("Heard.")


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_two_voices_that_speak_at_once_both_stay_on_the_map(mode):
    model = ScriptedChatModel(answer=voices)
    subagents = tuple(
        SubagentSpec(
            name=name,
            description=name,
            prompt=name,
            middleware=(ArgumentMapMiddleware(voice=name),),
        )
        for name in ("advocate", "sceptic")
    )
    spec = AgentSpec(
        name="t", model=model, middleware=(ArgumentMapMiddleware(),), subagents=subagents
    )
    graph = build(spec)
    given = {"messages": [("user", "I hold that money is trust.")]}
    state = graph.invoke(given) if mode == "sync" else asyncio.run(graph.ainvoke(given))
    nodes = state["argument_map"]["nodes"].values()
    assert {(node["author"], node["text"]) for node in nodes} == {
        ("person", "Money is trust."),
        ("advocate", "It works."),
        ("sceptic", "It fails."),
    }
    assert len(state["argument_map"]["relations"]) == 2
