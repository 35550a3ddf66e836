"""Seed 000's example prompts, and which of them need a clarifying question.

Each has a script for the scripted model, which checks the machinery; `run.py --prompts` checks the
same expectations with a real model if BATHYSPHERE_MODEL_MAIN is set.
"""

import json
from dataclasses import dataclass, field

from tutor_dialogue import Dialogue

from bathysphere.testing.turns import Turn, calls, says

DRAFT = "Inflation is a tax.\nIt falls on those who save.\nNobody voted for this tax.\n"


def picks(move: str, why: str = "It is due.") -> Turn:
    """The choice of a move, in the model's format."""
    return says(json.dumps({"move": move, "why": why}))


@dataclass(frozen=True, kw_only=True)
class SeedPrompt:
    """A prompt, the expected result, and a script that produces it."""

    prompt: str
    asks: bool
    """Whether the tutor must ask a clarifying question before it does anything."""
    script: tuple[Turn, ...]
    uses: tuple[str, ...] = ()
    """Client tools of which at least one must have been used."""
    answer: str = "It is about sound money."
    documents: dict[str, str] = field(default_factory=lambda: {"draft.md": DRAFT})

    def failures(self, talk: Dialogue) -> list[str]:
        """Return how the tutor's turn differs from the expected result; empty if it does not."""
        asked = [v for v in talk.asked if v["type"] == "clarification_request"]
        last = talk.state["messages"][-1].text
        questions = [m for m in talk.state["moves"] if m.get("question")]
        found = []
        if self.asks and not (asked or questions):
            found.append("it did not ask what the person means")
        if not self.asks and asked:
            found.append(f"it asked without need: {asked[0]['question']}")
        if self.uses and not set(self.uses) & set(talk.device.asked):
            found.append(f"it used none of {', '.join(self.uses)}")
        if not last:
            found.append("it said nothing")
        return found


PATCH = {
    "file_id": "draft.md",
    "search": "Nobody voted for this tax.",
    "replace": "Nobody was asked to vote for it.",
    "description": "Say plainly what nobody did.",
}
CHOICES = [
    {"id": "policy", "label": "Monetary policy"},
    {"id": "markets", "label": "Market structures"},
    {"id": "trade", "label": "International trade"},
]

SEED_PROMPTS = (
    SeedPrompt(
        prompt="Help me with my argument",
        asks=True,
        script=(
            picks("clarify_term"),
            calls("ask_user", question="What is your argument about?"),
            picks("ask_premise"),
            says("You hold that money should be sound. What does that rest on?"),
        ),
    ),
    SeedPrompt(
        prompt="I want to write about economics",
        asks=True,
        script=(
            picks("clarify_term"),
            calls("ask_choices", question="Which part?", options=CHOICES, allow_freeform=True),
            picks("ask_premise"),
            says("What would you say about monetary policy, in one sentence?"),
        ),
    ),
    SeedPrompt(
        prompt="Improve this",
        asks=True,
        answer="The clarity of draft.md.",
        script=(
            picks("clarify_term"),
            calls("ask_user", question="What shall I improve: style, clarity or argument?"),
            picks("work"),
            calls("read_user_file", file_id="draft.md"),
            calls("patch_user_file", PATCH),
            says("I proposed one change to draft.md, and it was taken."),
        ),
    ),
    SeedPrompt(
        prompt=(
            "Create a new document titled 'Bitcoin Thesis' with an introduction about sound money"
        ),
        asks=False,
        uses=("write_user_file",),
        script=(
            picks("work"),
            calls(
                "write_user_file",
                title="Bitcoin Thesis",
                content="# Bitcoin Thesis\n\nSound money keeps its worth.\n",
                description="An introduction about sound money.",
            ),
            says("The document is there, with an introduction."),
        ),
    ),
    SeedPrompt(
        prompt="Search my files for mentions of inflation",
        asks=False,
        uses=("grep_user_files", "search_user_files"),
        script=(
            picks("work"),
            calls("grep_user_files", pattern="inflation"),
            says("It is mentioned once, in draft.md: “Inflation is a tax.”"),
        ),
    ),
)
