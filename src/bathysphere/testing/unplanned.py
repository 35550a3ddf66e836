"""Planning calls of flow control that a script does not foresee: the plan is empty."""

from collections.abc import Sequence

from bathysphere.testing.turns import Turn, calls

COMMIT_PLAN = "commit_plan"
EMPTY_PLAN = calls(COMMIT_PLAN, steps=[])


def is_unplanned(tools: Sequence[str], turn: object) -> bool:
    """Whether a planning call comes before a turn that is not a plan."""
    if list(tools) != [COMMIT_PLAN]:
        return False
    is_plan = isinstance(turn, Turn) and any(call.name == COMMIT_PLAN for call in turn.calls)
    return not is_plan
