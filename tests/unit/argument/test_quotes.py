"""Quotes: words stand where they are said to stand, or they are not found."""

from hypothesis import given
from hypothesis import strategies as st

from bathysphere.argument.quotes import find_quote, who_said

TEXT = "Gold is scarce.\n\nIt   does not rust."


def test_a_quote_is_found_with_its_place_and_its_own_text():
    span = find_quote("scarce. It does not", TEXT, offset=100)
    assert span is not None
    assert (span.start, span.end) == (108, 130)
    assert span.text == "scarce.\n\nIt   does not"


def test_a_quote_that_differs_by_one_letter_is_not_found():
    assert find_quote("Gold is scarse", TEXT) is None
    assert find_quote("gold is scarce", TEXT) is None
    assert find_quote("  ", TEXT) is None


@given(st.text(max_size=60), st.integers(0, 59), st.integers(1, 20), st.integers(0, 9))
def test_any_piece_of_a_text_is_found_and_what_is_found_is_a_piece_of_it(text, at, size, offset):
    piece = text[at : at + size]
    span = find_quote(piece, text, offset=offset)
    if not piece.split():
        assert span is None
        return
    assert span is not None
    assert text[span.start - offset : span.end - offset] == span.text
    assert span.text.split() == piece.split()


def test_the_newest_message_with_the_words_is_the_one_that_said_them():
    messages = [
        ("m1", "Gold is scarce."),
        ("m2", "I say gold  is scarce"),
        ("m3", "Gold is scarce"),
    ]
    assert who_said("Gold is scarce", messages) == "m3"
    assert who_said("gold is scarce", messages) == "m2"
    assert who_said("silver", messages) is None
