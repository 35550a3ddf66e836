"""What a project's authorization says where a request chooses its thread or assistants itself."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol
from uuid import UUID

from bathysphere.engine.assistants import Assistant

RULES_KEY = "bathysphere.project_rules"
"""Scope key of the rules for a request, if its route must ask them."""


class ProjectRules(Protocol):
    """The project's handlers, asked for the caller of one request."""

    async def before_run(self, thread_id: UUID, *, may_create: bool) -> Mapping[str, Any]:
        """Ask about a run; return the metadata of the thread, if the run creates it.

        Raises:
            AccessDenied: A handler refuses it.
            ThreadNotFound: The filter of a handler hides the thread.
        """
        ...

    async def shown(self, assistants: Sequence[Assistant]) -> list[Assistant]:
        """The assistants that the filter of a search shows."""
        ...
