"""Numbers in prose, compared by value: `1,200`, `1.2 thousand` and `1200` are the same."""

import re
from decimal import Decimal
from typing import NamedTuple

from bathysphere.evidence.normal import plain

_ISO_DATE = re.compile(r"\b(\d{4})-(\d{1,2})-(\d{1,2})\b")
_NUMBER = re.compile(
    r"(?<![\w.,])(?:[$€£¥]\s?)?(\d[\d.,]*\d|\d)"
    r"(?:\s?(k|thousand|million|mn|m|billion|bn|trillion)\b)?",
    re.IGNORECASE,
)
_INSIDE_WORD = re.compile(r"(?<=[A-Za-z-])(\d+)(?![\d.,]*\d)")
_LIST = re.compile(r"(?<=\d),(?=\d{4})")
"""A comma before four digits separates two numbers."""
_SCALE = {
    "k": 10**3,
    "thousand": 10**3,
    "million": 10**6,
    "mn": 10**6,
    "m": 10**6,
    "billion": 10**9,
    "bn": 10**9,
    "trillion": 10**12,
}
_ALSO_UNITS = {"k", "m"}
"""Kelvin and metre."""
_SMALL = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    *("nineteen", "twenty"),
)
_TENS = {"thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80}
_WORDS = {word: value for value, word in enumerate(_SMALL)} | _TENS
_WORDS |= {"ninety": 90, "hundred": 100, "dozen": 12}
_MARKER = re.compile(r"\[\d+(?:\s*,\s*\d+)*\]")


class Number(NamedTuple):
    """A number as written, and its possible values (`1.234` may be 1234)."""

    text: str
    values: frozenset[Decimal]


def numbers_in(text: str) -> list[Number]:
    """Return the numbers written in digits, in order, without markers like `[3]`."""
    text = _MARKER.sub(" ", plain(text))
    found = []
    for year, month, day in _ISO_DATE.findall(text):
        found += [Number(part, frozenset({Decimal(int(part))})) for part in (year, month, day)]
    text = _ISO_DATE.sub(" ", text)
    for match in _NUMBER.finditer(_LIST.sub(" , ", text)):
        digits, scale = match.group(1), (match.group(2) or "").lower()
        values = _values(digits, _SCALE.get(scale, 1))
        if scale in _ALSO_UNITS:
            values |= _values(digits, 1)
        found.append(Number(match.group().strip(), values))
    return found


def values_in(text: str) -> frozenset[Decimal]:
    """Return every value in a text, in digits or words, also inside names (`COVID-19`)."""
    values = {value for number in numbers_in(text) for value in number.values}
    clean = _LIST.sub(" , ", plain(text))
    for match in _NUMBER.finditer(clean):
        values |= _values(match.group(1), 1)
    values |= {Decimal(int(digits)) for digits in _INSIDE_WORD.findall(clean)}
    words = re.findall(r"[a-z]+", clean.lower())
    values |= {Decimal(_WORDS[word]) for word in words if word in _WORDS}
    return frozenset(values)


def missing_numbers(claim: str, *sources: str) -> list[str]:
    """Return the numbers of a claim that are in none of the sources."""
    named: set[Decimal] = set()
    for source in sources:
        named |= values_in(source)
    return [number.text for number in numbers_in(claim) if not number.values & named]


def _values(digits: str, scale: int) -> frozenset[Decimal]:
    readings = {digits.replace(",", "")} if digits.count(".") <= 1 else set()
    readings.add(digits.replace(".", "").replace(",", "."))
    readings.add(digits.replace(".", "").replace(",", ""))
    if digits.count(",") > 1:
        readings.discard(digits.replace(".", "").replace(",", "."))
    separators = re.findall(r"[.,]\d+", digits)
    if not separators or len(separators[-1]) != 4:
        # Only groups of three digits may be thousands.
        readings = _as_decimal_only(digits, readings)
    return frozenset(Decimal(reading) * scale for reading in readings if reading.count(".") <= 1)


def _as_decimal_only(digits: str, readings: set[str]) -> set[str]:
    last = max(digits.rfind("."), digits.rfind(","))
    if last < 0:
        return readings
    whole = digits[:last].replace(".", "").replace(",", "")
    return {f"{whole}.{digits[last + 1 :]}"}
