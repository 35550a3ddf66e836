"""The event log: what happens on a thread, numbered, so that a reader can go on where it left off.

Ids are whole numbers that grow by one within a thread. A log is short and may vanish: PostgreSQL is
the truth. A reader whose next event is gone is told so with a `Gap`, hydrates from the thread's
state and reads on; it never hangs and never misses something in silence. A log that starts anew
starts at the time in milliseconds, so its ids are above all it gave before.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, Protocol, Self
from uuid import UUID

import orjson
from pydantic import BaseModel

from bathysphere.core.clock import Clock

Channel = Literal[
    "lifecycle", "input", "messages", "values", "updates", "tools", "custom", "checkpoints", "tasks"
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """Something that happened in a run. `data` is JSON, or what `encode` can make JSON of."""

    channel: Channel
    run_id: str
    data: Any
    namespace: tuple[str, ...] = ()
    attempt: int = 1
    at: int = 0

    def encode(self) -> bytes:
        """One line of JSON."""
        values = {
            "channel": self.channel,
            "run_id": self.run_id,
            "namespace": self.namespace,
            "attempt": self.attempt,
            "at": self.at,
        }
        try:
            return _dump({**values, "data": self.data})
        except TypeError as error:  # a number too large, a string that is not text
            return _dump({**values, "data": {"unreadable": str(error)}})

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """The line, read back."""
        values = orjson.loads(body)
        return cls(**{**values, "namespace": tuple(values["namespace"])})


@dataclass(frozen=True, slots=True)
class Entry:
    """An event's place in its thread's log; the body is decoded only by who looks inside."""

    id: int
    body: bytes

    @property
    def position(self) -> int:
        """Where a reader is that has seen it."""
        return self.id

    def event(self) -> Event:
        """What happened."""
        return Event.decode(self.body)


@dataclass(frozen=True, slots=True)
class Gap:
    """Events are missing before what comes next; `resumes_at` is the id to count from."""

    resumes_at: int

    @property
    def position(self) -> int:
        """Where a reader is that has seen it."""
        return self.resumes_at


Batch = list[Entry | Gap]


class EventLog(Protocol):
    """A log for each thread, read by any process."""

    async def append(
        self,
        thread_id: UUID,
        bodies: Sequence[bytes],
        *,
        token: int = 0,
        after_loss: bool = False,
    ) -> int:
        """Add events; return the last id given.

        A `token` lower than the highest the thread has seen is a superseded attempt's: its events
        are dropped and the answer is 0. What is no attempt's has token 0. `after_loss` leaves a
        hole in the ids, so that readers learn that events could not be written before these.
        """
        ...

    async def last_id(self, thread_id: UUID) -> int:
        """The id of the newest event, 0 when the log is empty."""
        ...

    async def newest(self, thread_id: UUID, *, count: int) -> list[Entry]:
        """The last events, the newest first."""
        ...

    def batches(self, thread_id: UUID, *, after: int = 0) -> AsyncGenerator[Batch, None]:
        """All that is held after an id, then what comes, without end, as it came."""
        ...

    async def read(self, thread_id: UUID, *, after: int = 0) -> AsyncGenerator[Entry | Gap, None]:
        """The same, one by one."""
        async with aclosing(self.batches(thread_id, after=after)) as batches:
            async for batch in batches:
                for item in batch:
                    yield item

    async def delete(self, thread_id: UUID) -> None:
        """Forget the thread."""
        ...


@dataclass(slots=True)
class _MemoryThread:
    entries: deque[Entry]
    last: int
    token: int = 0
    waiting: set[asyncio.Event] = field(default_factory=set)


class MemoryEventLog(EventLog):
    """The log of one process: for one machine, and for tests."""

    def __init__(self, *, clock: Clock, cap: int = 10_000) -> None:
        self._clock = clock
        self._cap = cap
        self._threads: dict[UUID, _MemoryThread] = {}

    async def append(
        self,
        thread_id: UUID,
        bodies: Sequence[bytes],
        *,
        token: int = 0,
        after_loss: bool = False,
    ) -> int:
        """Add events; return the last id given."""
        thread = self._thread(thread_id)
        if token:
            if token < thread.token:
                return 0
            thread.token = token
        thread.last += int(after_loss)
        for body in bodies:
            thread.last += 1
            thread.entries.append(Entry(thread.last, body))
        self._wake(thread)
        return thread.last

    async def last_id(self, thread_id: UUID) -> int:
        """The id of the newest event, 0 when the log is empty."""
        thread = self._threads.get(thread_id)
        return thread.last if thread is not None and thread.entries else 0

    async def newest(self, thread_id: UUID, *, count: int) -> list[Entry]:
        """The last events, the newest first."""
        thread = self._threads.get(thread_id)
        return list(islice(reversed(thread.entries), count)) if thread is not None else []

    async def batches(self, thread_id: UUID, *, after: int = 0) -> AsyncGenerator[Batch, None]:
        """All that is held after an id, then what comes, without end, as it came."""
        woken = asyncio.Event()
        position = after
        try:
            while True:
                thread = self._thread(thread_id)
                thread.waiting.add(woken)
                woken.clear()
                if batch := _continue(list(thread.entries), position, last=thread.last):
                    position = batch[-1].position
                    yield batch
                if not woken.is_set():
                    await woken.wait()
        finally:
            if (known := self._threads.get(thread_id)) is not None:
                known.waiting.discard(woken)

    async def delete(self, thread_id: UUID) -> None:
        """Forget the thread."""
        if (thread := self._threads.pop(thread_id, None)) is not None:
            self._wake(thread)

    def _thread(self, thread_id: UUID) -> _MemoryThread:
        if (thread := self._threads.get(thread_id)) is None:
            start = int(self._clock.now().timestamp() * 1000)
            thread = _MemoryThread(deque(maxlen=self._cap), start)
            self._threads[thread_id] = thread
        return thread

    @staticmethod
    def _wake(thread: _MemoryThread) -> None:
        for woken in thread.waiting:
            woken.set()


def _continue(entries: Sequence[Entry], position: int, *, last: int) -> Batch:
    return continue_from([e for e in entries if e.id > position], position, last=last)


def continue_from(entries: Sequence[Entry], position: int, *, last: int) -> Batch:
    """What a reader at `position` gets: the entries after it, and a gap wherever ids jump.

    `last` is the newest id the log has given, 0 when the log does not exist.
    """
    items: Batch = []
    for entry in entries:
        if position and entry.id != position + 1:
            items.append(Gap(entry.id - 1))
        items.append(entry)
        position = entry.id
    if not entries and position and last != position:
        items.append(Gap(last))
    return items


def _dump(value: Any) -> bytes:
    return orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS)


def _plain(value: Any) -> Any:
    """JSON for what graphs put into their state: messages, models, interrupts, sets."""
    if isinstance(value, BaseModel):
        return value.model_dump()
    if isinstance(value, set | frozenset | deque):
        return list(value)
    if hasattr(value, "response_schema"):
        return {"id": value.id, "value": value.value, "response_schema": value.response_schema}
    return repr(value)
