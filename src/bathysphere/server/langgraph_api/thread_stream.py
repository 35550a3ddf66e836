"""The stream of a thread: what the streams of its runs send, one run after the other.

It has no end. Each run begins with `metadata` that has the run's id and ends with `metadata` whose
status is `run_done`. Between them come the parts that the run's own stream has.
"""

from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from itertools import groupby
from typing import Any
from uuid import UUID

from bathysphere.core.identity import Owner
from bathysphere.core.json_text import dumps
from bathysphere.engine.events.log import Event, Gap
from bathysphere.engine.records import Run
from bathysphere.server.langgraph_api.legacy_stream import LegacyStream
from bathysphere.server.langgraph_api.run_events import is_end, with_values
from bathysphere.server.process.services import Services
from bathysphere.server.sse import frame

Part = tuple[str, Any]
FROM_START = "-"
"""A `Last-Event-ID` that asks for everything the log still has."""


class ThreadStream:
    """The stream of one thread for one connection."""

    def __init__(
        self, services: Services, thread_id: UUID, *, owner: Owner, modes: frozenset[str]
    ) -> None:
        self._services = services
        self._thread_id = thread_id
        self._owner = owner
        self._modes = modes
        self._run: Run | None = None
        self._parts = LegacyStream(frozenset({"values"}), subgraphs=False)

    async def frames(self, *, after: int) -> AsyncGenerator[bytes, None]:
        """Yield the parts after an entry of the log as server-sent events, without end."""
        reading = self._services.events.batches(self._thread_id, owner=self._owner, after=after)
        async with aclosing(reading) as batches:
            async for batch in batches:
                events = [(item.id, item.event()) for item in batch if not isinstance(item, Gap)]
                frames = []
                for run_id, group in groupby(events, key=lambda found: found[1].run_id):
                    frames += await self._run_frames(run_id, list(group))
                if frames:
                    yield b"".join(frames)

    async def _run_frames(self, run_id: str, events: list[tuple[int, Event]]) -> list[bytes]:
        if self._run is None or str(self._run.run_id) != run_id:
            self._run = await self._services.runs.get(UUID(run_id), owner=self._owner)
            work = self._run.work
            modes = frozenset(work.stream_modes or ("values",))
            self._parts = LegacyStream(modes, subgraphs=work.stream_subgraphs)
        events = await with_values(self._services, self._run, events, owner=self._owner)
        frames = []
        for number, event in events:
            parts = [*await self._state_at(event), *self._map(event)]
            frames += [frame(dumps(data), event=name, id=number) for name, data in parts]
        return frames

    def _map(self, event: Event) -> Iterator[Part]:
        is_lifecycle = event.channel == "lifecycle" and not event.namespace
        has_marks = bool(self._modes & {"lifecycle", "run_modes"})
        if has_marks and is_lifecycle and event.data["event"] == "started":
            yield "metadata", {"run_id": event.run_id, "attempt": 1}
        parts = list(self._parts.map(event))
        if "run_modes" in self._modes:
            yield from parts
        if has_marks and is_end(event):
            yield "metadata", {"status": "run_done", "run_id": event.run_id}

    async def _state_at(self, event: Event) -> list[Part]:
        if "state_update" not in self._modes or not is_end(event):
            return []
        state = await self._services.states.read(self._thread_id, owner=self._owner)
        return [("state_update", {"values": state["values"], "checkpoint": state["checkpoint"]})]
