"""The event log on Redis Streams, shared by all processes.

Appending is one script that numbers, stores, caps and publishes the events, so a batch costs one
round trip. A process has one subscription connection for all its readers; a reader subscribes
before it reads the stream, so no event is missed in between. Redis may be flushed or restarted:
this is detected with a marker key, and readers get a gap.

Redis may also hang or be gone. Nothing waits for it longer than a second: writers get an error and
drop their events, an unavailable log reads as an empty one, and readers wait for its return, which
is a gap for all of them.
"""

import asyncio
import contextlib
import logging
import secrets
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from redis.asyncio import Redis
from redis.exceptions import RedisError

from bathysphere.core.circuit_breaker import CircuitBreaker
from bathysphere.core.clock import Clock
from bathysphere.core.errors import UpstreamError
from bathysphere.core.identity import Owner
from bathysphere.engine.events.log import (
    DEFAULT_LIMITS,
    Batch,
    Entry,
    EventLog,
    Gap,
    LogLimits,
    continue_from,
    own_items,
)
from bathysphere.engine.events.redis_format import Keys, batch_of
from bathysphere.engine.events.redis_store import RedisStore
from bathysphere.engine.events.redis_subscription import LOST, RedisSubscription

_log = logging.getLogger(__name__)
_MARKER = "bathysphere:log-marker"
_UNAVAILABLE = (RedisError, OSError)
_MOST_BATCHES, _MOST_BYTES = 256, 1_000_000  # that wait for one reader
_CONNECT_SECONDS = 1.0
_MAX_READS = 32  # redis-py refuses the 101st connection, and all readers may read at once
_NO_THREAD = UUID(int=0)  # always subscribed to: redis-py does not listen without a channel


@dataclass(eq=False, slots=True)
class _Reader:
    """Batches published since the last read; None means: read the stream."""

    batches: deque[list[Entry] | None] = field(default_factory=deque)
    size: int = 0
    """The bytes of these batches."""
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    has_gap: bool = False
    found_empty: bool = False
    """Whether the stream was empty when this reader read it last: the next batch is its first."""

    def push(self, batch: list[Entry] | None) -> None:
        """Keep a batch; a reader that is slow reads the stream instead of all that it missed."""
        if len(self.batches) >= _MOST_BATCHES or self.size > _MOST_BYTES:
            self.batches.clear()
            self.size = 0
            batch = None
        self.batches.append(batch)
        self.size += _size(batch)
        self.woken.set()

    def pop(self) -> list[Entry] | None:
        """Take the oldest batch."""
        batch = self.batches.popleft()
        self.size -= _size(batch)
        return batch


def _size(batch: list[Entry] | None) -> int:
    return sum(len(entry.text) for entry in batch or ())


