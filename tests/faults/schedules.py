"""Schedules drawn from a seed: a thread with some runs, and faults at chosen steps."""

import random
from dataclasses import dataclass
from typing import Literal
from uuid import UUID

Kind = Literal[
    "kill",  # the worker that has the run: SIGKILL
    "stop",  # SIGSTOP, and SIGCONT after another has taken over
    "drain",  # SIGTERM
    "cut",  # PostgreSQL ends every worker's connections
    "link_reset",  # the worker's connections break
    "link_stall",  # the link stalls for some seconds
    "link_drop",  # the worker's network is gone for some seconds
    "postgres_fast",  # PostgreSQL is restarted by an operator
    "postgres_crash",  # PostgreSQL is restarted and has to recover
    "redis_restart",  # Redis is killed and comes back empty
    "redis_flush",
    "api_kill",  # the API that serves the thread's stream: SIGKILL
    "api_stop",  # SIGSTOP, and SIGCONT some seconds later
    "cancel_pickup",  # other runs are cancelled while a worker claims them
    "cancel_queued",  # another run is cancelled while it waits
]
_WEIGHTS: dict[Kind, int] = {
    "kill": 8,
    "stop": 6,
    "drain": 3,
    "cut": 2,
    "link_reset": 3,
    "link_stall": 3,
    "link_drop": 3,
    "postgres_fast": 1,
    "postgres_crash": 1,
    "redis_restart": 1,
    "redis_flush": 1,
    "api_kill": 4,
    "api_stop": 3,
    "cancel_pickup": 2,
    "cancel_queued": 2,
}
KINDS = tuple(_WEIGHTS)
# Faults that hit all schedules are rarer, or no stream would be left to compare with its log.
_GLOBAL = ("postgres_fast", "postgres_crash", "redis_restart", "redis_flush")
_TURNS = (*(kind for kind in KINDS if kind not in _GLOBAL), *KINDS)


@dataclass(frozen=True, kw_only=True)
class Fault:
    kind: Kind
    at: str
    later: float
    lasts: float


@dataclass(frozen=True, kw_only=True)
class Schedule:
    number: int
    thread: UUID
    runs: list[tuple[str, int, float]]
    faults: list[Fault]
    sends_since: bool

    def items(self) -> list[str]:
        """The items that the thread must have at the end."""
        return [
            item
            for name, steps, _ in self.runs
            for item in (f"said {name}", *(f"{name}:{n}" for n in range(steps)))
        ]


def draw(seed: int, number: int) -> Schedule:
    """Draw the schedule of a seed, always the same. Each kind occurs once per 26 schedules."""
    dice = random.Random(seed * 1_000_003 + number)
    runs = [
        (f"r{n}", dice.randint(3, 6), round(dice.uniform(0.02, 0.2), 3))
        for n in range(dice.randint(1, 3))
    ]
    first = _TURNS[number % len(_TURNS)]
    others = dice.choices(KINDS, weights=list(_WEIGHTS.values()), k=dice.randint(0, 2))
    faults = []
    for kind in (first, *others):
        name, steps, _ = dice.choice(runs)
        faults.append(
            Fault(
                kind=kind,
                at=f"{name}:{dice.randrange(steps)}",
                later=dice.choice((0.0, round(dice.uniform(0, 0.25), 3))),
                lasts=dice.choice((0.3, 2.0, 5.0)),
            )
        )
    thread = UUID(int=dice.getrandbits(128), version=4)
    return Schedule(
        number=number, thread=thread, runs=runs, faults=faults, sends_since=dice.random() < 0.7
    )
