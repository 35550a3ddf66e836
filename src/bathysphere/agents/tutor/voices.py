"""The voices of a seminar and their positions."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Voice:
    """A seminar voice: its name, when to use it, and the position it argues."""

    name: str
    description: str
    position: str


ADVOCATE = Voice(
    name="advocate",
    description="Makes the best case for the person's claim, with the premises it needs.",
    position="You hold that the claim is right, and look for the premises that carry it best.",
)
SCEPTIC = Voice(
    name="sceptic",
    description="Finds the objection that would hurt the claim most.",
    position="You hold that the claim is not shown, and look for the objection that hurts most.",
)
EMPIRICIST = Voice(
    name="empiricist",
    description="Asks what has been observed, and what observation would decide it.",
    position="You hold only what has been observed, and ask what observation would decide it.",
)
JUDGE = Voice(
    name="judge",
    description="Weighs what the others put on the map and says what is still open.",
    position="You hold no side. You weigh what is on the map and name what is still open.",
)

VOICES = (ADVOCATE, SCEPTIC, EMPIRICIST, JUDGE)
