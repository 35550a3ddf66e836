"""What clients are told of a run that ended with an error."""

from typing import Any

from langgraph.errors import GraphRecursionError

from bathysphere.core.errors import BathysphereError


def public_error(error: Exception, reference: str) -> dict[str, Any]:
    """The error for clients. An unknown error's text may be confidential, so it is only logged."""
    if isinstance(error, BathysphereError):
        return {"code": error.code, "message": error.message, "hint": error.hint}
    if isinstance(error, GraphRecursionError):
        return {
            "code": "recursion_limit",
            "message": "The run reached its step limit before it finished.",
            "hint": "raise recursion_limit, or ask for less at a time",
        }
    return {
        "code": "run_failed",
        "message": f"The run failed because of an internal error (reference {reference}).",
        "hint": "the operator can find the details in the server log under this reference",
    }


def too_many_attempts(attempts: int) -> dict[str, Any]:
    """The error of a run that was tried too often without progress."""
    return {
        "code": "too_many_attempts",
        "message": f"The run did not finish within {attempts} attempts.",
        "hint": "its worker stopped each time; the thread is intact up to the last finished step",
    }


def too_many_losses(losses: int) -> dict[str, Any]:
    """The error of a run whose workers died."""
    return {
        "code": "worker_lost",
        "message": f"The run was stopped: {losses} workers died during its next step.",
        "hint": "the thread is intact up to the last finished step; the step may need too much"
        " memory or never end. Change it, or send a new message to try again",
    }


def timed_out(seconds: float) -> dict[str, Any]:
    """The error of a run that took too long."""
    return {"code": "run_timeout", "message": f"The run did not finish within {seconds:g} seconds."}
