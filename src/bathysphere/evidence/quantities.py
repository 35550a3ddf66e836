"""Quantities in prose, compared across units: `1 km` is `1,000 m`, `50 %` is `0.5`.

Left out are units that mean several things: the ton, the gallon, the kilobyte, and `s`, `in` and
`K`, which are more often a plural, a word and a thousand.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

from bathysphere.evidence.normal import plain
from bathysphere.evidence.numbers import Number, numbers_in

_ROUNDED = Decimal("0.005")
"""Tolerance for one quantity, rounded, in two units."""
_DEGREES = Decimal("0.5")
"""Tolerance for temperatures, in kelvin; a relative one would depend on the scale's zero."""
TEMPERATURE, SHARE = "temperature", "share"


class Unit(NamedTuple):
    """A unit: what it measures, and how to convert to the measure's base unit."""

    measure: str
    factor: Decimal
    offset: Decimal = Decimal(0)


def _named(measure: str, table: str) -> dict[str, Unit]:
    """Read lines of a factor (and an offset after `+`) and the unit's spellings."""
    units: dict[str, Unit] = {}
    for line in table.strip().splitlines():
        size, _, spellings = line.strip().partition(" ")
        factor, _, offset = size.partition("+")
        unit = Unit(measure, Decimal(factor), Decimal(offset or 0))
        units |= {spelling.strip(): unit for spelling in spellings.split(",")}
    return units


UNITS: dict[str, Unit] = {
    **_named(
        "length",
        """0.001 mm, millimetre, millimetres, millimeter, millimeters
        0.01 cm, centimetre, centimetres, centimeter, centimeters
        1 m, metre, metres, meter, meters
        1000 km, kilometre, kilometres, kilometer, kilometers
        0.0254 inch, inches
        0.3048 ft, foot, feet
        0.9144 yd, yard, yards
        1.8288 fathom, fathoms
        1609.344 mi, mile, miles
        1852 nautical mile, nautical miles""",
    ),
    **_named(
        "mass",
        """0.001 g, gram, grams, gramme, grammes
        1 kg, kilogram, kilograms, kilogramme, kilogrammes
        1000 t, tonne, tonnes, metric ton, metric tons
        0.45359237 lb, lbs, pound, pounds
        0.028349523125 oz, ounce, ounces""",
    ),
    **_named(
        "time",
        """1 sec, second, seconds
        60 min, minute, minutes
        3600 h, hr, hour, hours
        86400 day, days
        604800 week, weeks""",
    ),
    **_named(
        "calendar time",
        """1 month, months
        12 year, years
        120 decade, decades
        1200 century, centuries""",
    ),
    **_named(
        "area",
        """1 m2, square metre, square metres, square meter, square meters
        1000000 km2, square kilometre, square kilometres, square kilometer, square kilometers
        10000 ha, hectare, hectares
        4046.8564224 acre, acres
        0.09290304 square foot, square feet
        2589988.110336 square mile, square miles""",
    ),
    **_named(
        "volume",
        """0.000001 ml, mL, millilitre, millilitres, milliliter, milliliters
        0.001 l, L, litre, litres, liter, liters
        1 m3, cubic metre, cubic metres, cubic meter, cubic meters""",
    ),
    **_named(
        "speed",
        """3.6 m/s, metres per second, meters per second
        1 km/h, kph, kilometres per hour, kilometers per hour
        1.609344 mph, miles per hour
        1.852 knot, knots""",
    ),
    **_named(
        "power",
        """1 W, watt, watts
        1000 kW, kilowatt, kilowatts
        1000000 MW, megawatt, megawatts
        1000000000 GW, gigawatt, gigawatts""",
    ),
    **_named(
        "energy",
        """1 kWh, kilowatt-hour, kilowatt-hours, kilowatt hour, kilowatt hours
        1000 MWh, megawatt-hour, megawatt-hours, megawatt hour, megawatt hours
        1000000 GWh, gigawatt-hour, gigawatt-hours, gigawatt hour, gigawatt hours""",
    ),
    **_named(
        "pressure",
        """1 kPa, kilopascal, kilopascals
        1000 MPa, megapascal, megapascals
        100 bar, bars
        6.894757 psi
        101.325 atm, atmospheres""",
    ),
    **_named(
        TEMPERATURE,
        """1+273.15 °C, degrees Celsius, degree Celsius, Celsius
        0.5555555555555556+255.3722222222222 °F, degrees Fahrenheit, Fahrenheit
        1 kelvin, kelvins""",
    ),
    **_named("difference of shares", "1 percentage point, percentage points"),
    **_named(SHARE, "0.01 %, percent, per cent\n0.001 ‰, permille, per mille"),
}
_BY_LETTERS = {spelling.lower(): unit for spelling, unit in UNITS.items() if len(spelling) > 2}
_SPELLINGS = "|".join(map(re.escape, sorted(UNITS, key=len, reverse=True)))
_MEASURED = re.compile(
    r"(?<![\w.,])(-?)((?>\d[\d.,]*\d|\d)(?:\s(?:thousand|million|billion|trillion)\b)?)"
    rf"[ -]?({_SPELLINGS})(?![\w/²³]|[- ]points?\b)",
    re.IGNORECASE,
)
_JOINED = frozenset({"", " ", ", ", " and "})
"""The text between the parts of one quantity, as in 1 hour and 30 minutes."""


