"""The tool gateway: makes a run's external calls, and only those in the approved plan.

Each call is checked against the permission first; `Refused` carries the difference from the plan.
The gateway also opens each page only once per run, applies timeouts, and returns failures as
results.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from langgraph.runtime import Runtime

from bathysphere.agents.research.attachments import Attachments
from bathysphere.agents.research.dependencies import (
    Dependencies,
    call_records,
    requester_of,
    thread_snapshots,
)
from bathysphere.agents.research.idempotent_reads import Result, once
from bathysphere.core.errors import BathysphereError, NotAllowed
from bathysphere.core.tracing import tool_span
from bathysphere.evidence.snapshots import Snapshot
from bathysphere.policy.permission import Call, Difference, Permission
from bathysphere.policy.plan import FETCH_PAGE, READ_CONTEXT, SEARCH_CORPUS, WEB_SEARCH

TOO_LONG = "timed out after {seconds:g} seconds"


class Refused(NotAllowed):
    """A call that is not in the approved plan."""

    code = "not_in_plan"

    def __init__(self, difference: Difference) -> None:
        super().__init__(difference.message)
        self.difference = difference


@dataclass
class ToolGateway:
    """Makes the calls of one execution of the executor node."""

    deps: Dependencies
    permission: Permission
    runtime: Runtime[Any]
    grant: str
    """The approval that the calls are made under."""
    attachments: Attachments = field(default_factory=Attachments)
    taken: dict[str, dict[str, Any]] = field(default_factory=dict)
    """URL → snapshot metadata, for the whole run."""

    def __post_init__(self) -> None:
        self._slots = asyncio.Semaphore(self.deps.options.at_once)

    def allow(self, call: Call) -> None:
        """Count the call against the plan.

        Raises:
            Refused: The call is not in the plan.
        """
        answer = self.permission.ask(call)
        if isinstance(answer, Difference):
            raise Refused(answer)

    async def make(self, call: Call) -> Result:
        """Make an allowed call, or return its recorded result under this approval.

        A failure is returned as a result with an `error`.
        """
        handlers: dict[str, Callable[[Call], Awaitable[Result]]] = {
            WEB_SEARCH: self._search,
            FETCH_PAGE: self._fetch,
            SEARCH_CORPUS: self._corpus,
            READ_CONTEXT: self._context,
        }
        records = call_records(self.deps, self.runtime, grant=self.grant)
        if (known := await records.get(call)) is not None:
            return known
        with tool_span(call.tool):
            act = handlers[call.tool]
            result = await once(self.runtime, call, lambda: self._bounded(act, call))
        await records.put(call, result)
        return result

    async def _bounded(self, act: Callable[[Call], Awaitable[Result]], call: Call) -> Result:
        seconds = self.deps.options.step_seconds
        try:
            async with self._slots, asyncio.timeout(seconds):
                return await act(call)
        except TimeoutError:
            return {"error": TOO_LONG.format(seconds=seconds)}
        except BathysphereError as error:
            if error.ends_run:
                raise
            return {"error": error.message}

    async def _search(self, call: Call) -> Result:
        hits = await self.deps.sources.search(call.input, 2 * self.deps.options.pages)
        return {"hits": [hit._asdict() for hit in hits]}

    async def _fetch(self, call: Call) -> Result:
        if call.input in self.taken:
            return {"sources": [self.taken[call.input]]}

        def may_visit(url: str) -> str | None:
            refused = self.permission.may_visit(call.step, url)
            return refused.message if refused else None

        requester = requester_of(self.runtime)
        page = await self.deps.sources.fetch(call.input, may_visit, requester)
        return await self._keep([page], call)

    async def _corpus(self, call: Call) -> Result:
        found = await self.deps.sources.corpus(call.input, self.deps.options.documents)
        return await self._keep(found, call)

    async def _context(self, call: Call) -> Result:
        return await self._keep(self.attachments.snapshots(self.deps.clock.now()), call)

    async def _keep(self, snapshots: Iterable[Snapshot], call: Call) -> Result:
        known = []
        for snapshot in snapshots:
            stored = await thread_snapshots(self.deps, self.runtime).put(snapshot, call)
            known.append(stored.info.model_dump())
        return {"sources": known}
