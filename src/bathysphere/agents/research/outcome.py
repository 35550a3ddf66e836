"""Explain to the person why research found nothing."""

from collections.abc import Mapping
from typing import Any

from bathysphere.core.words import count

NOT_FOUND = "No source answers this question."
NOT_ANSWERED = "The sources that were read do not answer this question."
_LONGEST = 300


def failed_steps(state: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Input and error of each failed step."""
    results = state.get("step_results") or {}
    return [
        (str(step["input"]), str(results[step["id"]]["error"])[:_LONGEST])
        for step in _steps(state)
        if (results.get(step["id"]) or {}).get("error")
    ]


def explain_nothing(state: Mapping[str, Any]) -> str:
    """State that nothing was found, then list the failed steps and their errors."""
    steps, failed = _steps(state), failed_steps(state)
    first = NOT_ANSWERED if state.get("sources") else NOT_FOUND
    if not failed:
        done = count(len(steps), "step")
        return f"{first} {done} succeeded; try other words or sources."
    reasons = "; ".join(f"“{query}”: {why}" for query, why in failed)
    return f"{first} {len(failed)} of {count(len(steps), 'step')} failed: {reasons}"


def found_nothing(state: Mapping[str, Any]) -> bool:
    """Whether a run failed only because its searches found nothing."""
    results = state.get("step_results") or {}
    worked = [one for one in results.values() if not one.get("error")]
    return state.get("status") == "failed" and state.get("report") is None and bool(worked)


def _steps(state: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    plan = state.get("approved_plan") or state.get("plan") or {}
    return list(plan.get("steps") or ())
