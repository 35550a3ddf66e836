"""The tool layer: the one way out of a run. Nothing passes that the approved plan does not name.

Each call is asked of the permission before it is made. What is not granted is not made: a
`Refused` says what the plan would have to say. The layer also sees to it that one page is opened
once in a run, that calls do not take too long, and that a failure is a result.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from langgraph.runtime import Runtime

from bathysphere.agents.research.once import Result, once
from bathysphere.agents.research.parts import Parts, kept
from bathysphere.core.errors import BathysphereError, NotAllowed
from bathysphere.evidence.snapshots import Snapshot, take_snapshot
from bathysphere.policy.permission import Call, Difference, Permission
from bathysphere.policy.plan import FETCH_PAGE, READ_CONTEXT, SEARCH_CORPUS, WEB_SEARCH

CONTEXT_URL = "client:attached"
TOO_LONG = "it took more than {seconds:g} seconds"


class Refused(NotAllowed):
    """A call that the approved plan does not name."""

    code = "not_in_plan"

    def __init__(self, difference: Difference) -> None:
        super().__init__(difference.message)
        self.difference = difference


@dataclass
class ToolLayer:
    """Makes the calls of one run of the executor."""

    parts: Parts
    permission: Permission
    runtime: Runtime[Any]
    attached: str = ""
    taken: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Address → what is known of its snapshot, for the whole run."""

    def __post_init__(self) -> None:
        self._room = asyncio.Semaphore(self.parts.config.at_once)

    def allow(self, call: Call) -> None:
        """Count the call against the plan.

        Raises:
            Refused: The plan does not name it.
        """
        answer = self.permission.ask(call)
        if isinstance(answer, Difference):
            raise Refused(answer)

    async def make(self, call: Call) -> Result:
        """Make a call that was allowed. A failure is a result with an `error`."""
        makes: dict[str, Callable[[Call], Awaitable[Result]]] = {
            WEB_SEARCH: self._search,
            FETCH_PAGE: self._fetch,
            SEARCH_CORPUS: self._corpus,
            READ_CONTEXT: self._context,
        }
        return await once(self.runtime, call, lambda: self._bounded(makes[call.tool], call))

    async def _bounded(self, act: Callable[[Call], Awaitable[Result]], call: Call) -> Result:
        seconds = self.parts.config.step_seconds
        try:
            async with self._room, asyncio.timeout(seconds):
                return await act(call)
        except TimeoutError:
            return {"error": TOO_LONG.format(seconds=seconds)}
        except BathysphereError as error:
            if error.ends_run:
                raise
            return {"error": error.message}

    async def _search(self, call: Call) -> Result:
        hits = await self.parts.reach.search(call.input, 2 * self.parts.config.pages)
        return {"hits": [hit._asdict() for hit in hits]}

    async def _fetch(self, call: Call) -> Result:
        if call.input in self.taken:
            return {"sources": [self.taken[call.input]]}

        def may_visit(url: str) -> str | None:
            refused = self.permission.may_visit(call.step, url)
            return refused.message if refused else None

        return await self._keep([await self.parts.reach.fetch(call.input, may_visit)])

    async def _corpus(self, call: Call) -> Result:
        found = await self.parts.reach.corpus(call.input, self.parts.config.documents)
        return await self._keep(found)

    async def _context(self, call: Call) -> Result:
        del call
        text = self.attached.strip()
        snapshot = take_snapshot(
            CONTEXT_URL,
            text.encode("utf-8"),
            text,
            fetched_at=self.parts.clock.now(),
            origin="client",
            title="What you attached",
        )
        return await self._keep([snapshot])

    async def _keep(self, snapshots: Iterable[Snapshot]) -> Result:
        known = []
        for snapshot in snapshots:
            await kept(self.runtime).put(snapshot)
            known.append(snapshot.info.model_dump())
        return {"sources": known}
