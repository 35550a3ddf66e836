"""An agent with two tools of its own: one answers at once, one waits for your approval."""

from langchain_core.tools import tool

from bathysphere import AgentSpec, Limits, Models

DEPTHS = {"Mariana Trench": 10_935, "Baltic Sea": 459}


@tool
def depth(place: str) -> int:
    """Return the depth of the sea at a place, in metres."""
    return DEPTHS[place]


@tool
def record_dive(place: str, metres: int) -> str:
    """Enter a dive in the log book."""
    return f"Recorded: {metres} m, {place}."


def diver(models: Models) -> AgentSpec:
    """Describe the agent; `serve` and `chat` pass the configured models."""
    return AgentSpec(
        name="diver",
        description="Answers questions about the sea and keeps a log book",
        model=models.main,
        prompt="You answer questions about the sea. Look depths up; never guess them.",
        tools=(depth, record_dive),
        approvals={"record_dive": True},
        limits=Limits(model_calls=20, seconds=120),
    )
