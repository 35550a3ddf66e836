"""Explain to the person why research found nothing."""

from collections.abc import Mapping
from typing import Any

from bathysphere.core.words import count

NOT_FOUND = "No source answers this question."
NOT_ANSWERED = "The sources that were read do not answer this question."
OFFER = (
    "You can ask in other words, attach documents or addresses that may answer it, or try again"
    " later."
)
KEPT = "Earlier reports of this conversation are kept."
_LONGEST = 300


def failed_steps(state: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Input and error of each step that failed, or that could open none of its pages."""
    results = state.get("step_results") or {}
    found = [(str(step["input"]), _error(results.get(step["id"]) or {})) for step in _steps(state)]
    return [(query, why[:_LONGEST]) for query, why in found if why]


def explain_nothing(state: Mapping[str, Any]) -> str:
    """State that nothing was found, then list the failed steps and their errors."""
    steps, failed = _steps(state), failed_steps(state)
    first = NOT_ANSWERED if state.get("sources") else NOT_FOUND
    if not failed:
        return f"{first} {count(len(steps), 'step')} succeeded. {_offer(state)}"
    reasons = "; ".join(f"“{query}”: {why.rstrip('.')}" for query, why in failed)
    return (
        f"{first} {len(failed)} of {count(len(steps), 'step')} failed: {reasons}. {_offer(state)}"
    )


def found_nothing(state: Mapping[str, Any]) -> bool:
    """Whether a run failed only because its searches found nothing."""
    results = state.get("step_results") or {}
    worked = [one for one in results.values() if not one.get("error")]
    return state.get("status") == "failed" and state.get("report") is None and bool(worked)


def _offer(state: Mapping[str, Any]) -> str:
    has_reports = bool((state.get("history") or {}).get("reports"))
    return f"{OFFER} {KEPT}" if has_reports else OFFER


def _error(result: Mapping[str, Any]) -> str:
    if result.get("error"):
        return str(result["error"])
    pages = result.get("failed_pages") or ()
    if not pages or result.get("sources"):
        return ""
    return f"{count(len(pages), 'page')} could not be read: {pages[0]}"


def _steps(state: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    plan = state.get("approved_plan") or state.get("plan") or {}
    return list(plan.get("steps") or ())
