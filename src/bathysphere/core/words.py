"""Pluralisation in English, for reports, tools and the terminal."""


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Format a count: `1 claim`, `2 claims`, `1,000 claims`; pass irregular plurals."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"
