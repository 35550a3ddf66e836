"""The error for a failed request to a search API that needs a key."""

from bathysphere.core.errors import BathysphereError
from bathysphere.tools.errors import FetchFailed, FetchRefused, SearchFailed

_KEY_REFUSED = frozenset({"status_401", "status_403", "status_422"})
"""Brave answers 422 to an invalid token."""
_LIMIT_REACHED = frozenset({"status_429", "status_432", "status_433"})
"""432 and 433 are Tavily's: the limit of the plan, and of payment by use."""


def api_failure(engine: str, error: BathysphereError, *, key: str) -> SearchFailed:
    """Describe a failed request without its URL, headers or response.

    Args:
        engine: The engine's name, for people.
        error: Why the request failed.
        key: The variable that holds the engine's key.
    """
    reason = error.reason if isinstance(error, FetchFailed | FetchRefused) else error.code
    hint = error.hint
    if reason in _KEY_REFUSED:
        hint = f"check {key}"
    elif reason in _LIMIT_REACHED:
        hint = "wait, or raise the limit of your plan"
    return SearchFailed(f"{engine} search failed: {reason.replace('_', ' ')}", hint=hint)
