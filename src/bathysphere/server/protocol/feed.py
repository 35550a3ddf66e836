"""A subscription: the thread's log as wire events, with the state put in where the log has holes.

A reader may come before the thread exists, in the middle of a message, or after the log was lost.
Whatever it missed, it ends up with the thread's values, its open questions and its status.
"""

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any
from uuid import UUID

from bathysphere.engine.errors import ThreadNotFound
from bathysphere.engine.events import Batch, Entry, Gap
from bathysphere.engine.records import Owner, Run
from bathysphere.server.access import thread_exists
from bathysphere.server.jsonable import dumps
from bathysphere.server.protocol.filter import Filter
from bathysphere.server.protocol.wire import WIDTH, WireEvent, WireMapper, first_seq
from bathysphere.server.services import Services
from bathysphere.server.sse import frame

OMITTED = "omitted_bytes"
_STATUS = {
    "pending": "running",
    "running": "running",
    "success": "completed",
    "interrupted": "interrupted",
    "cancelled": "interrupted",
}


class Feed:
    """One connection's view of one thread."""

    def __init__(
        self, services: Services, thread_id: UUID, *, owner: Owner, wishes: Filter, since: int = 0
    ) -> None:
        self._services = services
        self._thread_id = thread_id
        self._owner = owner
        self._wishes = wishes
        self._since = since
        self._mapper = WireMapper(wishes.engine_channels())
        self._omitted: WireEvent | None = None

    async def frames(self) -> AsyncGenerator[bytes, None]:
        """The events as server-sent events, without end."""
        async with aclosing(self.events()) as found:
            async for events in found:
                wanted = [encode(event) for event in events if self._wishes.lets(event)]
                if wanted:
                    yield b"".join(wanted)

    async def events(self) -> AsyncGenerator[list[WireEvent], None]:
        """The wire events after `since`, those that came together in one list."""
        is_known = await self._is_mine()
        position = self._since // WIDTH
        last = await self._services.events.last_id(self._thread_id)
        if last < position or (is_known and not last and await self._is_lost()):
            yield await self._snapshot(position)
            position = 0
        # From the start, because a message that is being written began somewhere before.
        async with aclosing(self._services.events.batches(self._thread_id)) as batches:
            async for batch in batches:
                if not is_known or any(isinstance(item, Gap) for item in batch):
                    is_known = await self._is_mine()
                if events := await self._told(batch, position):
                    yield events
                position = 0

    async def _told(self, batch: Batch, position: int) -> list[WireEvent]:
        """What a batch means to a client that has seen the log up to `position`, 0: all of it."""
        told: list[WireEvent] = []
        for item in batch:
            if isinstance(item, Gap):
                self._mapper.forget()
                told += await self._snapshot(item.resumes_at)
            else:
                if position and item.id > position + 1:
                    told += await self._snapshot(item.id - 1)
                told += await self._completed(list(self._fresh(item)))
            position = 0
        return told

    def _fresh(self, entry: Entry) -> Iterator[WireEvent]:
        for event in self._mapper.map(entry):
            if event.channel == "values" and isinstance(event.data, dict) and OMITTED in event.data:
                self._omitted = event
            elif event.seq > self._since:
                yield event

    async def _completed(self, events: list[WireEvent]) -> list[WireEvent]:
        """States too large for the log are sent once, when the run is over."""
        if self._omitted is None or not any(event.is_end for event in events):
            return events
        omitted, self._omitted = self._omitted, None
        state = await self._services.states.read(self._thread_id, owner=self._owner)
        values = self._event(omitted.seq, 0, "values", state["values"])
        return [values, *events]

    async def _is_mine(self) -> bool:
        return await thread_exists(self._services.pool, self._thread_id, owner=self._owner)

    async def _is_lost(self) -> bool:
        """Whether a run is over and the log has nothing of it.

        Without `since` it may be a client that lost its connection, and then the log. The log is
        looked at last: a run that began and ended meanwhile is in it.
        """
        runs = await self._services.runs.of_thread(self._thread_id, owner=self._owner, limit=1)
        if not runs or not runs[0].is_over:
            return False
        return not await self._services.events.last_id(self._thread_id)

    async def _snapshot(self, resumes_at: int) -> list[WireEvent]:
        """Where the thread stands, in place of events that are gone."""
        try:
            state = await self._services.states.read(self._thread_id, owner=self._owner)
        except ThreadNotFound:
            return []
        runs = await self._services.runs.of_thread(self._thread_id, owner=self._owner, limit=1)
        seq = first_seq(resumes_at)
        events = [self._event(seq, 0, "values", state["values"])]
        for question in state["interrupts"]:
            data = {"interrupt_id": question["id"], "payload": question["value"]}
            if schema := question.get("response_schema"):
                data["response_schema"] = schema
            events.append(self._event(seq, len(events), "input", data))
        if runs:
            events.append(self._event(seq, WIDTH - 1, "lifecycle", _standing(runs[0])))
        return [replace(event, is_made_up=True) for event in events]

    def _event(self, seq: int, number: int, channel: str, data: Any) -> WireEvent:
        return WireEvent(
            seq=seq + number,
            channel=channel,
            method="input.requested" if channel == "input" else channel,
            namespace=(),
            at=int(self._services.clock.now().timestamp() * 1000),
            data=data,
        )


def encode(event: WireEvent) -> bytes:
    """The event as a frame."""
    body = dumps(
        {
            "type": "event",
            "seq": event.seq,
            "event_id": event.event_id,
            "method": event.method,
            "params": event.params(),
        }
    )
    return frame(body, id=event.seq)


def _standing(run: Run) -> dict[str, Any]:
    event = _STATUS.get(run.status, "failed")
    data: dict[str, Any] = {"event": event, "run_id": str(run.run_id), "graph_name": run.graph}
    if event == "failed":
        data["error"] = (run.error or {}).get("message", "the run failed")
    return data
