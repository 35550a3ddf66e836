"""The trusted context of a run: its caller and services.

The engine's worker puts a `RunContext`, built from the run's row, into LangGraph's runtime. Any
other context comes from a client (`langgraph dev` passes it through, coerced to the graph's schema)
and never determines who asks, approves or pays. Without a `RunContext`, the server's authenticated
user is used.
"""

from dataclasses import dataclass
from typing import Any

from bathysphere.core.effects import EffectLog
from bathysphere.core.payments import Purse


@dataclass(frozen=True, kw_only=True, slots=True)
class RunContext:
    """The caller of a run and the services of its attempt; empty outside the engine."""

    tenant: str = ""
    user: str = ""
    thread_id: str = ""
    run_id: str = ""
    effects: EffectLog | None = None
    changes: Any = None
    """The record of file changes (`tenancy.changes.ChangeLog`)."""
    payments: Purse | None = None
    """Pays for the run's model calls; None if nothing is charged."""


def context_of(runtime: Any) -> RunContext:
    """Return the trusted context of a run, from its LangGraph runtime."""
    context = getattr(runtime, "context", None)
    if isinstance(context, RunContext):
        return context
    user = getattr(getattr(runtime, "server_info", None), "user", None)
    return RunContext(tenant=_text(user, "tenant"), user=_text(user, "identity"))


def _text(user: Any, name: str) -> str:
    value = getattr(user, name, None)
    return value if isinstance(value, str) else ""
