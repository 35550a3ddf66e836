"""The event log: numbered events of a thread, so that a reader can resume where it left off.

Ids are integers that increase by one within a thread. A log is short and may vanish: PostgreSQL is
the source of truth. A reader whose next event is gone gets a `Gap`, reloads the thread's state and
reads on; it never hangs and never misses an event silently. A new log starts at the time in
milliseconds, so its ids are higher than any assigned before.

Every event carries the digest of its owner, and a reader names its owner: events of other owners
are dropped here. If a thread is deleted and its id is reused by someone else, a stream that stayed
open shows nothing of it.
"""

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Literal, Protocol, Self
from uuid import UUID

import orjson

from bathysphere.core.clock import Clock
from bathysphere.core.identity import Owner
from bathysphere.core.json_text import dumps

Channel = Literal[
    "lifecycle", "input", "messages", "values", "updates", "tools", "custom", "checkpoints", "tasks"
]


@dataclass(frozen=True, kw_only=True, slots=True)
class LogLimits:
    """How much of a log is kept. A reader further behind gets the thread's state instead."""

    keep_seconds: int = 3600
    """How long the events of an idle thread are kept."""
    thread_bytes: int = 8_000_000
    memory_bytes: int = 24_000_000
    """Of all threads together, where the log is in memory."""


DEFAULT_LIMITS = LogLimits()


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """An event of a run. `data` is JSON, or something that `encode` can convert to JSON."""

    channel: Channel
    run_id: str
    data: Any
    namespace: tuple[str, ...] = ()
    attempt: int = 1
    at: int = 0

    def encode(self) -> bytes:
        """Encode the event as one line of JSON."""
        values = {
            "channel": self.channel,
            "run_id": self.run_id,
            "namespace": self.namespace,
            "attempt": self.attempt,
            "at": self.at,
        }
        try:
            return dumps({**values, "data": self.data})
        except (TypeError, ValueError, RecursionError) as error:  # such as a value inside itself
            return dumps({**values, "data": {"unreadable": str(error)}})

    @classmethod
    def decode(cls, body: bytes) -> Self:
        """Decode an event from its line of JSON; fields of a newer version are ignored."""
        values = orjson.loads(body)
        known = {name: values[name] for name in cls.__dataclass_fields__ if name in values}
        return cls(**{**known, "namespace": tuple(values["namespace"])})


@dataclass(frozen=True, slots=True)
class Entry:
    """An event with its id in its thread's log; the body is decoded on demand."""

    id: int
    body: bytes
    owner: str = ""
    """The digest of the event's owner, which is never empty."""

    @property
    def position(self) -> int:
        """The position of a reader that has seen it."""
        return self.id

    def event(self) -> Event:
        """Decode the event."""
        return Event.decode(self.body)


@dataclass(frozen=True, slots=True)
class Gap:
    """Missing events; `resumes_at` is the id to count from."""

    resumes_at: int

    @property
    def position(self) -> int:
        """The position of a reader that has seen it."""
        return self.resumes_at


Batch = list[Entry | Gap]


class EventLog(Protocol):
    """One log per thread, readable by any process."""

    async def append(
        self,
        thread_id: UUID,
        bodies: Sequence[bytes],
        *,
        owner: Owner,
        token: int = 0,
        after_loss: bool = False,
    ) -> int:
        """Append an owner's events; return the last id assigned.

        A `token` lower than the highest seen on the thread belongs to a superseded attempt: its
        events are dropped and 0 is returned. Events outside of an attempt have token 0.
        `after_loss` skips an id, so that readers learn that earlier events could not be written.
        """
        ...

    async def last_id(self, thread_id: UUID) -> int:
        """Return the id of the newest event, 0 if the log is empty."""
        ...

    async def newest(
        self, thread_id: UUID, *, owner: Owner, count: int, up_to: int | None = None
    ) -> list[Entry]:
        """Return the owner's events among the last `count` up to an id, newest first."""
        ...

    def batches(
        self, thread_id: UUID, *, owner: Owner, after: int = 0
    ) -> AsyncGenerator[Batch, None]:
        """Yield the owner's events after an id, then new ones as they arrive, without end."""
        ...

    async def read(
        self, thread_id: UUID, *, owner: Owner, after: int = 0
    ) -> AsyncGenerator[Entry | Gap, None]:
        """Yield the same items one by one."""
        async with aclosing(self.batches(thread_id, owner=owner, after=after)) as batches:
            async for batch in batches:
                for item in batch:
                    yield item

    async def delete(self, *thread_ids: UUID) -> None:
        """Delete the logs of threads."""
        ...


def own_items(batch: Batch, digest: str) -> Batch:
    """Keep the items of a batch that the owner with this digest may see: own events, and gaps."""
    return [item for item in batch if isinstance(item, Gap) or item.owner == digest]


