"""The agent behind the tickets."""

from bathysphere import AgentSpec, Models


def support(models: Models) -> AgentSpec:
    """Describe the agent; the server passes the configured models."""
    return AgentSpec(
        name="support",
        description="Answers tickets",
        model=models.main,
        prompt="You answer tickets of divers. Be short.",
    )
