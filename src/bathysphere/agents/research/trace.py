"""The reasoning trace, and handling of node errors."""

from typing import Any

from langgraph.errors import NodeError
from langgraph.graph import END
from langgraph.types import Command

from bathysphere.agents.research.state import ReasoningEntry
from bathysphere.core.clock import Clock
from bathysphere.core.errors import BathysphereError

_LONGEST = 2_000


def entry(clock: Clock, node: str, summary: str, *, raw: str | None = None) -> ReasoningEntry:
    """Create a trace entry."""
    created: ReasoningEntry = {
        "node": node,
        "timestamp": clock.now().isoformat(timespec="milliseconds"),
        "summary": summary[:_LONGEST],
    }
    if raw:
        created["raw_thought"] = raw[:_LONGEST]
    return created


class FailureHandler:
    """Ends a run as failed when a node raises an error."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def run(self, state: Any, error: NodeError) -> Command[Any]:
        """End the run as `failed`, unless the engine must handle the error.

        Raises:
            BathysphereError: Only the attempt must end: another worker has the run, or the
                database is unavailable.
        """
        del state
        cause = error.error
        if isinstance(cause, BathysphereError):
            if cause.ends_run:
                raise cause
            text = str(cause)
        else:
            text = f"{type(cause).__name__}: {cause}"
        line = entry(self._clock, error.node, f"Error: {text}")
        update = {"status": "failed", "error_message": text[:_LONGEST], "reasoning": [line]}
        return Command(update=update, goto=END)