@dataclass(slots=True)
class _MemoryThread:
    last: int
    written_at: float
    entries: deque[Entry] = field(default_factory=deque)
    size: int = 0
    token: int = 0

    def drop_oldest(self) -> int:
        """Drop the oldest event; return its size in bytes."""
        size = len(self.entries.popleft().body)
        self.size -= size
        return size


class MemoryEventLog(EventLog):
    """An event log in the memory of one process, for a single machine and for tests.

    A thread's events expire some time after the last one, and are capped at `cap` events and some
    bytes; all threads together are capped, too, oldest first.
    """

    def __init__(
        self, *, clock: Clock, cap: int = 10_000, limits: LogLimits = DEFAULT_LIMITS
    ) -> None:
        self._clock = clock
        self._cap = cap
        self._limits = limits
        self._size = 0
        self._threads: OrderedDict[UUID, _MemoryThread] = OrderedDict()  # last written last
        self._waiting: dict[UUID, set[asyncio.Event]] = {}

    async def append(
        self,
        thread_id: UUID,
        bodies: Sequence[bytes],
        *,
        owner: Owner,
        token: int = 0,
        after_loss: bool = False,
    ) -> int:
        """Append an owner's events; return the last id assigned."""
        thread = self._get_or_create(thread_id)
        if token:
            if token < thread.token:
                return 0
            thread.token = token
        thread.last += int(after_loss)
        digest = owner.digest
        for body in bodies:
            thread.last += 1
            # A copy: the encoder's own bytes hold a buffer of several times their length.
            thread.entries.append(Entry(thread.last, bytes(memoryview(body)), digest))
            thread.size += len(body)
            self._size += len(body)
        self._trim(thread)
        self._wake(thread_id)
        return thread.last

    async def last_id(self, thread_id: UUID) -> int:
        """Return the id of the newest event, 0 if the log is empty."""
        thread = self._get(thread_id)
        return thread.last if thread is not None and thread.entries else 0

    async def newest(
        self, thread_id: UUID, *, owner: Owner, count: int, up_to: int | None = None
    ) -> list[Entry]:
        """Return the owner's events among the last `count` up to an id, newest first."""
        thread = self._get(thread_id)
        entries = reversed(thread.entries) if thread is not None else ()
        last = islice((e for e in entries if up_to is None or e.id <= up_to), count)
        return [entry for entry in last if entry.owner == owner.digest]

    async def batches(
        self, thread_id: UUID, *, owner: Owner, after: int = 0
    ) -> AsyncGenerator[Batch, None]:
        """Yield the owner's events after an id, then new ones as they arrive, without end."""
        woken = asyncio.Event()
        position = after
        self._waiting.setdefault(thread_id, set()).add(woken)
        try:
            while True:
                woken.clear()
                thread = self._get(thread_id)
                entries, last = (list(thread.entries), thread.last) if thread else ([], 0)
                if batch := _continue(entries, position, last=last):
                    position = batch[-1].position
                    if own := own_items(batch, owner.digest):
                        yield own
                if not woken.is_set():
                    await woken.wait()
        finally:
            readers = self._waiting[thread_id]
            readers.discard(woken)
            if not readers:
                del self._waiting[thread_id]

    async def delete(self, *thread_ids: UUID) -> None:
        """Delete the logs of threads."""
        for thread_id in thread_ids:
            self._forget(thread_id)
            self._wake(thread_id)

    def _get(self, thread_id: UUID) -> _MemoryThread | None:
        self._expire()
        return self._threads.get(thread_id)

    def _get_or_create(self, thread_id: UUID) -> _MemoryThread:
        thread = self._get(thread_id)
        now = self._clock.monotonic()
        if thread is None:
            start = int(self._clock.now().timestamp() * 1000)
            thread = self._threads[thread_id] = _MemoryThread(start, now)
        thread.written_at = now
        self._threads.move_to_end(thread_id)
        return thread

    def _expire(self) -> None:
        oldest_allowed = self._clock.monotonic() - self._limits.keep_seconds
        while self._threads:
            thread_id, thread = next(iter(self._threads.items()))
            if thread.written_at >= oldest_allowed:
                return
            self._forget(thread_id)

    def _trim(self, thread: _MemoryThread) -> None:
        while len(thread.entries) > self._cap or thread.size > self._limits.thread_bytes:
            self._size -= thread.drop_oldest()
        while self._size > self._limits.memory_bytes and len(self._threads) > 1:
            self._forget(next(iter(self._threads)))

    def _forget(self, thread_id: UUID) -> None:
        if (thread := self._threads.pop(thread_id, None)) is not None:
            self._size -= thread.size

    def _wake(self, thread_id: UUID) -> None:
        for woken in self._waiting.get(thread_id, ()):
            woken.set()


def _continue(entries: Sequence[Entry], position: int, *, last: int) -> Batch:
    return continue_from([e for e in entries if e.id > position], position, last=last)


def continue_from(entries: Sequence[Entry], position: int, *, last: int) -> Batch:
    """Build the batch for a reader at `position`: the entries, with a gap wherever ids jump.

    `last` is the newest id that the log assigned, 0 if the log does not exist.
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
