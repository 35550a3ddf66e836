"""What breaks first as the number of sessions grows, how large a cell is, and what a session costs.

A day is simulated minute by minute from measured costs (`costs.toml`): sessions arrive by chance
around a daily curve, hold a stream for some minutes and start runs, and runs use processors,
PostgreSQL, Redis and disk. The largest use of each part in that day is compared with what a cell
has. Nothing here is measured; the figures that go in are.

The last line is JSON: for each number of sessions a day what breaks first in one cell, the cells
that are needed and the cost of a session, and `cell_sessions`, what one cell carries.
"""

import argparse
import json
import math
import random
import sys
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
MINUTES = 24 * 60
SIZES = (1_000_000, 10_000_000, 100_000_000)
DAYS_PER_MONTH = 30

Costs = dict[str, dict[str, float]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One part of a cell: the most that is used of it in a day, and what there is."""

    name: str
    used: float
    limit: float
    unit: str

    @property
    def share(self) -> float:
        return self.used / self.limit


def sessions_by_minute(per_day: float, peak: float, dice: random.Random) -> list[float]:
    """Draw how many sessions start in each minute of a day: by chance, around the daily curve."""
    expected = (per_day * part for part in daily_curve(peak))
    return [max(0.0, dice.gauss(mean, math.sqrt(mean))) for mean in expected]


@cache
def daily_curve(peak: float) -> tuple[float, ...]:
    """Return the part of a day's sessions that starts in each minute.

    It is a raised cosine to the power at which the highest minute is `peak` times the average.
    """
    low, high = 0.0, 100.0
    for _ in range(40):
        power = (low + high) / 2
        heights = [((1 - math.cos(2 * math.pi * m / MINUTES)) / 2) ** power for m in range(MINUTES)]
        total = sum(heights)
        low, high = (power, high) if MINUTES / total < peak else (low, power)
    return tuple(height / total for height in heights)


def peak_open(started: list[float], minutes: float) -> float:
    """Return the most that are open at once, if each stays open for `minutes`."""
    window = max(1, round(minutes))
    # The day repeats itself, so that what is open at midnight is not forgotten.
    day = started[-window:] + started
    current = most = sum(day[:window])
    for minute in range(window, len(day)):
        current += day[minute] - day[minute - window]
        most = max(most, current)
    return most * minutes / window


def parts(per_day: float, costs: Costs, *, seed: int = 1) -> list[Part]:
    """Compute what a day of so many sessions uses of each part of a cell."""
    session, cell = costs["session"], costs["cell"]
    started = sessions_by_minute(per_day, session["peak"], random.Random(seed))
    busiest = max(started) / 60
    runs = busiest * session["runs"]
    open_streams = peak_open(started, session["open_minutes"])
    active_runs = peak_open(started, session["run_seconds"] / 60) * session["runs"]
    run = run_costs(costs)
    processes = open_streams / cell["streams_per_process"] + active_runs / cell["runs_per_worker"]
    transactions = runs * run["commits"] * cell["transaction_ms"] / 1000
    stream_cpu = busiest * costs["stream"]["open_cpu_ms"] / 1000 + open_streams * (
        session["events_per_minute"] / 60 * costs["stream"]["event_cpu_us"] / 1_000_000
    )
    return [
        Part(
            name="processors of API and workers",
            used=runs * run["cpu_s"] + stream_cpu,
            limit=cell["cores"] * cell["core_use"],
            unit="cores",
        ),
        Part(
            name="processors of PostgreSQL",
            used=runs * run["postgres_s"],
            limit=cell["postgres_cores"] * cell["postgres_use"],
            unit="cores",
        ),
        Part(
            name="commits",
            used=runs * run["commits"],
            limit=cell["postgres_commits_per_s"],
            unit="/s",
        ),
        Part(
            name="connections",
            used=transactions + processes * cell["listening_per_process"],
            limit=cell["postgres_connections"],
            unit="",
        ),
        Part(
            name="disk",
            used=per_day * session["runs"] * run["disk_kb"] * cell["keep_days"] / 1e6,
            limit=cell["disk_gb"],
            unit="GB",
        ),
        Part(
            name="memory of Redis",
            used=peak_open(started, cell["redis_keep_minutes"])
            * (session["runs"] * run["redis_kb"] / 1e6),
            limit=cell["redis_gb"],
            unit="GB",
        ),
        Part(
            name="events through Redis",
            used=runs * run["events"],
            limit=cell["redis_events_per_s"],
            unit="/s",
        ),
    ]


def run_costs(costs: Costs) -> dict[str, float]:
    """Compute what one run of a session costs, from a measured run of fewer steps.

    A run adds the difference between served and bare once, and the bare cost with each step.
    """
    run, token, session = costs["run"], costs["token"], costs["session"]
    more_steps = session["steps_per_run"] / run["steps"]
    token_events = session["tokens_per_run"] / token["per_event"]
    step_ms = run["served_cpu_ms"] - run["bare_cpu_ms"] + run["bare_cpu_ms"] * more_steps
    return {
        "cpu_s": step_ms / 1e3 + session["tokens_per_run"] * token["cpu_us"] / 1e6,
        "postgres_s": run["postgres_cpu_ms"] * more_steps / 1e3,
        "commits": run["commits"] * more_steps,
        "disk_kb": run["disk_kb"] * more_steps,
        "redis_kb": run["redis_kb"] * more_steps + token_events * token["redis_kb_per_event"],
        "events": session["steps_per_run"] * 3 + token_events,
    }


def cell_sessions(costs: Costs) -> float:
    """Find how many sessions a day one cell carries."""
    low, high = 0.0, 1e9
    for _ in range(40):
        middle = (low + high) / 2
        fits = all(part.share <= 1 for part in parts(middle, costs))
        low, high = (middle, high) if fits else (low, middle)
    return low


def cost_per_session(cells: int, per_day: float, costs: Costs) -> float:
    """Compute the cost of a session in dollars: all cells, whether they are used or not."""
    cell, prices = costs["cell"], costs["prices"]
    month = (
        cell["cores"] * prices["core_month"]
        + cell["postgres_cores"] * prices["postgres_core_month"]
        + cell["disk_gb"] * prices["disk_gb_month"]
        + cell["redis_gb"] * prices["redis_gb_month"]
    )
    return cells * month / (per_day * DAYS_PER_MONTH)


def breaks_first(per_day: float, capacity: float, costs: Costs) -> str:
    """Name what is used up first: a part of the cell, or with many cells the largest tenant's."""
    if per_day * costs["session"]["largest_tenant"] > capacity:
        return "the cell of the largest tenant"
    return max(parts(per_day, costs), key=lambda part: part.share).name


def report(costs: Costs) -> dict[str, Any]:
    """Print the tables, and return the figures."""
    capacity = cell_sessions(costs)
    figures: dict[str, Any] = {}
    for size in SIZES:
        cells = math.ceil(size / capacity)
        price = cost_per_session(cells, size, costs)
        first = breaks_first(size, capacity, costs)
        print(f"{size / 1e6:.0f} million sessions a day, if they were in one cell:")
        for part in sorted(parts(size, costs), key=lambda part: -part.share):
            amount = f"{part.used:,.1f} of {part.limit:,.1f} {part.unit}".strip()
            print(f"  {part.share:7.0%}  {part.name}: {amount}")
        print(f"  breaks first: {first}; needs {cells} cells; ${price:.6f} a session\n")
        figures[f"{size / 1e6:.0f}M"] = {
            "breaks_first": first,
            "cells": cells,
            "dollars_per_session": round(price, 6),
        }
    print(f"One cell carries {capacity:,.0f} sessions a day.")
    return {**figures, "cell_sessions": round(capacity)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--costs", type=Path, default=HERE / "costs.toml")
    options = parser.parse_args()
    print(json.dumps(report(tomllib.loads(options.costs.read_text()))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
