"""Numbers with their nouns."""

import pytest

from bathysphere.core.words import count


@pytest.mark.parametrize(
    ("number", "words"), [(0, "0 claims"), (1, "1 claim"), (2, "2 claims"), (1000, "1,000 claims")]
)
def test_one_is_singular(number, words):
    assert count(number, "claim") == words


def test_an_irregular_plural_is_given():
    assert count(2, "reply", "replies") == "2 replies"
    assert count(1, "reply", "replies") == "1 reply"
