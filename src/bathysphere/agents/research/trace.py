"""The reasoning trace, and the words in which a run that went wrong ends."""

from typing import Any

from langgraph.errors import NodeError
from langgraph.graph import END
from langgraph.types import Command

from bathysphere.agents.research.state import ReasoningEntry
from bathysphere.core.clock import Clock
from bathysphere.core.errors import BathysphereError

_LONGEST = 2_000


def entry(clock: Clock, node: str, summary: str, *, raw: str | None = None) -> ReasoningEntry:
    """One line of the trace."""
    made: ReasoningEntry = {
        "node": node,
        "timestamp": clock.now().isoformat(timespec="milliseconds"),
        "summary": summary[:_LONGEST],
    }
    if raw:
        made["raw_thought"] = raw[:_LONGEST]
    return made


class Failing:
    """What becomes of an error in a node: the end of the run, in words, with its trace."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def run(self, state: Any, error: NodeError) -> Command[Any]:
        """End the run as `failed`; what is the engine's business goes on to the engine.

        Raises:
            BathysphereError: The attempt must end, not the research: another worker has the run,
                or the database is away.
        """
        del state
        cause = error.error
        if isinstance(cause, BathysphereError):
            if cause.ends_run:
                raise cause
            words = str(cause)
        else:
            words = f"{type(cause).__name__}: {cause}"
        line = entry(self._clock, error.node, f"Error: {words}")
        update = {"status": "failed", "error_message": words[:_LONGEST], "reasoning": [line]}
        return Command(update=update, goto=END)
