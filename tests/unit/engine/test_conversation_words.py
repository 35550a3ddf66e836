"""Words of messages, and excerpts around those that a search has found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bathysphere.engine.conversations.excerpts import excerpt_of, plain_line
from bathysphere.engine.conversations.words import (
    MAX_WORDS,
    fold,
    matches,
    query_words,
    words_of,
)

TEXTS = st.text(max_size=400)


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("The Whales of Tromsø", "whale"),
        ("Über die Tiefsee", "uber TIEF"),
        ("Où est la fosse ?", "ou fosse"),
        ("Straße am Meer", "strasse"),
        ("ΘΆΛΑΣΣΑ", "θαλασσα"),
        ("Глубина моря", "глуб"),
        ("snake_case and 3,028 feet", "028 snake"),
        ("深海の生き物", "深海"),
        ("深海の生き物", "生き物"),
        ("深海の生き物", "物"),
        ("PDF文件的内容", "文件 pdf"),
    ],
)
def test_a_text_is_found_by_beginnings_of_its_words(text: str, query: str):
    words, wanted = words_of(text), query_words(query)
    assert wanted
    assert all(any(word.startswith(start) for word in words) for start in wanted)
    assert matches(text, query)


@pytest.mark.parametrize(("text", "query"), [("whales", "hale"), ("深海", "海底"), ("a b", "c")])
def test_other_texts_are_not(text: str, query: str):
    words = words_of(text)
    assert not all(any(word.startswith(start) for word in words) for start in query_words(query))


@given(TEXTS)
def test_words_are_plain_whatever_the_text(text: str):
    """They go into a query of PostgreSQL between quotation marks."""
    for word in (*words_of(text), *query_words(text)):
        assert word
        assert not set(word) & set("'\\\"&|!:*()<> \0")
    assert fold(fold(text)) == fold(text)


def test_the_words_of_a_long_text_are_limited():
    assert len(words_of(" ".join(map(str, range(100_000))))) == MAX_WORDS
    assert max(map(len, words_of("x" * 1_000))) <= 40


@given(TEXTS, st.text(max_size=30))
def test_an_excerpt_is_short_and_says_what_the_text_says(text: str, query: str):
    parts = excerpt_of(text * 3, query)
    said = "".join(part.text for part in parts)
    assert len(said) <= 204
    assert said.removeprefix("… ").removesuffix(" …") in plain_line(text * 3)


def test_an_excerpt_is_around_the_place_with_most_matches():
    text = f"A whale. {'word ' * 200}Here whales meet other whales at night. {'word ' * 200}"
    parts = excerpt_of(text, "whale")
    assert [part.text for part in parts if part.is_match] == ["whales", "whales"]
    assert parts[0].text == "… "
    assert parts[-1].text == " …"


def test_an_excerpt_has_no_signs_of_markdown():
    parts = excerpt_of("## Depths\nThe **sperm** `whale` dives.", "sperm")
    assert "".join(part.text for part in parts) == "Depths The sperm whale dives."


def test_an_excerpt_without_matches_is_the_beginning():
    assert excerpt_of("Only the beginning is kept.", "zebra")[0].text.startswith("Only")
    assert excerpt_of("", "zebra") == ()
