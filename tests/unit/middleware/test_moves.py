"""Moves: picked before they are worded, held to the ladder, and worded in their form."""

import asyncio
import json

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from bathysphere.argument.map import add, empty
from bathysphere.core.errors import ModelUnavailable, RequestRefused, StorageLost, UpstreamError
from bathysphere.core.usage import Limits, total
from bathysphere.harness.build import build
from bathysphere.harness.spec import AgentSpec
from bathysphere.middleware.argument_map import ArgumentMapMiddleware
from bathysphere.middleware.clarify import ClarifyMiddleware
from bathysphere.middleware.moves import MovesMiddleware, join_moves
from bathysphere.models.structured_output import schema_settings
from bathysphere.testing import ScriptedChatModel, calls, fails, says

SCHEMA = {"title": "Picked", "type": "object", "properties": {"move": {"type": "string"}}}
THREAD = {"configurable": {"thread_id": "1"}}


def picks(move, **more):
    return says(json.dumps({"move": move, "why": "It is due.", **more}))


class Talk:
    """A tutor with a script, and a person who says things to it."""

    def __init__(self, *script, mode="async", limits=None, saver=None):
        self.model = ScriptedChatModel(script=list(script))
        self.mode = mode
        layers = (MovesMiddleware(), ClarifyMiddleware(), ArgumentMapMiddleware())
        spec = AgentSpec(name="t", model=self.model, middleware=layers, limits=limits or Limits())
        self.graph = build(spec, checkpointer=saver or InMemorySaver())

    def step(self, given):
        if self.mode == "sync":
            return self.graph.invoke(given, THREAD)
        return asyncio.run(self.graph.ainvoke(given, THREAD))

    def say(self, text, **state):
        return self.step({"messages": [HumanMessage(text)], **state})


def last_move(state):
    return state["moves"][-1]


@pytest.fixture(params=["sync", "async"])
def mode(request):
    return request.param


def test_a_move_is_picked_first_and_worded_then(mode):
    talk = Talk(picks("ask_premise"), says("What does that rest on?"), mode=mode)
    state = talk.say("Money is trust.")
    assert state["messages"][-1].text == "What does that rest on?"
    human, chosen, result, worded = state["messages"]
    assert chosen.tool_calls[0]["name"] == "choose_move"
    assert chosen.text == ""
    assert result.text == (
        "Your move: ask_premise. Ask what a claim rests on. End with exactly one question; at most "
        "120 words. Because: It is due."
    )
    assert last_move(state) == {
        "turn": human.id,
        "move": "ask_premise",
        "why": "It is due.",
        "by": "model",
        "node": "",
        "rung": 0,
        "stuck": False,
        "asked_to_tell": False,
        "fits": True,
        "message": worded.id,
        "question": "What does that rest on?",
    }
    talk.model.assert_done()


def test_the_choice_is_made_without_tools_and_the_wording_without_the_choice():
    talk = Talk(picks("ask_premise"), says("Why?"))
    talk.say("Money is trust.")
    choosing, wording = talk.model.tools_seen
    assert choosing == []
    assert "ask_user" in wording
    assert "choose_move" not in wording
    system, said = talk.model.requests[0]
    assert "- `counter_example`:" in system.text
    assert said.text == "Person: Money is trust."


def test_the_choice_knows_the_map_and_what_is_missing_in_it():
    known, node = add(empty(), "claim", "Money is trust.", author="person")
    talk = Talk(picks("ask_premise", node=node), says("Why?"))
    state = talk.say("Go on.", argument_map=known)
    system = talk.model.requests[0][0].text
    assert f"**{node}** Money is trust." in system
    assert f"- Nothing supports {node}. → `ask_premise`" in system
    assert last_move(state)["node"] == node
    assert f"Your move: ask_premise on {node}." in talk.model.requests[1][-1].text


def test_a_node_that_is_not_on_the_map_is_not_kept():
    talk = Talk(picks("ask_premise", node="claim-0"), says("Why?"))
    assert last_move(talk.say("Go on."))["node"] == ""


@pytest.mark.parametrize(
    "answer",
    [
        says('Sure! ```json\n{"move": "concede", "why": "fair"}\n``` Done.'),
        calls("choose_move", move="concede", why="fair"),
        calls("Picked", move="concede", why="fair"),
    ],
)
def test_a_choice_is_read_with_words_around_it_or_as_a_call(answer):
    talk = Talk(answer, says("Granted."))
    move = last_move(talk.say("Money is trust."))
    assert (move["move"], move["by"], move["why"]) == ("concede", "model", "fair")


@pytest.mark.parametrize(
    "answer",
    [
        says("I would ask something."),
        says("{not json}"),
        says('{"move": "sing", "why": "x"}'),
        says("[1, 2]"),
        says(""),
        fails(NotImplementedError("response_format is not supported")),
        fails(RequestRefused("any:model rejected the request (400): response_format")),
    ],
)
def test_a_choice_that_cannot_be_read_is_made_by_rule(answer, mode):
    talk = Talk(answer, says("What do you mean by trust?"), mode=mode)
    state = talk.say("Money is trust.")
    assert last_move(state)["move"] == "clarify_term"
    assert last_move(state)["by"] == "rule"
    assert state["messages"][-1].text == "What do you mean by trust?"
    talk.model.assert_done()


