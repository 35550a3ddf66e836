"""The event log in the memory of one process, for a single machine and for tests."""

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncGenerator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, takewhile
from typing import NamedTuple
from uuid import UUID

from bathysphere.core.clock import Clock
from bathysphere.core.identity import Owner
from bathysphere.engine.events.log import (
    DEFAULT_LIMITS,
    NO_PARTS,
    Batch,
    Entry,
    EventLog,
    LogLimits,
    continue_from,
    own_items,
)
from bathysphere.engine.events.shared_parts import divide, used_parts


class _Kept(NamedTuple):
    entry: Entry
    size: int
    """Its bytes as they are read."""


@dataclass(slots=True)
class _Thread:
    last: int
    written_at: float
    kept: deque[_Kept] = field(default_factory=deque)
    size: int = 0
    """The bytes of its events as they are read."""
    stored: int = 0
    """The bytes that they take up."""
    token: int = 0
    parts: dict[bytes, bytes] = field(default_factory=dict)
    uses: Counter[bytes] = field(default_factory=Counter)
    """How many events use each part."""

    def add(self, body: bytes, owner: str) -> None:
        """Add an event."""
        text, parts = divide(body)
        self.uses.update(parts.keys())
        new = {digest: part for digest, part in parts.items() if digest not in self.parts}
        self.parts.update(new)
        self.last += 1
        # A copy: the encoder's own bytes hold a buffer of several times their length.
        text = bytes(memoryview(text))
        entry = Entry(self.last, text, owner, self.parts if parts else NO_PARTS)
        self.kept.append(_Kept(entry, len(body)))
        self.size += len(body)
        self.stored += len(text) + sum(map(len, new.values()))

    def drop_oldest(self) -> None:
        """Drop the oldest event, and the parts that no other has."""
        entry, size = self.kept.popleft()
        self.size -= size
        self.stored -= len(entry.text)
        if not entry.parts:
            return
        for digest in used_parts(entry.text, self.parts):
            self.uses[digest] -= 1
            if not self.uses[digest]:
                del self.uses[digest]
                self.stored -= len(self.parts.pop(digest))

    def after(self, position: int) -> list[Entry]:
        """The events after an id."""
        newer = takewhile(lambda kept: kept.entry.id > position, reversed(self.kept))
        return self.readable(newer)[::-1]

    def readable(self, kept: Iterable[_Kept]) -> list[Entry]:
        """The events, with what they need: their parts may be dropped before they are read."""
        return [
            replace(entry, parts=used_parts(entry.text, self.parts)) if entry.parts else entry
            for entry, _ in kept
        ]


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
        self._stored = 0
        self._threads: OrderedDict[UUID, _Thread] = OrderedDict()  # last written last
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
        before = thread.stored
        for body in bodies:
            thread.add(body, owner.digest)
        while len(thread.kept) > self._cap or thread.size > self._limits.thread_bytes:
            thread.drop_oldest()
        self._stored += thread.stored - before
        self._forget_oldest()
        self._wake(thread_id)
        return thread.last

    async def last_id(self, thread_id: UUID) -> int:
        """Return the id of the newest event, 0 if the log is empty."""
        thread = self._get(thread_id)
        return thread.last if thread is not None and thread.kept else 0

    async def newest(
        self, thread_id: UUID, *, owner: Owner, count: int, up_to: int | None = None
    ) -> list[Entry]:
        """Return the owner's events among the last `count` up to an id, newest first."""
        thread = self._get(thread_id)
        if thread is None:
            return []
        newest = reversed(thread.kept)
        last = islice((k for k in newest if up_to is None or k.entry.id <= up_to), count)
        return [entry for entry in thread.readable(last) if entry.owner == owner.digest]

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
                entries, last = (thread.after(position), thread.last) if thread else ([], 0)
                if batch := continue_from(entries, position, last=last):
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

    def _get(self, thread_id: UUID) -> _Thread | None:
        self._expire()
        return self._threads.get(thread_id)

    def _get_or_create(self, thread_id: UUID) -> _Thread:
        thread = self._get(thread_id)
        now = self._clock.monotonic()
        if thread is None:
            start = int(self._clock.now().timestamp() * 1000)
            thread = self._threads[thread_id] = _Thread(start, now)
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

    def _forget_oldest(self) -> None:
        while self._stored > self._limits.memory_bytes and len(self._threads) > 1:
            self._forget(next(iter(self._threads)))

    def _forget(self, thread_id: UUID) -> None:
        if (thread := self._threads.pop(thread_id, None)) is not None:
            self._stored -= thread.stored

    def _wake(self, thread_id: UUID) -> None:
        for woken in self._waiting.get(thread_id, ()):
            woken.set()
