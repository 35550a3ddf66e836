"""The ladder: ask, hint, tell; and a person who asks to be told is told."""

import pytest
from argument_maps import build_map
from hypothesis import given
from hypothesis import strategies as st

from bathysphere.argument.ladder import (
    RUNGS,
    Choice,
    asks_to_be_told,
    may_tell,
    open_questions,
    settle,
    sounds_stuck,
    suggest,
)
from bathysphere.argument.map import empty
from bathysphere.argument.moves import MOVES

STUCK = "I don't know."


def talk(*said, wants="ask_premise"):
    played = []
    for number, words in enumerate(said):
        choice = Choice(move=wants, why="it seems right")
        played.append(settle(choice, played, turn=str(number), said=words))
    return played


def moves(played):
    return [move["move"] for move in played]


@pytest.mark.parametrize(
    "said",
    [
        "Just tell me.",
        "please just give me the thesis",
        "Give me the answer!",
        "What's the answer?",
        "Stop asking and talk",
        "no more questions",
    ],
)
def test_just_tell_me_is_always_honoured_and_logged(said):
    assert asks_to_be_told(said)
    (played,) = talk(said)
    assert played["move"] == "tell"
    assert played["asked_to_tell"]
    assert played["by"] == "person"
    assert played["wanted"] == "ask_premise"


@pytest.mark.parametrize(
    "said", ["Tell me more about your question", "Just give me a hint", "I gave the answer", ""]
)
def test_other_words_do_not_ask_to_be_told(said):
    assert not asks_to_be_told(said)


@pytest.mark.parametrize(
    "said", ["I don't know", "i dont know", "No idea...", "I'm totally lost", "I give up"]
)
def test_a_stuck_person_is_heard(said):
    assert sounds_stuck(said)
    assert moves(talk(said)) == ["hint"]


def test_a_stuck_person_gets_stronger_hints_and_then_the_answer():
    played = talk(STUCK, STUCK, STUCK, STUCK)
    assert moves(played) == ["hint"] * len(RUNGS) + ["tell"]
    assert [move["rung"] for move in played] == [1, 2, 3, 0]


def test_progress_resets_the_hint_ladder():
    played = talk(STUCK, STUCK, "Because gold is scarce.", STUCK)
    assert moves(played) == ["hint", "hint", "ask_premise", "hint"]
    assert played[-1]["rung"] == 1


def test_a_model_that_wants_to_tell_too_early_hints_instead():
    played = talk("Gold is money.", "So it is.", wants="tell")
    assert moves(played) == ["hint", "hint"]
    assert played[0]["wanted"] == "tell"
    assert played[0]["by"] == "rule"


def test_a_model_cannot_climb_the_ladder_for_a_person_who_gets_on():
    played = talk(*["Gold is money."] * 6, wants="tell")
    assert moves(played) == ["hint"] * 6


def test_hints_that_a_person_did_not_need_are_no_rungs():
    played = talk(*["Gold is money."] * 3, STUCK, wants="tell")
    assert moves(played) == ["hint"] * 4
    assert played[-1]["rung"] == 1


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["Gold is money.", STUCK, "just tell me", "Why?"]),
            st.sampled_from(MOVES),
            st.booleans(),
        ),
        max_size=10,
    )
)
def test_in_any_talk_nothing_is_told_that_the_ladder_does_not_allow(turns):
    played = []
    for number, (said, wants, stuck) in enumerate(turns):
        choice = Choice(move=wants, why="", stuck=stuck)
        now = settle(choice, played, turn=str(number), said=said)
        if now["move"] == "tell":
            assert may_tell(played, stuck=now["stuck"], asked=now["asked_to_tell"])
        if asks_to_be_told(said):
            assert now["move"] in ("tell", "work")
        played.append(now)


def test_a_suggestion_asks_for_what_is_missing_and_does_not_ask_twice_in_a_row():
    known, ids = build_map(("claim", "a"), ("objection", "b", "attacks", "a"))
    first = suggest(known, [], said="Go on.")
    assert (first.move, first.node) == ("steelman", ids["b"])
    played = [settle(first, [], turn="1", said="Go on.", by="rule")]
    second = suggest(known, played, said="Go on.")
    assert (second.move, second.node) == ("ask_premise", ids["a"])


@pytest.mark.parametrize(
    ("said", "move"), [("Hello", "clarify_term"), (STUCK, "hint"), ("just tell me", "tell")]
)
def test_a_suggestion_on_an_empty_map_follows_the_person(said, move):
    assert suggest(empty(), [], said=said).move == move


def test_when_nothing_is_missing_the_suggestion_is_to_sum_up():
    known, _ = build_map(
        ("claim", "a"), ("premise", "b", "supports", "a"), ("premise", "c", "supports", "a")
    )
    assert suggest(known, [], said="So?").move == "summarise"


def test_open_questions_are_what_the_map_lacks_and_what_was_asked_last():
    known, _ = build_map(("claim", "Money is trust."))
    played = talk("Money is trust.")
    played[-1]["question"] = "Whose trust?"
    assert open_questions(known, played) == [
        "Nothing supports “Money is trust”.",
        "Whose trust?",
    ]
    assert open_questions(empty(), []) == []