class RedisEventLog(EventLog):
    """One stream per thread. Use as an async context manager."""

    def __init__(
        self,
        redis: Redis,
        *,
        clock: Clock,
        cap: int = 10_000,
        limits: LogLimits = DEFAULT_LIMITS,
        check_seconds: float = 1.0,
        epoch: str = "",
    ) -> None:
        self._redis = redis
        self._keys = Keys(epoch)
        self._check_seconds = check_seconds
        self._readers: dict[UUID, set[_Reader]] = {}
        self._breaker = CircuitBreaker(
            "Redis", errors=_UNAVAILABLE, clock=clock, on_recovery=self._on_recovery
        )
        self._store = RedisStore(
            redis, keys=self._keys, breaker=self._breaker, clock=clock, cap=cap, limits=limits
        )
        self._undeleted: set[UUID] = set()
        self._subscription = RedisSubscription(redis, channels=self._channels)
        self._is_listening = False
        self._subscribing = asyncio.Lock()
        self._reading = asyncio.Semaphore(_MAX_READS)
        self._marker = b""
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> "RedisEventLog":
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        for task in list(self._tasks):
            with contextlib.suppress(asyncio.CancelledError, RedisError):
                await task
        await self._subscription.close()

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
        return await self._store.append(
            thread_id, bodies, owner=owner, token=token, skipped=int(after_loss)
        )

    async def last_id(self, thread_id: UUID) -> int:
        """Return the id of the newest event, 0 if the log is empty or unavailable."""
        with contextlib.suppress(UpstreamError):
            return await self._store.last_id(thread_id)
        return 0

    async def newest(
        self, thread_id: UUID, *, owner: Owner, count: int, up_to: int | None = None
    ) -> list[Entry]:
        """Return the owner's events among the last `count` up to an id, newest first."""
        try:
            last = await self._store.newest(thread_id, count=count, up_to=up_to)
        except UpstreamError:
            return []
        return [entry for entry in last if entry.owner == owner.digest]

    async def batches(
        self, thread_id: UUID, *, owner: Owner, after: int = 0
    ) -> AsyncGenerator[Batch, None]:
        """Yield the owner's events after an id, then new ones as they arrive, without end."""
        reader = _Reader()
        position = after
        await self._subscribe_when_available(thread_id, reader)
        try:
            while not _is_cancelled():
                await reader.woken.wait()
                if reader.has_gap:
                    # Also for a reader that has read nothing yet: there may have been events.
                    reader.has_gap = False
                    position = await self.last_id(thread_id)
                    yield [Gap(position)]
                while reader.batches:
                    published = reader.pop()
                    if batch := await self._try_items(thread_id, published, position, reader):
                        position = batch[-1].position
                        if own := own_items(batch, owner.digest):
                            yield own
                reader.woken.clear()
            raise asyncio.CancelledError
        finally:
            await self._unsubscribe(thread_id, reader)

    async def delete(self, *thread_ids: UUID) -> None:
        """Delete the logs of threads, at once or when Redis is available again."""
        if not thread_ids:
            return
        try:
            await self._store.delete(*thread_ids)
        except UpstreamError as error:
            _log.warning("The events of %d threads are deleted later: %s", len(thread_ids), error)
            self._undeleted.update(thread_ids)
        self._wake(thread_ids)

    async def _try_items(
        self, thread_id: UUID, batch: list[Entry] | None, position: int, reader: _Reader
    ) -> Batch:
        """Like `_items`; while Redis is unavailable, return nothing and read again later."""
        try:
            return await self._items(thread_id, batch, position, reader)
        except UpstreamError:
            await asyncio.sleep(self._check_seconds)
            reader.push(None)
            return []

    async def _items(
        self, thread_id: UUID, batch: list[Entry] | None, position: int, reader: _Reader
    ) -> Batch:
        if batch is not None:
            if batch[-1].id <= position:
                return []
            is_next = batch[0].id <= position + 1 if position else reader.found_empty
            if is_next:
                return [entry for entry in batch if entry.id > position]
        async with self._reading:
            items = await self._read_after(thread_id, position)
        reader.found_empty = not position and not items
        return items

    async def _read_after(self, thread_id: UUID, position: int) -> Batch:
        entries, end = await self._store.after(thread_id, position)
        if not end:
            # Events newer than our read are not a gap: their batch will be published to us.
            last = min(position, await self._store.last_id(thread_id)) if position else 0
            return continue_from([], position, last=last)
        items = continue_from(entries, position, last=end)
        if items[-1:] != [Gap(end)] and (not entries or entries[-1].id != end):
            items.append(Gap(end))  # the last ones cannot be read any more
        return items

    async def _subscribe_when_available(self, thread_id: UUID, reader: _Reader) -> None:
        while True:
            try:
                await self._subscribe(thread_id, reader)
            except UpstreamError:
                reader.has_gap = True
                await asyncio.sleep(self._check_seconds)
            else:
                return

    async def _subscribe(self, thread_id: UUID, reader: _Reader) -> None:
        async with self._subscribing:
            if not self._is_listening:
                await self._check_marker()
                await self._breaker.call(self._subscription.connect)
                self._is_listening = True
                self._tasks |= {
                    asyncio.create_task(self._listen()),
                    asyncio.create_task(self._watch()),
                }
            if (readers := self._readers.get(thread_id)) is not None:
                readers.add(reader)
                reader.push(None)
                return
            # Redis's confirmation of the subscription wakes the reader: once, and not too early.
            self._readers[thread_id] = {reader}
            if not self._subscription.is_connected:
                return  # the next connection is for all readers
            try:
                await self._breaker.call(
                    lambda: self._subscription.add(self._keys.channel(thread_id))
                )
            except BaseException:
                del self._readers[thread_id]
                raise

    async def _unsubscribe(self, thread_id: UUID, reader: _Reader) -> None:
        async with self._subscribing:
            readers = self._readers[thread_id]
            readers.discard(reader)
            if readers:
                return
            del self._readers[thread_id]
            if self._subscription.is_connected:
                with contextlib.suppress(UpstreamError):
                    await self._breaker.call(
                        lambda: self._subscription.remove(self._keys.channel(thread_id))
                    )

    def _channels(self) -> list[str]:
        return [self._keys.channel(thread_id) for thread_id in (_NO_THREAD, *self._readers)]

    async def _listen(self) -> None:
        """Pass what is published to the readers; connect again whatever goes wrong."""
        while not _is_cancelled():
            try:
                message = await self._subscription.message()
                if message is not None:
                    self._pass_on(message)
            except LOST as error:
                _log.warning("Event log lost its Redis connection: %r", error)
                await self._connect_again()

    def _pass_on(self, message: Any) -> None:
        thread_id = UUID(bytes(message["channel"]).decode().rsplit(":", 1)[1])
        if message["type"] == "subscribe":
            # Also sent after a reconnect.
            self._wake([thread_id])
        elif message["type"] == "message":
            batch = batch_of(message["data"])
            for reader in self._readers.get(thread_id, ()):
                reader.push(batch)

    async def _connect_again(self) -> None:
        await self._subscription.close()
        pause = self._check_seconds / 10
        while not _is_cancelled():
            await asyncio.sleep(pause)
            pause = self._check_seconds
            with contextlib.suppress(*LOST):
                async with self._subscribing, asyncio.timeout(_CONNECT_SECONDS):
                    await self._subscription.connect()
                return

    async def _watch(self) -> None:
        while not _is_cancelled():
            await asyncio.sleep(self._check_seconds)
            try:
                if await self._check_marker():
                    self._wake(list(self._readers), has_gap=True)
            except UpstreamError as error:
                _log.warning("Event log: %s", error)
                self._marker = b""

    async def _check_marker(self) -> bool:
        """Whether Redis has lost its data since the last check."""
        found = await self._breaker.call(self._get_or_set_marker)
        changed = found != self._marker
        self._marker = found or b""
        return bool(changed)

    async def _get_or_set_marker(self) -> Any:
        found: Any = await self._redis.get(_MARKER)
        if found is None:
            await self._redis.set(_MARKER, secrets.token_hex(8), nx=True)
            found = await self._redis.get(_MARKER)
        return found

    def _on_recovery(self) -> None:
        """Tell all readers of a gap: events were dropped, perhaps the last ones of a run."""
        self._wake(list(self._readers), has_gap=True)
        undeleted, self._undeleted = self._undeleted, set()
        if undeleted:
            task = asyncio.ensure_future(self.delete(*undeleted))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _wake(self, threads: Sequence[UUID], *, has_gap: bool = False) -> None:
        for thread_id in threads:
            for reader in self._readers.get(thread_id, ()):
                reader.has_gap |= has_gap
                reader.push(None)


def _is_cancelled() -> bool:
    """Whether this task was cancelled: redis-py swallows a cancellation while it sends."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
