"""Plots of a report as inline SVG, drawn without a library; all texts are escaped."""

import math
from collections.abc import Sequence
from html import escape
from typing import NamedTuple

ROW, LABEL, BAR, VALUE = 26, 400, 300, 150
SIZE, MARGIN = 320, 48
Z = 1.96
"""Standard deviations of a 95 % interval."""


class Bar(NamedTuple):
    """One row of a bar chart: `part` of `whole`."""

    label: str
    part: int
    whole: int
    group: int = 0


class Point(NamedTuple):
    """One point of a scatter plot."""

    label: str
    x: float
    y: float
    group: int = 0


def interval(part: int, whole: int) -> tuple[float, float]:
    """The 95 % interval of a share, by Wilson's formula."""
    if not whole:
        return 0.0, 1.0
    share, square = part / whole, Z * Z
    middle = (share + square / (2 * whole)) / (1 + square / whole)
    spread = Z / (1 + square / whole)
    spread *= math.sqrt(share * (1 - share) / whole + square / (4 * whole * whole))
    return max(0.0, middle - spread), min(1.0, middle + spread)


def bars(rows: Sequence[Bar], title: str) -> str:
    """Shares as horizontal bars, each with its 95 % interval."""
    height = ROW * len(rows) + 8
    width = LABEL + BAR + VALUE
    drawn = "".join(_bar(row, number) for number, row in enumerate(rows))
    return _svg(width, height, title, drawn)


def _bar(row: Bar, number: int) -> str:
    top, middle = number * ROW + 5, number * ROW + 5 + ROW / 2 - 4
    share = row.part / row.whole if row.whole else 0.0
    low, high = interval(row.part, row.whole)
    left, right = LABEL + low * BAR, LABEL + high * BAR
    return (
        f'<text x="{LABEL - 8}" y="{middle + 4:.1f}" text-anchor="end">{escape(row.label)}</text>'
        f'<rect class="track" x="{LABEL}" y="{top}" width="{BAR}" height="{ROW - 8}"/>'
        f'<rect class="g{row.group % 4}" x="{LABEL}" y="{top}" width="{share * BAR:.1f}" '
        f'height="{ROW - 8}"/>'
        f'<line class="range" x1="{left:.1f}" y1="{middle:.1f}" x2="{right:.1f}" '
        f'y2="{middle:.1f}"/>'
        f'<text x="{LABEL + BAR + 8}" y="{middle + 4:.1f}">'
        f"{row.part} of {row.whole} ({share:.0%})</text>"
    )


def scatter(points: Sequence[Point], title: str, x_label: str, y_label: str) -> str:
    """Points over a logarithmic axis, with numbers that a list beside it explains."""
    low = math.floor(min(math.log10(max(point.x, 1)) for point in points))
    high = math.ceil(max(math.log10(max(point.x, 1)) for point in points))
    high = max(high, low + 1)
    parts = [_axes(low, high, x_label, y_label)]
    for number, point in enumerate(points, 1):
        x = MARGIN + (math.log10(max(point.x, 1)) - low) / (high - low) * SIZE
        y = 10 + (1 - point.y) * SIZE
        parts.append(
            f"<g><title>{escape(point.label)}</title>"
            f'<circle class="g{point.group % 4}" cx="{x:.1f}" cy="{y:.1f}" r="9"/>'
            f'<text class="on" x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle">{number}</text></g>'
        )
    return _svg(MARGIN + SIZE + 40, SIZE + 58, title, "".join(parts))


def _axes(low: int, high: int, x_label: str, y_label: str) -> str:
    bottom, middle = SIZE + 10, MARGIN + SIZE / 2
    parts = [f'<rect class="track" x="{MARGIN}" y="10" width="{SIZE}" height="{SIZE}"/>']
    for share in (0, 25, 50, 75, 100):
        parts.append(_text(MARGIN - 6, bottom - share / 100 * SIZE + 4, f"{share} %", "end"))
    for power in range(low, high + 1):
        x = MARGIN + (power - low) / (high - low) * SIZE
        parts.append(_text(x, bottom + 16, f"{10**power:,}"))
    parts.append(_text(middle, bottom + 38, x_label))
    parts.append(_text(MARGIN + 8, 28, y_label, "start"))
    return "".join(parts)


def _text(x: float, y: float, words: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def _svg(width: float, height: float, title: str, inside: str) -> str:
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" role="img">'
        f"<title>{escape(title)}</title>{inside}</svg>"
    )
