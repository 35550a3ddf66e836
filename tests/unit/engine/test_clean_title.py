"""A model's answer as the title of a conversation: one short line of plain text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bathysphere.core.invisible import without_invisible
from bathysphere.engine.conversations.titles import MAX_TITLE, clean_title


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("Whales in the North Sea", "Whales in the North Sea"),
        ('"Whales in the North Sea."', "Whales in the North Sea"),
        ("**Title: Whales**\n\nThis title is short.", "Whales"),
        ("Titel: „Wale in der Nordsee“", "Wale in der Nordsee"),
        ("<think>Which one?</think>\nDeep trenches", "Deep trenches"),
        ("<think>and so on", ""),
        ("Deep\u202e trenches\u200b", "Deep trenches"),
        ("  \n ", ""),
        ("\n\n# Heading", "Heading"),
        ("深海の生き物", "深海の生き物"),
        (
            "A very long title that goes on and on and never comes to any point at all",
            "A very long title that goes on and on and never comes to…",
        ),
    ],
)
def test_a_title_is_one_plain_line(answer: str, title: str):
    assert clean_title(answer) == title


@given(st.text())
def test_a_title_is_short_and_visible_whatever_the_answer(answer: str):
    title = clean_title(answer)
    assert len(title) <= MAX_TITLE
    assert len(title.splitlines()) <= 1
    assert without_invisible(title) == title
