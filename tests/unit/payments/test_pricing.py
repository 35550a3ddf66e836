"""What a call costs, before it and after it."""

import pytest

from bathysphere.payments.pricing import Price


def test_prices_are_rounded_up_once_and_never_nothing():
    price = Price(step=2, per_1k_input=1, per_1k_output=3, reserved_output=1000)
    assert price.cost(lambda: 1, lambda: 1) == 3
    assert price.cost(lambda: 1000, lambda: 1000) == 6
    assert price.quote(lambda: 0) == 5
    assert Price(step=0, per_1k_input=1).cost(lambda: 0, lambda: 0) == 1
    assert Price(step=7).cost(pytest.fail, pytest.fail) == 7


def test_without_words_a_call_costs_one_and_room_for_a_long_answer_is_kept():
    assert Price().cost(pytest.fail, pytest.fail) == 1
    assert Price(step=0, per_1k_output=1000).quote(lambda: 9) == 4096
    assert Price(step=0, per_1k_input=1000).quote(lambda: 9) == 9


def test_output_is_limited_only_where_it_has_a_price():
    assert Price(per_1k_output=1, reserved_output=9).max_output == 9
    assert Price(per_1k_input=1, reserved_output=9).max_output is None


@pytest.mark.parametrize(
    ("price", "why"),
    [
        ({"step": 0}, "greater than zero"),
        ({"step": -1}, r"price\.step must not be negative, got -1"),
        ({"per_1k_input": -1}, r"price\.per_1k_input"),
        ({"per_1k_output": -1}, r"price\.per_1k_output"),
        ({"reserved_output": -1}, r"price\.reserved_output"),
        ({"per_1k_output": 1, "reserved_output": 0}, r"price\.reserved_output must be at least 1"),
    ],
)
def test_a_price_is_something_and_never_negative(price, why):
    with pytest.raises(ValueError, match=why):
        Price(**price)
