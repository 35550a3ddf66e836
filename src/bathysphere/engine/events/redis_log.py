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
from functools import partial
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
from bathysphere.engine.events.redis_format import (
    APPEND,
    Keys,
    batch_of,
    entries_of,
)

_log = logging.getLogger(__name__)
_MARKER = "bathysphere:log-marker"
_UNAVAILABLE = (RedisError, OSError)
_MAX_READS = 32  # redis-py refuses the 101st connection, and all readers may read at once
_NO_THREAD = UUID(int=0)  # always subscribed to: redis-py does not listen without a channel


@dataclass(eq=False, slots=True)
class _Reader:
    """Batches published since the last read; None means: read the stream."""

    batches: deque[list[Entry] | None] = field(default_factory=lambda: deque(maxlen=256))
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    has_gap: bool = False
    found_empty: bool = False
    """Whether the stream was empty when this reader read it last: the next batch is its first."""

    def push(self, batch: list[Entry] | None) -> None:
        if len(self.batches) == self.batches.maxlen:
            self.batches.clear()
            batch = None
        self.batches.append(batch)
        self.woken.set()


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
        self._clock = clock
        self._cap = cap
        self._limits = limits
        self._check_seconds = check_seconds
        self._readers: dict[UUID, set[_Reader]] = {}
        self._append = redis.register_script(APPEND)
        self._breaker = CircuitBreaker(
            "Redis", errors=_UNAVAILABLE, clock=clock, on_recovery=self._on_recovery
        )
        self._undeleted: set[UUID] = set()
        self._pubsub: Any = None
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
        if self._pubsub is not None:
            # A reader that stops later must not open it again to unsubscribe.
            pubsub, self._pubsub = self._pubsub, None
            await pubsub.aclose()

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
        start = int(self._clock.now().timestamp() * 1000)
        keys = self._keys.all(thread_id)
        settings: list[int | str] = [
            start,
            self._cap,
            self._limits.thread_bytes,
            self._limits.keep_seconds,
            token,
            int(after_loss),
            self._keys.channel(thread_id),
            owner.digest,
        ]
        return int(
            await self._breaker.call(lambda: self._append(keys=keys, args=[*settings, *bodies]))
        )

    async def last_id(self, thread_id: UUID) -> int:
        """Return the id of the newest event, 0 if the log is empty or unavailable."""
        with contextlib.suppress(UpstreamError):
            return await self._last_id(thread_id)
        return 0

    async def _last_id(self, thread_id: UUID) -> int:
        newest = await self._newest(thread_id, count=1)
        return newest[0].id if newest else 0

    async def newest(
        self, thread_id: UUID, *, owner: Owner, count: int, up_to: int | None = None
    ) -> list[Entry]:
        """Return the owner's events among the last `count` up to an id, newest first."""
        try:
            last = await self._newest(thread_id, count=count, up_to=up_to)
        except UpstreamError:
            return []
        return [entry for entry in last if entry.owner == owner.digest]

    async def _newest(
        self, thread_id: UUID, *, count: int, up_to: int | None = None
    ) -> list[Entry]:
        newest = "+" if up_to is None else f"{up_to}-0"
        rows: Any = await self._breaker.call(
            lambda: self._redis.xrevrange(self._keys.stream(thread_id), newest, count=count)
        )
        return entries_of(rows)

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
                    published = reader.batches.popleft()
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
        pipeline = self._redis.pipeline(transaction=False)
        for thread_id in thread_ids:
            pipeline.delete(*self._keys.all(thread_id))
        try:
            await self._breaker.call(pipeline.execute)
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
        entries: list[Entry] = []
        start = position
        while True:
            after = f"({start}-0"
            rows: Any = await self._breaker.call(
                partial(self._redis.xrange, self._keys.stream(thread_id), after, count=1000)
            )
            entries += entries_of(rows)
            if len(rows) < 1000:
                break
            start = entries[-1].id
        # Events newer than our read are not a gap: their batch will be published to us.
        may_miss = position and not entries  # a reader at 0 cannot have missed anything
        last = min(position, await self._last_id(thread_id)) if may_miss else 0
        return continue_from(entries, position, last=last)

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
            if self._pubsub is None:
                await self._check_marker()
                pubsub: Any = self._redis.pubsub()
                await self._breaker.call(lambda: pubsub.subscribe(self._keys.channel(_NO_THREAD)))
                self._pubsub = pubsub
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
            try:
                await self._breaker.call(
                    lambda: self._pubsub.subscribe(self._keys.channel(thread_id))
                )
            except BaseException:
                del self._readers[thread_id]
                raise

    async def _unsubscribe(self, thread_id: UUID, reader: _Reader) -> None:
        async with self._subscribing:
            readers = self._readers[thread_id]
            readers.discard(reader)
            if not readers:
                del self._readers[thread_id]
                if self._pubsub is None:
                    return
                with contextlib.suppress(UpstreamError):
                    await self._breaker.call(
                        lambda: self._pubsub.unsubscribe(self._keys.channel(thread_id))
                    )

    async def _listen(self) -> None:
        """Pass published batches to the readers; after a reconnect, make them read the stream."""
        while not _is_cancelled():
            try:
                message = await self._pubsub.get_message(timeout=None)
                if message is None:
                    continue
                thread_id = UUID(bytes(message["channel"]).decode().rsplit(":", 1)[1])
                if message["type"] == "subscribe":
                    # Also sent after a reconnect.
                    self._wake([thread_id])
                elif message["type"] == "message":
                    batch = batch_of(message["data"])
                    for reader in self._readers.get(thread_id, ()):
                        reader.push(batch)
            except RedisError as error:
                _log.warning("Event log lost its Redis connection: %s", error)
                await asyncio.sleep(self._check_seconds)
                self._wake(list(self._readers))

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
