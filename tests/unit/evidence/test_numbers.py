import pytest

from bathysphere.evidence.numbers import missing_numbers


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("It cost $5 million.", "The price was 5,000,000 dollars."),
        ("About 1.2 billion litres", "1,200 million litres"),
        ("It rose 12%", "an increase of 12 percent"),
        ("In 1990 it opened", "since the 1990 season"),
        ("1,234 people", "1234 people"),
        ("1.234 people", "1,234 people"),
        ("3.5 metres", "3,5 metres"),
        ("On 2024-05-03", "on 3 May (5th month) 2024"),
        ("12 towns", "twelve towns"),
        ("A 5 m wall", "a wall of 5 metres"),
        ("COVID-19 came", "COVID-19 spread"),
        ("As said [3], nothing else", "no number at all"),
        ("€40 bn", "40 billion euros"),
        ("1,000,000", "one million: 1000000"),
        ("in 1974", "(1973,1974,1975)"),
        ("1974,1975", "in 1974 and 1975"),
    ],
)
def test_the_same_value_in_another_dress(claim, source):
    assert missing_numbers(claim, source) == []


@pytest.mark.parametrize(
    ("claim", "source", "missing"),
    [
        ("It rose 21%", "an increase of 12 percent", ["21"]),
        ("$5 billion", "5 million dollars", ["$5 billion"]),
        ("in 1947 and 1974", "in 1974", ["1947"]),
        ("3.5 metres", "35 metres", ["3.5"]),
        ("12", "120", ["12"]),
        ("12", "", ["12"]),
    ],
)
def test_another_value_is_missing(claim, source, missing):
    assert missing_numbers(claim, source) == missing