class Quantity(NamedTuple):
    """A number, its possible values, and its amounts in the base unit if it has a unit."""

    values: frozenset[Decimal]
    unit: Unit | None = None
    amounts: frozenset[Decimal] = frozenset()


def numbers_differ(one: str, other: str) -> bool:
    """Whether each text has a number that the other lacks, in whichever unit."""
    return all(
        _lacks(mine, theirs) and _lacks(theirs, mine)
        for mine in _readings(plain(one))
        for theirs in _readings(plain(other))
    )


def differ_in_units_only(one: str, other: str) -> bool:
    """Whether two texts have the same quantities, at least one of them in another unit."""
    return any(
        not _lacks(mine, theirs) and not _lacks(theirs, mine) and _has_converted(mine, theirs)
        for mine in _readings(plain(one))
        for theirs in _readings(plain(other))
    )


def without_units(words: frozenset[str]) -> frozenset[str]:
    """Return the words that are not the name of a unit."""
    return frozenset(word for word in words if word not in UNITS and word not in _BY_LETTERS)


def is_same(one: Quantity, other: Quantity) -> bool:
    """Whether two quantities are equal; where the units differ, up to rounding."""
    if one.unit and other.unit and one.unit.measure == other.unit.measure:
        if one.unit == other.unit:
            return bool(one.values & other.values)
        return any(_close(a, b, one.unit.measure) for a in one.amounts for b in other.amounts)
    return bool(one.values & other.values) or _is_share(one, other) or _is_share(other, one)


def _has_converted(these: tuple[Quantity, ...], others: tuple[Quantity, ...]) -> bool:
    return any(a.unit != b.unit and is_same(a, b) for a in these for b in others)


def _lacks(these: tuple[Quantity, ...], others: tuple[Quantity, ...]) -> bool:
    return any(not any(is_same(this, other) for other in others) for this in these)


def _close(one: Decimal, other: Decimal, measure: str) -> bool:
    if measure == TEMPERATURE:
        return abs(one - other) <= _DEGREES
    return abs(one - other) <= _ROUNDED * max(one, other)


def _is_share(bare: Quantity, share: Quantity) -> bool:
    """Whether a number between 0 and 1, without a unit, is the other's share of a whole."""
    if bare.unit or not share.unit or share.unit.measure != SHARE:
        return False
    parts = [value for value in bare.values if 0 < value < 1]
    return any(_close(part, amount, SHARE) for part in parts for amount in share.amounts)


@lru_cache(maxsize=4_096)
def _readings(text: str) -> tuple[tuple[Quantity, ...], ...]:
    """The quantities of a text: each alone, and with the parts of one added up."""
    found = list(_MEASURED.finditer(text))
    measured = [(match.start(), match.end(), _quantity(match)) for match in found]
    known = [one for one in measured if one[2].unit]
    rest = list(text)
    for start, end, _ in known:
        rest[start:end] = " " * (end - start)
    bare = tuple(Quantity(number.values) for number in numbers_in("".join(rest)))
    alone = tuple(quantity for _, _, quantity in known)
    added = tuple(_added(text, known))
    return (alone + bare,) if added == alone else (alone + bare, added + bare)


def _quantity(match: re.Match[str]) -> Quantity:
    sign, number, spelling = match.groups()
    unit = UNITS.get(spelling) or _BY_LETTERS.get(spelling.lower())
    values = frozenset[Decimal]().union(*(one.values for one in _numbers(match.group())))
    if unit is None:
        return Quantity(values)
    written = frozenset[Decimal]().union(*(one.values for one in _numbers(number)))
    if sign and unit.measure == TEMPERATURE:
        written = values = frozenset(-value for value in written)
    return Quantity(values, unit, frozenset(v * unit.factor + unit.offset for v in written))


def _numbers(text: str) -> list[Number]:
    return numbers_in(text.lstrip("-"))


def _added(text: str, known: list[tuple[int, int, Quantity]]) -> Iterator[Quantity]:
    """Yield the quantities, with smaller units added to the larger one before them."""
    last, end = None, 0
    for start, stop, quantity in known:
        if last is not None and text[end:start] in _JOINED and _is_part(quantity, last):
            last = _sum(last, quantity)
        else:
            if last is not None:
                yield last
            last = quantity
        end = stop
    if last is not None:
        yield last


def _sum(large: Quantity, small: Quantity) -> Quantity:
    sums = frozenset(a + b for a in large.amounts for b in small.amounts)
    factor = small.unit.factor if small.unit else Decimal(1)
    values = frozenset(amount / factor for amount in sums)
    return Quantity(values, small.unit, sums)


def _is_part(small: Quantity, large: Quantity) -> bool:
    if small.unit is None or large.unit is None or small.unit.measure != large.unit.measure:
        return False
    if small.unit.offset or large.unit.offset or small.unit.factor >= large.unit.factor:
        return False
    return all(amount < large.unit.factor for amount in small.amounts)
