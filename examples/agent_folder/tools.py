"""A function with types and a docstring is a tool."""


def pressure(metres: float) -> float:
    """Return the pressure at a depth of sea water, in bar, with that of the air above it."""
    return round(1.01325 + metres * 1025 * 9.80665 / 100_000, 2)
