"""Research options of a deployment."""

from dataclasses import dataclass

from bathysphere.evidence.settle import Unsupported


@dataclass(frozen=True, kw_only=True, slots=True)
class ResearchOptions:
    """Research options of a deployment."""

    unsupported: Unsupported = "mark"
    """Whether unsupported claims are marked, or dropped and counted."""
    pages: int = 3
    """Search results to open per search."""
    documents: int = 4
    """Corpus documents to read per search."""
    judge: bool = True
    """Whether a model judges if each claim follows from its quotes."""
    rounds: int = 1
    """How often the model may request calls beyond the plan."""
    at_once: int = 16
    """Maximum number of concurrent calls."""
    step_seconds: float = 60
    """Timeout of one call."""
