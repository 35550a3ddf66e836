"""Stream a thread's log as protocol events, with snapshots of the state in place of gaps.

A client may connect before the thread exists, in the middle of a message, or after the log was
lost. Whatever it missed, it ends up with the thread's values, open questions and status.
"""

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from dataclasses import replace
from typing import Any
from uuid import UUID

from bathysphere.core.identity import Owner
from bathysphere.core.json_text import dumps
from bathysphere.engine.errors import ThreadNotFound
from bathysphere.engine.events.log import Batch, Entry, Gap
from bathysphere.engine.events.publisher import OMITTED
from bathysphere.engine.records import Run
from bathysphere.server.langgraph_api.thread_access import thread_exists
from bathysphere.server.process.services import Services
from bathysphere.server.protocol.filter import Filter
from bathysphere.server.protocol.position import Position
from bathysphere.server.protocol.wire import WireEvent, WireMapper, starts_run
from bathysphere.server.sse import frame

_REPLAY_PAGES = (32, 2048)
"""How many entries are read at first, and at most, to find where a replay begins."""
_REPLAYED_RUNS = 2
_STATUS = {
    "pending": "running",
    "running": "running",
    "success": "completed",
    "interrupted": "interrupted",
    "cancelled": "interrupted",
}


class Feed:
    """The event stream of one thread for one connection."""

    def __init__(
        self,
        services: Services,
        thread_id: UUID,
        *,
        owner: Owner,
        event_filter: Filter,
        since: int = 0,
    ) -> None:
        self._services = services
        self._thread_id = thread_id
        self._owner = owner
        self._filter = event_filter
        self._since = Position.from_seq(since)
        self._mapper = WireMapper(event_filter.engine_channels())
        self._omitted: WireEvent | None = None
        self._has_ended = False
        self._tail = 0

    async def frames(self) -> AsyncGenerator[bytes, None]:
        """Yield the events as server-sent events, without end."""
        async with aclosing(self.events()) as found:
            async for events in found:
                wanted = [encode(event) for event in events if self._filter.matches(event)]
                if wanted:
                    yield b"".join(wanted)

    async def events(self) -> AsyncGenerator[list[WireEvent], None]:
        """Yield the wire events after `since`, in batches."""
        is_known = await self._thread_exists()
        position = self._since.entry
        self._tail = last = await self._services.events.last_id(self._thread_id)
        if last < position or (is_known and not last and await self._is_log_lost()):
            yield await self._snapshot(position)
            position = 0
        start = await self._replay_start(position)
        reading = self._services.events.batches(self._thread_id, owner=self._owner, after=start)
        async with aclosing(reading) as batches:
            async for batch in batches:
                if not is_known or any(isinstance(item, Gap) for item in batch):
                    is_known = await self._thread_exists()
                if events := await self._map_batch(batch, position):
                    yield events
                position = 0

    async def _replay_start(self, position: int) -> int:
        """Return the entry after which a client at `position` is served.

        A message in progress began in the same run, and a run that loses its worker before its
        first values needs those of the run before: so it is the start of that one.
        """
        log, up_to, runs = self._services.events, position, 0
        count, most = _REPLAY_PAGES
        while position:
            entries = await log.newest(self._thread_id, owner=self._owner, count=count, up_to=up_to)
            for entry in entries:
                runs += starts_run(entry)
                if runs == _REPLAYED_RUNS:
                    return entry.id - 1
            if len(entries) < count:
                return 0
            up_to, count = entries[-1].id - 1, min(2 * count, most)
        return 0

    async def _map_batch(self, batch: Batch, position: int) -> list[WireEvent]:
        """Map a batch for a client that has seen the log up to `position`; 0: no gap possible."""
        mapped: list[WireEvent] = []
        for item in batch:
            if isinstance(item, Gap):
                self._mapper.reset()
                mapped += await self._snapshot(item.resumes_at)
            else:
                if position and item.id > position + 1:
                    mapped += await self._snapshot(item.id - 1)
                mapped += await self._with_omitted_values(item.id, list(self._map_entry(item)))
            position = 0
        return mapped

    def _map_entry(self, entry: Entry) -> Iterator[WireEvent]:
        for event in self._mapper.map(entry):
            if event.channel == "values" and isinstance(event.data, dict) and OMITTED in event.data:
                if not event.namespace:
                    self._omitted = event
            elif event.position > self._since:
                yield event

    async def _with_omitted_values(self, entry_id: int, events: list[WireEvent]) -> list[WireEvent]:
        """Insert a state that was too large for the log, once, when a run is over.

        Not during a replay: only the last run's state is still current.
        """
        if self._omitted is None:
            return events
        self._has_ended = self._has_ended or any(event.is_end for event in events)
        if not self._has_ended or entry_id < self._tail:
            return events
        omitted, self._omitted, self._has_ended = self._omitted, None, False
        state = await self._services.states.read(self._thread_id, owner=self._owner)
        values = self._event(omitted.position, "values", state["values"])
        return [values, *events]

    async def _thread_exists(self) -> bool:
        return await thread_exists(self._services.pool, self._thread_id, owner=self._owner)

    async def _is_log_lost(self) -> bool:
        """Whether a run is over and the log has no events of it.

        Without `since` it may be a client that lost its connection, and then the log was lost. The
        log is read last: a run that started and ended meanwhile is in it.
        """
        runs = await self._services.runs.list_of_thread(self._thread_id, owner=self._owner, limit=1)
        if not runs or not runs[0].is_over:
            return False
        return not await self._services.events.last_id(self._thread_id)

    async def _snapshot(self, resumes_at: int) -> list[WireEvent]:
        """The thread's current state as events, in place of lost ones."""
        try:
            state = await self._services.states.read(self._thread_id, owner=self._owner)
        except ThreadNotFound:
            return []
        runs = await self._services.runs.list_of_thread(self._thread_id, owner=self._owner, limit=1)
        events = [self._event(Position(resumes_at), "values", state["values"])]
        for question in state["interrupts"]:
            data = {"interrupt_id": question["id"], "payload": question["value"]}
            if schema := question.get("response_schema"):
                data["response_schema"] = schema
            events.append(self._event(Position.of_part(resumes_at, len(events)), "input", data))
        if runs:
            end = Position.end_of(resumes_at)
            events.append(self._event(end, "lifecycle", _run_status(runs[0])))
        return [replace(event, is_synthetic=True) for event in events]

    def _event(self, position: Position, channel: str, data: Any) -> WireEvent:
        return WireEvent(
            position=position,
            channel=channel,
            method="input.requested" if channel == "input" else channel,
            namespace=(),
            at=int(self._services.clock.now().timestamp() * 1000),
            data=data,
        )


def encode(event: WireEvent) -> bytes:
    """Encode an event as a server-sent event."""
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


def _run_status(run: Run) -> dict[str, Any]:
    event = _STATUS.get(run.status, "failed")
    data: dict[str, Any] = {"event": event, "run_id": str(run.run_id), "graph_name": run.graph}
    if event == "failed":
        data["error"] = (run.error or {}).get("message", "The run failed")
    return data
