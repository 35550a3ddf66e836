"""Pluralisation in English, for reports, tools and the terminal."""


def count(number: int, noun: str, plural: str | None = None) -> str:
    """`1 claim`, `2 claims`, `1,000 claims`; an irregular plural is given."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