@pytest.mark.parametrize(
    "error",
    [
        ModelUnavailable("any:model rejected the API key"),
        StorageLost("PostgreSQL is unavailable"),
        UpstreamError("any:model failed with status 503"),
        ValueError("a bug"),
        TypeError("a bug"),
    ],
)
def test_what_is_no_refusal_of_the_schema_is_not_made_up_for_by_the_rules(error, mode):
    talk = Talk(fails(error), mode=mode)
    with pytest.raises(type(error)):
        talk.say("Money is trust.")
    talk.model.assert_done()


def test_one_choice_a_turn_however_many_steps_the_turn_takes():
    talk = Talk(
        picks("work"),
        calls("write_file", file_path="/a.md", content="x"),
        calls("read_file", file_path="/a.md"),
        says("Done."),
        picks("ask_premise"),
        says("Why?"),
    )
    talk.say("Write it down.")
    state = talk.say("Money is trust.")
    assert [move["move"] for move in state["moves"]] == ["work", "ask_premise"]
    talk.model.assert_done()


def test_the_answer_to_a_question_begins_a_turn_of_its_own():
    talk = Talk(
        picks("clarify_term"),
        calls("ask_user", {"question": "What is it about?"}, id="q1"),
        picks("ask_premise"),
        says("Why is money trust?"),
    )
    paused = talk.say("Help me with my argument")
    assert last_move(paused)["fits"]
    assert last_move(paused)["question"] == "What is it about?"
    (waiting,) = paused["__interrupt__"]
    state = talk.step(Command(resume={waiting.id: {"response": "Money is trust"}}))
    assert [(move["turn"], move["move"]) for move in state["moves"]][1] == ("q1", "ask_premise")
    assert talk.model.requests[2][1].text.endswith("Person: Money is trust")
    talk.model.assert_done()


# ── the form ──


def test_words_that_do_not_fit_are_taken_back_and_asked_for_once_more(mode):
    talk = Talk(picks("ask_premise"), says("It is trust."), says("Why is it trust?"), mode=mode)
    state = talk.say("Money is trust.")
    assert [m.text for m in state["messages"] if m.type == "ai"] == ["", "Why is it trust?"]
    move = last_move(state)
    assert move["fits"]
    assert move["misfits"] == ["ask one question"]
    assert "draft" not in move
    system = talk.model.requests[2][0].text
    assert "ask one question. It was:\nIt is trust." in system
    assert "Word it again" not in talk.model.requests[1][0].text
    talk.model.assert_done()


def test_words_that_still_do_not_fit_are_kept_and_marked():
    talk = Talk(picks("ask_premise"), says("It is."), says("It is so."))
    state = talk.say("Money is trust.")
    assert state["messages"][-1].text == "It is so."
    assert last_move(state)["fits"] is False
    talk.model.assert_done()


def test_a_question_asked_with_a_tool_is_checked_too():
    talk = Talk(picks("clarify_term"), calls("ask_user", question="What? And why?"))
    assert last_move(talk.say("Help."))["fits"] is False


# ── the ladder ──


def test_just_tell_me_is_honoured_whatever_the_model_picks():
    talk = Talk(picks("ask_premise"), says("Money is trust."))
    state = talk.say("Just tell me!")
    move = last_move(state)
    assert (move["move"], move["by"], move["wanted"]) == ("tell", "person", "ask_premise")
    assert move["asked_to_tell"]
    assert "They asked to be told" in talk.model.requests[1][-1].text


def test_a_model_may_hear_that_the_person_asks_to_be_told_in_any_language():
    talk = Talk(picks("hint", asked_to_tell=True), says("Geld ist Vertrauen."))
    assert last_move(talk.say("Sag es mir einfach!"))["move"] == "tell"


def test_a_stuck_person_is_led_up_the_ladder():
    turn = [picks("ask_premise"), says("Look at a bank. What is in it?")]
    talk = Talk(*turn * 3, picks("ask_premise"), says("It is trust."))
    states = [talk.say("I don't know.") for _ in range(4)]
    assert [move["move"] for move in states[-1]["moves"]] == ["hint", "hint", "hint", "tell"]
    assert "narrow it down" in talk.model.requests[3][-1].text
    talk.model.assert_done()


def test_a_model_that_picks_tell_too_early_is_made_to_hint():
    talk = Talk(picks("tell"), says("Look at a bank. What is in it?"))
    move = last_move(talk.say("Money is gold."))
    assert (move["move"], move["wanted"]) == ("hint", "tell")


# ── open questions ──


