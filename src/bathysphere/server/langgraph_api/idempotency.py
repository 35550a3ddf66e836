"""`Idempotency-Key`: a request that is sent again finds the run that it made the first time.

The run's id is computed from the key and the caller's identity, and a run id is unique. So there is
nothing to store, two requests at the same moment make one run, and nobody can take another's key.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4, uuid5

from bathysphere.core.canonical import canonical
from bathysphere.core.errors import CallerError
from bathysphere.core.identity import Owner
from bathysphere.engine.records import Run, Work
from bathysphere.server.langgraph_api.project_rules import ProjectRules

HEADER = "Idempotency-Key"
MAX_LENGTH = 255
_NAMESPACE = UUID("6f0c1b1e-6d5c-5f3e-9d52-0d6d8f1f3a5e")  # any, as long as it stays the same


class IdempotencyKeyReused(CallerError):
    """The key was already used for another request."""

    code = "idempotency_key_reused"


@dataclass(frozen=True, kw_only=True, slots=True)
class RequestKey:
    """The key of a request, if it has one."""

    owner: Owner
    key: str | None = None
    rules: ProjectRules | None = None
    """What to ask before a run is started, where the route has not been asked about it."""

    @property
    def is_given(self) -> bool:
        """Whether the request has a key."""
        return self.key is not None

    async def before_run(self, thread_id: UUID, *, may_create: bool) -> Mapping[str, Any]:
        """Ask the project's rules about a run; return the metadata of the thread it creates."""
        if self.rules is None:
            return {}
        return await self.rules.before_run(thread_id, may_create=may_create)

    def run_id(self, thread_id: UUID) -> UUID:
        """The id of the run that the request makes on a thread."""
        return self._id("run", str(thread_id))

    def thread_id(self, number: int = 0) -> UUID:
        """The id of the thread of a stateless run; `number` counts the runs of a batch."""
        return self._id("thread", number)

    def _id(self, kind: str, detail: str | int) -> UUID:
        if self.key is None:
            return uuid4()
        parts: list[Any] = [kind, self.owner.tenant, self.owner.user, self.key, detail]
        return uuid5(_NAMESPACE, canonical(parts).decode())


def check_repetition(run: Run, graph: str, work: Work) -> None:
    """Refuse a key that was used for another request than this.

    Raises:
        IdempotencyKeyReused: The run has another graph, input or start.
    """
    before = (run.graph, run.work.input, run.work.update, run.work.goto, run.work.checkpoint_id)
    if before != (graph, work.input, work.update, work.goto, work.checkpoint_id):
        raise IdempotencyKeyReused(
            f"This {HEADER} was already used for another request",
            hint="send a new key with every new request",
        )
