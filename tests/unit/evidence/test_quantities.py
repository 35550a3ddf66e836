"""Equal quantities in different units are not a disagreement, and unequal ones are."""

from decimal import Decimal

import pytest
from evidence_pages import page
from hypothesis import given
from hypothesis import strategies as st

from bathysphere.evidence.quantities import (
    SHARE,
    TEMPERATURE,
    UNITS,
    differ_in_units_only,
    numbers_differ,
)
from bathysphere.evidence.report import Citation, Draft, DraftContradiction
from bathysphere.evidence.settle import settle
from bathysphere.evidence.snapshots import by_id

SPELLINGS = sorted(UNITS)


def written(amount: Decimal, spelling: str) -> str:
    """An amount of a base unit, in a unit, with six digits."""
    unit = UNITS[spelling]
    value = (amount - unit.offset) / unit.factor
    return f"{Decimal(f'{value:.6g}'):f} {spelling}"


@st.composite
def pairs(draw):
    one = draw(st.sampled_from(SPELLINGS))
    alike = [name for name in SPELLINGS if UNITS[name].measure == UNITS[one].measure]
    return one, draw(st.sampled_from(alike))


@given(pairs(), st.integers(min_value=300, max_value=99_999))
def test_a_converted_quantity_is_the_same_and_another_is_not(units, amount):
    one, other = units
    base = Decimal(amount)
    mine = f"It is {written(base, one)} there."
    same = f"It is {written(base, other)} there."
    assert not numbers_differ(mine, same)
    assert not numbers_differ(same, mine)
    different = f"It is {written(base * Decimal('1.03'), other)} there."
    assert numbers_differ(mine, different)
    assert numbers_differ(different, mine)
    if UNITS[one] != UNITS[other]:
        assert differ_in_units_only(mine, same)
    assert not differ_in_units_only(mine, different)
    assert not differ_in_units_only(mine, mine)


@given(st.integers(min_value=1, max_value=99))
def test_a_share_is_a_number_below_one(percent):
    bare = f"A share of {Decimal(percent) / 100} was lost."
    for spelling in (name for name in UNITS if UNITS[name].measure == SHARE):
        assert not numbers_differ(bare, f"A share of {written(Decimal(percent) / 100, spelling)}.")
    assert numbers_differ(bare, f"A share of {percent + 5} % was lost.")


LETTERS = st.text("0123456789 .,-%kmhft°C/\n", max_size=40)


@given(LETTERS, LETTERS)
def test_any_text_can_be_compared_with_any(one, other):
    assert numbers_differ(one, other) is numbers_differ(other, one)
    assert not numbers_differ(one, one)


@pytest.mark.parametrize(
    ("one", "other", "differ"),
    [
        ("It reached a depth of 923 metres.", "It reached a depth of 3,028 feet.", False),
        ("It reached 923 metres.", "It reached 1,200 metres.", True),
        ("It reached 923.", "It reached 3,028.", True),
        ("It went 5 km down.", "It went 5 m down.", True),
        ("It took 1 hour and 30 minutes.", "It took 90 minutes.", False),
        ("It took 1 hour and 30 minutes.", "It took 1 h 30 min.", False),
        ("It took 1 hour and 30 minutes.", "It took 95 minutes.", True),
        ("At 923 m there were 5 men.", "At 3,028 ft there were 9 men.", True),
        ("At 923 m there were 5 men.", "At 3,028 ft there were 5 men.", False),
        ("It was -5 °C.", "It was 23 °F.", False),
        ("It was -5 °C.", "It was 5 °C.", True),
        ("It was 20 °C.", "It was 68 degrees Fahrenheit.", False),
        ("It holds 1.2 million litres.", "It holds 1,200 m³.", False),
        ("It grew by 5 %.", "It grew by 5 percentage points.", False),
        ("It grew by 50 %.", "It grew by 0.5 percentage points.", True),
        ("The half is 0.5 of it.", "The half is 50 % of it.", False),
        ("It cost 5 m.", "It cost 5 million.", False),
        ("It stood in the 1930s.", "It stood in the 1940s.", True),
        ("It gave 2 MW.", "It gave 2,000 kW.", False),
    ],
)
def test_numbers_differ_if_each_text_has_one_that_the_other_lacks(one, other, differ):
    assert numbers_differ(one, other) is differ
    assert numbers_differ(other, one) is differ


LONG = "The tunnel under the bay is 1.5 km long."


@pytest.mark.parametrize(
    ("other", "shown"),
    [
        ("The tunnel under the bay is 1,500 metres long.", 0),
        ("The tunnel under the bay is 1,700 metres long.", 1),
        ("The tunnel under the bay is not 1,500 metres long.", 1),
        ("A lorry fire closed one lane over 1,500 metres for months.", 1),
    ],
)
def test_a_disagreement_that_a_model_names_is_not_shown_where_only_the_units_differ(other, shown):
    pages = [page(LONG), page(other, url="https://example.net/b")]
    sides = tuple(Citation(source=one.id, quote=one.text) for one in pages)
    draft = Draft(title="T", contradictions=(DraftContradiction(topic="length", sides=sides),))
    report = settle(draft, by_id(pages), question="How long is it?")
    assert [found.found_by for found in report.contradictions].count("model") == shown


def test_temperatures_near_zero_are_not_all_alike():
    assert numbers_differ("It was 1 °C.", "It was 40 °F.")
    assert {UNITS[name].measure for name in ("°C", "°F", "kelvin")} == {TEMPERATURE}
