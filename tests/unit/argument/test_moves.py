"""The moves: each has a form, and words that do not have it are told why."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bathysphere.argument.moves import FORMS, MOVES, misfits, questions_in, sentences_in

ASKING = [move for move, form in FORMS.items() if form.questions == "one"]


def test_every_move_has_a_form():
    assert set(FORMS) == set(MOVES)
    assert set(ASKING) == set(MOVES) - {"summarise", "concede", "tell", "work"}


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("What is money?", 1),
        ("What? Why?", 2),
        ("Really?!", 1),
        ("You asked: “why?” Good.", 0),
        ('He said "why?" and left.', 0),
        ("Call `a ? b : c` now.", 0),
        ("何ですか？", 1),
        ("No.", 0),
    ],
)
def test_questions_are_counted_outside_quotes_and_code(text, count):
    assert questions_in(text) == count


@pytest.mark.parametrize(
    ("text", "count"), [("", 0), ("One", 1), ("One. Two?", 2), ("Is 3.5 one?", 1), ("A. b", 2)]
)
def test_sentences_are_counted(text, count):
    assert sentences_in(text) == count


@pytest.mark.parametrize("move", ASKING)
def test_an_asking_move_ends_in_exactly_one_question(move):
    assert misfits(move, "You say it is trust. Whose trust?") == []
    assert misfits(move, "You say it is trust. I see.") == ["ask one question"]
    assert misfits(move, "Whose trust? Think of it.") == ["end with the question"]
    assert misfits(move, "Trust? Whose trust?") == ["ask at most 1 question, not 2"]
    assert misfits(move, "Trust? Whose trust?", questions_a_turn=2) == []


def test_telling_may_not_ask():
    assert misfits("tell", "It is trust.") == []
    assert misfits("tell", "It is trust. Agreed?") == ["tell it without asking anything"]


@pytest.mark.parametrize("move", ["summarise", "concede", "work"])
def test_other_moves_ask_once_at_most(move):
    assert misfits(move, "So far so good.") == []
    assert misfits(move, "So far so good. Shall we go on?") == []
    assert misfits(move, "Good? Shall we go on?") != []


@pytest.mark.parametrize("move", ["steelman", "hint"])
def test_a_hint_and_a_steelman_say_something_before_they_ask(move):
    assert misfits(move, "What then?") == [
        "say at least 2 sentences: first say something, then ask"
    ]


@pytest.mark.parametrize("move", MOVES)
def test_a_turn_is_neither_empty_nor_endless(move):
    assert misfits(move, "  ") == ["say something"]
    assert any("words" in why for why in misfits(move, "word " * 500 + "?"))


@given(st.sampled_from(MOVES), st.text(max_size=80))
def test_any_text_has_a_verdict(move, text):
    assert all(isinstance(why, str) for why in misfits(move, text))
