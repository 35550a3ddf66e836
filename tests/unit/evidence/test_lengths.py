"""One length in two units is not a disagreement."""

import pytest

from bathysphere.evidence.numbers import name_same_length


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("It reached a depth of 923 metres.", "It reached a depth of 3,028 feet.", True),
        ("It is 1.5 km long.", "It is 1,500 m long.", True),
        ("It reached 923 metres.", "It reached 1,200 metres.", False),
        ("It reached 923 metres.", "It weighs 923 tonnes.", False),
        ("It reached 923.", "It reached 3,028.", False),
    ],
)
def test_lengths_are_compared_in_metres(one, other, same):
    assert name_same_length(one, other) is same
