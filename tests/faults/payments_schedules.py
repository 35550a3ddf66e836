"""Payment schedules drawn from a seed: a paid thread, and everything that goes wrong."""

import random
from dataclasses import dataclass
from typing import Literal, get_args

Point = Literal[
    "open", "deposit", "charge", "model", "complete", "void", "checkpoint", "writes", "close",
    "freeze", "take", "swap", "restore", "done", "deliver",
    "withdraw", "shown",
]  # fmt: skip
"""Where a process can die, each before and after: commits, POSTs and model calls."""
POINTS: tuple[Point, ...] = get_args(Point)
OFTEN = {"charge": 9, "model": 9, "complete": 9, "checkpoint": 9, "writes": 9}
WireFault = Literal["lose_request", "lose_response", "truncate", "delay", "duplicate", "http_502"]
WIRE: tuple[WireFault, ...] = get_args(WireFault)
Outage = Literal["mint_kill", "mint_freeze", "mint_restart", "postgres_fast", "postgres_crash"]
OUTAGES: tuple[Outage, ...] = get_args(Outage)
OUTAGE_EVERY = 16  # schedules; each takes seconds in which all others wait


@dataclass(frozen=True, kw_only=True)
class Death:
    """A process kills itself at a point, the n-th time it gets there."""

    point: Point
    side: Literal["before", "after"]
    nth: int

    def __str__(self) -> str:
        return f"{self.side} {self.point} {self.nth}"


@dataclass(frozen=True, kw_only=True)
class PaidSchedule:
    """A thread: its requests, its first deposit, and where its processes die."""

    number: int
    thread: str
    text: str
    answers: int
    first_sats: int
    fails_first: bool
    """Whether each second model call fails once: a charge is voided and made again. Not in a
    tree: a subagent that fails is a result there, and nobody asks again."""
    deaths: tuple[Death, ...]
    wire: tuple[tuple[WireFault, str], ...]
    outage: Outage | None
    is_abandoned: bool
    """Whether the person closes after the first death, and the run is never taken up."""


def draw(seed: int, number: int) -> PaidSchedule:
    """Draw the schedule of a seed; each point, side and fault occurs once per 60 schedules."""
    dice = random.Random(seed * 1_000_003 + number)
    in_tree = dice.random() < 0.5
    calls = dice.randint(1, 3)
    text, answers = (f"tree {calls}", 2 + 2 * calls) if in_tree else (str(calls + 1), calls + 1)
    first = Death(
        point=POINTS[number % len(POINTS)],
        side="before" if number // len(POINTS) % 2 else "after",
        nth=1,
    )
    if first.point in OFTEN:
        first = Death(
            point=first.point,
            side=first.side,
            nth=dice.randint(1, min(answers, OFTEN[first.point])),
        )
    more = [
        Death(
            point=dice.choice(POINTS),
            side=dice.choice(("before", "after")),
            nth=dice.randint(1, 3),
        )
        for _ in range(dice.randint(0, 2))
    ]
    faults = [(WIRE[number % len(WIRE)], "/v1/swap")] if number % 2 else []
    faults += [
        (dice.choice(WIRE), dice.choice(("/v1/swap", "/v1/restore")))
        for _ in range(dice.randint(0, 1))
    ]
    outage = OUTAGES[number // OUTAGE_EVERY % len(OUTAGES)] if number % OUTAGE_EVERY == 4 else None
    return PaidSchedule(
        number=number,
        thread=f"{dice.getrandbits(128):032x}",
        text=text,
        answers=answers,
        first_sats=dice.choice((1, 16, 33, 64, 257)),
        fails_first=not in_tree and dice.random() < 0.5,
        deaths=(first, *more),
        wire=tuple(faults),
        outage=outage,
        is_abandoned=dice.random() < 0.12,
    )
