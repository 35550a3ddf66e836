"""Claims with true quotes: some follow from them in other words, some do not.

Both are made from the sentences of the sources that the model was shown, so that every quote is
valid and only reading claim and quote together tells them apart.
"""

import random
import re
from collections.abc import Iterator
from typing import NamedTuple

DEPTH = re.compile(r"The floor of Station (\w+) is at a depth of ([\d,]+) metres\.")
CREW = re.compile(r"In 2026 a crew of (\d+) people works at Station (\w+), most of them (\w+)\.")
OPENED = re.compile(r"Station (\w+) was opened in (\d+)\.")
POWER = re.compile(r"Its generator gives Station (\w+) (\d+) kilowatts of power\.")
ANNEX = re.compile(r"A staff of (\d+) people works at (\w+) Annex, most of them clerks\.")


class Planted(NamedTuple):
    """A claim, its true quote, and whether it follows."""

    kind: str
    text: str
    quote: str
    source: str
    follows: bool


def planted(sources: dict[str, str], dice: random.Random) -> list[Planted]:
    """Claims of every kind that the sources allow; a choice of those that follow."""
    made = list(_all(sources))
    wrong = [one for one in made if not one.follows]
    right = [one for one in made if one.follows]
    return dice.sample(wrong, min(4, len(wrong))) + dice.sample(right, min(3, len(right)))


def _all(sources: dict[str, str]) -> Iterator[Planted]:
    for source, text in sources.items():
        for rule in (_of_depth, _of_crew, _of_opening, _of_annex):
            for kind, claim, quote, follows in rule(text):
                yield Planted(kind, claim, quote, source, follows)


def _of_depth(text: str) -> Iterator[tuple[str, str, str, bool]]:
    if found := DEPTH.search(text):
        name, depth = found.groups()
        quote = found.group()
        yield "same", f"Station {name} has its floor at a depth of {depth} metres.", quote, True
        yield "negated", f"The floor of Station {name} is not at {depth} metres.", quote, False
        yield "superlative", f"Station {name} is the deepest station of all.", quote, False
        if crew := CREW.search(text):
            mixed = f"The floor of Station {name} is at a depth of {crew[1]} metres."
            yield "other number", mixed, quote, False


def _of_crew(text: str) -> Iterator[tuple[str, str, str, bool]]:
    if found := CREW.search(text):
        crew, name, trade = found.groups()
        quote = found.group()
        yield "same", f"A crew of {crew} people works at Station {name}.", quote, True
        yield "part for whole", f"{crew} {trade} work at Station {name}.", quote, False
        yield "all for most", f"All people at Station {name} are {trade}.", quote, False
        if depth := DEPTH.search(text):
            yield "unrelated", depth.group(), quote, False


def _of_opening(text: str) -> Iterator[tuple[str, str, str, bool]]:
    if found := OPENED.search(text):
        name, year = found.groups()
        quote = found.group()
        yield "same", f"In {year} Station {name} was opened.", quote, True
        yield "cause", f"Station {name} was opened in {year} because of its power.", quote, False
        yield "first", f"Station {name}, opened in {year}, was the first station.", quote, False
        if power := POWER.search(text):
            yield "unrelated", f"Station {name} has {power[2]} kilowatts of power.", quote, False


def _of_annex(text: str) -> Iterator[tuple[str, str, str, bool]]:
    if found := ANNEX.search(text):
        staff, name = found.groups()
        quote = found.group()
        yield "same", f"{name} Annex has a staff of {staff} people.", quote, True
        yield "namesake", f"A staff of {staff} people works at Station {name}.", quote, False
