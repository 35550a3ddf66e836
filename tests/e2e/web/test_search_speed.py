"""How fast documents are searched in the browser. Nothing runs beside a measured time."""

import pytest

pytestmark = [pytest.mark.services, pytest.mark.node, pytest.mark.timeout(180, func_only=True)]


def test_ten_thousand_passages_are_searched_by_meaning_in_a_blink(story, within):
    figures = story("files_many")
    assert figures["passages"] > 10_000
    within(figures["median_ms"], 100, figures)
