"""Schedules drawn from a seed: what the agents of a thread ask for, and what the person does."""

import random
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal[
    "together",  # all open questions in one command
    "one_by_one",  # each in its own command, in any order
    "some",  # some of them, and no more for now
    "at_once",  # each in its own command, all at the same time
    "twice",  # the same questions at the same time, with different answers
    "again",  # questions that were answered before
    "stale",  # a question that never existed, or of another thread
    "mixed",  # a valid answer together with a stale one: neither counts
    "malformed",  # invalid answers
    "malformed_beside_good",
    "early",  # whatever is open, without waiting for the run to end
    "message",  # the person writes instead of answering
    "message_at_once",  # and answers at the same time
    "message_then_answers",  # and answers a moment later
    "stop",  # the person answers, and then cancels the run that has the answers
]
KINDS: tuple[Kind, ...] = (
    "together",
    "one_by_one",
    "some",
    "at_once",
    "twice",
    "again",
    "stale",
    "mixed",
    "malformed",
    "malformed_beside_good",
    "early",
    "message",
    "message_at_once",
    "message_then_answers",
    "stop",
)
_TOOLS = (
    "list_user_files",
    "read_user_file",
    "search_user_files",
    "grep_user_files",
    "glob_user_files",
    "write_user_file",
    "ask_user",
    "ask_choices",
    "act",
)


@dataclass(frozen=True, slots=True)
class Ask:
    """One tool call that a scripted model makes."""

    id: str
    name: str
    args: dict[str, Any]


Step = tuple[Ask, ...]


@dataclass(frozen=True, slots=True)
class Action:
    """One thing the person does."""

    kind: Kind
    stops: bool = False
    """Whether a message takes the place of the run that is on its way (`interrupt`)."""
    pause: float = 0.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule:
    """One thread."""

    number: int
    key: str
    plans: dict[str, tuple[Step, ...]]
    """What each agent does, by the words that start it."""
    actions: tuple[Action, ...]
    seed: int


def draw(seed: int, number: int) -> Schedule:
    """Draw the schedule of a seed, always the same. Each kind occurs once per 15 schedules."""
    dice = random.Random(seed * 1_000_003 + number)
    key = f"s{number}"
    plans: dict[str, tuple[Step, ...]] = {}
    first = KINDS[number % len(KINDS)]
    kinds = [first, *dice.choices(KINDS, k=dice.randint(1, 4))]
    dice.shuffle(kinds)
    stops = dice.random() < 0.2
    # A tool that may be interrupted must run at most once: `pay` records an effect.
    gated = "pay" if stops or "stop" in kinds else "act"
    messages = 1 + sum(kind.startswith("message") for kind in kinds)
    for message in range(messages):
        _draw_agent(dice, plans, f"{key}.m{message}", gated, is_main=True)
    actions = tuple(
        Action(
            kind=kind,
            stops=stops and dice.random() < 0.7,
            pause=dice.choice((0, 0, 0.02, 0.15)),
        )
        for kind in kinds
    )
    return Schedule(number=number, key=key, plans=plans, actions=actions, seed=dice.getrandbits(32))


def _draw_agent(
    dice: random.Random, plans: dict[str, tuple[Step, ...]], name: str, gated: str, *, is_main: bool
) -> None:
    steps = []
    for number in range(dice.choice((1, 1, 2)) if is_main else dice.choice((1, 2))):
        place = f"{name}.{number}"
        count = dice.randint(1, 4) if is_main else dice.randint(1, 3)
        asks = [_draw_ask(dice, f"{place}.{n}", gated) for n in range(count)]
        if is_main and number == 0:
            for which in dice.choice(((), ("left",), ("left", "right"), ("left", "right"))):
                sub = f"{place}.{which}"
                _draw_agent(dice, plans, sub, gated, is_main=False)
                asks.append(Ask(sub, "task", {"description": sub, "subagent_type": which}))
        dice.shuffle(asks)
        steps.append(tuple(asks))
    plans[name] = tuple(steps)


def _draw_ask(dice: random.Random, place: str, gated: str) -> Ask:
    name = dice.choice((*_TOOLS, gated))
    args: dict[str, Any] = {
        "list_user_files": {},
        "read_user_file": {"file_id": place},
        "search_user_files": {"query": place},
        "grep_user_files": {"pattern": place},
        "glob_user_files": {"pattern": f"{place}*"},
        "write_user_file": {"title": place, "content": "text", "description": "a note"},
        "ask_user": {"question": f"What about {place}?"},
        "ask_choices": {
            "question": f"Which of {place}?",
            "options": [{"id": o, "label": f"tok<{place}#{o}>"} for o in ("a", "b", "c")],
            "allow_multiple": dice.random() < 0.5,
            "allow_freeform": dice.random() < 0.5,
        },
        "act": {"what": f"tok<{place}#own>"},
        "pay": {"what": f"tok<{place}#own>"},
    }
    name = gated if name == "act" else name
    return Ask(place, name, args[name])
