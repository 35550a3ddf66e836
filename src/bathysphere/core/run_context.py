"""The trusted context of a run: its caller and services.

The engine's worker puts a `RunContext`, built from the run's row, into LangGraph's runtime: as the
context of a graph that declares none, and within the authenticated user (`RunUser`). Any other
context comes from a client, in the shape that the graph declares, and never determines who asks,
approves or pays.
"""

from collections.abc import Iterator, Sequence
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


@dataclass(frozen=True, slots=True)
class RunUser:
    """The authenticated user of a run, as LangGraph's `BaseUser`; carries the trusted context."""

    run: RunContext

    @property
    def identity(self) -> str:
        """The user's name within its tenant."""
        return self.run.user

    @property
    def tenant(self) -> str:
        """The user's tenant."""
        return self.run.tenant

    @property
    def display_name(self) -> str:
        """The name to show."""
        return self.run.user

    @property
    def is_authenticated(self) -> bool:
        """Whether a run has this user; False where a graph is only described."""
        return bool(self.run.user)

    @property
    def permissions(self) -> Sequence[str]:
        """Empty: roles do not exist."""
        return ()

    def __getitem__(self, name: str) -> Any:
        if name not in _USER_FIELDS:
            raise KeyError(name)
        return getattr(self, name)

    def __contains__(self, name: object) -> bool:
        return name in _USER_FIELDS

    def __iter__(self) -> Iterator[str]:
        return iter(_USER_FIELDS)


_USER_FIELDS = ("identity", "tenant", "display_name", "is_authenticated", "permissions")


def context_of(runtime: Any) -> RunContext:
    """Return the trusted context of a run, from its LangGraph runtime."""
    context = getattr(runtime, "context", None)
    if isinstance(context, RunContext):
        return context
    user = getattr(getattr(runtime, "server_info", None), "user", None)
    if isinstance(user, RunUser):
        return user.run
    return RunContext(tenant=_text(user, "tenant"), user=_text(user, "identity"))


def _text(user: Any, name: str) -> str:
    value = getattr(user, name, None)
    return value if isinstance(value, str) else ""