def test_open_questions_go_from_one_conversation_to_the_next_until_one_is_taken_up():
    known, _ = add(empty(), "claim", "Money is trust.", author="person")
    first = Talk(picks("ask_evidence"), says("How do you know?"))
    left = first.say("Money is trust.", argument_map=known)["open_questions"]
    assert left == ["Nothing supports “Money is trust”.", "How do you know?"]

    turn = [picks("clarify_term"), says("What is new?")]
    second = Talk(*turn, picks("ask_evidence", takes_up=2), says("So how would you know?"))
    state = second.say("Hello again.", open_questions=left)
    assert "2. How do you know?" in second.model.requests[0][0].text
    assert state["open_questions"] == [*left, "What is new?"]
    state = second.say("Let us go on.")
    assert last_move(state)["takes_up"] == "How do you know?"
    assert state["open_questions"] == [left[0], "So how would you know?"]


# ── as a step of the agent ──


def test_the_choice_counts_as_a_model_call(mode):
    talk = Talk(picks("ask_premise"), says("Nothing."), says("Why?"), mode=mode)
    assert total(talk.say("Money is trust.")["usage"]).model_calls == 3


@pytest.mark.parametrize("limit", [1, 2])
def test_at_a_limit_the_run_ends_and_its_last_words_are_not_mended(limit, mode):
    script = [picks("ask_premise"), says("Nothing."), says("Why?")][:limit]
    talk = Talk(*script, limits=Limits(model_calls=limit), mode=mode)
    state = talk.say("Money is trust.")
    assert state["messages"][-1].text.startswith("Stopped:")
    assert total(state["usage"]).model_calls == limit
    assert "fits" not in last_move(state)
    assert ("misfits" in last_move(state)) == (limit == 2)
    talk.model.assert_done()


def test_a_choice_that_a_limit_refused_is_not_made_again(mode):
    ask = calls("ask_user", question="About what?")
    talk = Talk(picks("clarify_term"), ask, picks("hint"), limits=Limits(tool_calls=2), mode=mode)
    (waiting,) = talk.say("Help.")["__interrupt__"]
    state = talk.step(Command(resume={waiting.id: {"response": "Money"}}))
    assert [move["move"] for move in state["moves"]] == ["clarify_term"]
    assert state["messages"][-1].text.startswith("Stopped:")
    talk.model.assert_done()


def test_what_the_model_says_when_it_chooses_is_not_streamed():
    talk = Talk(picks("ask_premise"), says("What does that rest on?"))

    async def streamed():
        given = {"messages": [HumanMessage("Money is trust.")]}
        parts = talk.graph.astream(given, THREAD, stream_mode="messages")
        return "".join([m.text async for m, _ in parts if m.type == "AIMessageChunk"])

    assert asyncio.run(streamed()) == "What does that rest on?"


def test_a_model_cannot_choose_twice():
    again = calls("choose_move", move="tell", why="I want to")
    talk = Talk(picks("ask_premise"), again, says("Why?"))
    state = talk.say("Money is trust.")
    assert [m.status for m in state["messages"] if m.type == "tool"] == ["success", "error"]
    assert last_move(state)["move"] == "ask_premise"


def played(turn, **more):
    rest = {"why": "", "by": "model", "node": "", "rung": 0, "stuck": False, "asked_to_tell": False}
    return {"turn": turn, "move": "hint", **rest, **more}


def test_moves_join_in_order_and_a_turn_is_kept_once():
    one, two = played("a"), played("b")
    assert join_moves([one], [two]) == [one, two]
    assert join_moves([one, two], [played("a", fits=True)]) == [played("a", fits=True), two]
    assert join_moves(None, None) == []


@pytest.mark.parametrize(
    "sent", [7, "x", {}, [None], [{"turn": "a"}], [played("z", move="sing")], [played(7)]]
)
def test_what_a_client_writes_into_the_state_cannot_block_its_thread(sent):
    assert join_moves([played("a")], sent) == [played("a")]
    talk = Talk(picks("ask_premise"), says("Why?"))
    state = talk.say("Money is trust.", moves=sent, open_questions=sent)
    assert [move["move"] for move in state["moves"]] == ["ask_premise"]


def test_providers_that_can_hold_an_answer_to_a_schema_are_told_to():
    openai = pytest.importorskip("langchain_openai")
    settings = schema_settings(openai.ChatOpenAI(model="any", api_key="any"), SCHEMA)
    assert settings["response_format"]["type"] == "json_schema"
    ollama = pytest.importorskip("langchain_ollama")
    assert "format" in schema_settings(ollama.ChatOllama(model="any"), SCHEMA)
    assert schema_settings(ScriptedChatModel(), SCHEMA) == {}
    local = openai.ChatOpenAI(
        model="any", api_key="any", use_responses_api=False, extra_body={"return_progress": True}
    )
    body = schema_settings(local, SCHEMA)["extra_body"]
    assert (body["return_progress"], body["response_format"]["type"]) == (True, "json_schema")
