"""The event log on Redis Streams, shared by all processes.

Appending is one script that numbers, stores, caps and publishes the events, so a batch costs one
round trip. A process has one subscription connection for all its readers; a reader subscribes
before it reads the stream, so no event is missed in between. Redis may be flushed or restarted:
this is detected with a marker key, and readers get a gap.
"""

import asyncio
import contextlib
import logging
import secrets
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from redis.asyncio import Redis
from redis.exceptions import RedisError

from bathysphere.core.clock import Clock
from bathysphere.core.errors import UpstreamError
from bathysphere.core.identity import Owner
from bathysphere.engine.events.log import (
    KEEP_SECONDS,
    THREAD_BYTES,
    Batch,
    Entry,
    EventLog,
    Gap,
    continue_from,
    own_items,
)

_log = logging.getLogger(__name__)
_MARKER = "bathysphere:log-marker"
_MAX_READS = 32  # redis-py refuses the 101st connection, and all readers may read at once
_NO_THREAD = UUID(int=0)  # always subscribed to: redis-py does not listen without a channel


@dataclass(eq=False, slots=True)
class _Reader:
    """Batches published since the last read; None means: read the stream."""

    batches: deque[list[Entry] | None] = field(default_factory=lambda: deque(maxlen=256))
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    has_gap: bool = False

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
        cap_bytes: int = THREAD_BYTES,
        keep_seconds: int = KEEP_SECONDS,
        check_seconds: float = 1.0,
    ) -> None:
        self._redis = redis
        self._clock = clock
        self._cap = cap
        self._cap_bytes = cap_bytes
        self._keep = keep_seconds
        self._check_seconds = check_seconds
        self._readers: dict[UUID, set[_Reader]] = {}
        self._append = redis.register_script(_APPEND)
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
        keys = [_stream(thread_id), _fence(thread_id), _size(thread_id)]
        settings: list[int | str] = [
            start,
            self._cap,
            self._cap_bytes,
            self._keep,
            token,
            int(after_loss),
            _channel(thread_id),
            owner.digest,
        ]
        with _redis_errors():
            return int(await self._append(keys=keys, args=[*settings, *bodies]))

    async def last_id(self, thread_id: UUID) -> int:
        """Return the id of the newest event, 0 if the log is empty."""
        newest = await self._newest(thread_id, count=1)
        return newest[0].id if newest else 0

    async def newest(
        self, thread_id: UUID, *, owner: Owner, count: int, up_to: int | None = None
    ) -> list[Entry]:
        """Return the owner's events among the last `count` up to an id, newest first."""
        last = await self._newest(thread_id, count=count, up_to=up_to)
        return [entry for entry in last if entry.owner == owner.digest]

    async def _newest(
        self, thread_id: UUID, *, count: int, up_to: int | None = None
    ) -> list[Entry]:
        newest = "+" if up_to is None else f"{up_to}-0"
        with _redis_errors():
            rows: Any = await self._redis.xrevrange(_stream(thread_id), newest, count=count)
        return _entries(rows)

    async def batches(
        self, thread_id: UUID, *, owner: Owner, after: int = 0
    ) -> AsyncGenerator[Batch, None]:
        """Yield the owner's events after an id, then new ones as they arrive, without end."""
        reader = _Reader()
        position = after
        with _redis_errors():
            await self._subscribe(thread_id, reader)
        try:
            while not _is_cancelled():
                await reader.woken.wait()
                if reader.has_gap and not position:
                    # It has read nothing yet, but there may have been events.
                    yield [Gap(0)]
                reader.has_gap = False
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

    async def delete(self, thread_id: UUID) -> None:
        """Delete the thread's log."""
        with _redis_errors():
            await self._redis.delete(_stream(thread_id), _fence(thread_id), _size(thread_id))
        self._wake([thread_id])

    async def _try_items(
        self, thread_id: UUID, batch: list[Entry] | None, position: int, reader: _Reader
    ) -> Batch:
        """Like `_items`; while Redis is unavailable, return nothing and read again later."""
        try:
            with _redis_errors():
                return await self._items(thread_id, batch, position)
        except UpstreamError:
            await asyncio.sleep(self._check_seconds)
            reader.push(None)
            return []

    async def _items(self, thread_id: UUID, batch: list[Entry] | None, position: int) -> Batch:
        if batch is not None:
            if batch[-1].id <= position:
                return []
            if position and batch[0].id <= position + 1:
                return [entry for entry in batch if entry.id > position]
        async with self._reading:
            return await self._read_after(thread_id, position)

    async def _read_after(self, thread_id: UUID, position: int) -> Batch:
        entries: list[Entry] = []
        start = position
        while True:
            rows: Any = await self._redis.xrange(_stream(thread_id), f"({start}-0", count=1000)
            entries += _entries(rows)
            if len(rows) < 1000:
                break
            start = entries[-1].id
        # Events newer than our read are not a gap: their batch will be published to us.
        may_miss = position and not entries  # a reader at 0 cannot have missed anything
        last = min(position, await self.last_id(thread_id)) if may_miss else 0
        return continue_from(entries, position, last=last)

    async def _subscribe(self, thread_id: UUID, reader: _Reader) -> None:
        async with self._subscribing:
            if self._pubsub is None:
                await self._check_marker()
                self._pubsub = self._redis.pubsub()
                await self._pubsub.subscribe(_channel(_NO_THREAD))
                self._tasks = {
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
                await self._pubsub.subscribe(_channel(thread_id))
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
                with contextlib.suppress(RedisError):
                    await self._pubsub.unsubscribe(_channel(thread_id))

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
                    batch = _batch(message["data"])
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
            except RedisError as error:
                _log.warning("Event log cannot reach Redis: %s", error)
                self._marker = b""

    async def _check_marker(self) -> bool:
        """Whether Redis has lost its data since the last check."""
        found: Any = await self._redis.get(_MARKER)
        if found is None:
            await self._redis.set(_MARKER, secrets.token_hex(8), nx=True)
            found = await self._redis.get(_MARKER)
        changed = found != self._marker
        self._marker = found or b""
        return bool(changed)

    def _wake(self, threads: Sequence[UUID], *, has_gap: bool = False) -> None:
        for thread_id in threads:
            for reader in self._readers.get(thread_id, ()):
                reader.has_gap |= has_gap
                reader.push(None)


def _is_cancelled() -> bool:
    """Whether this task was cancelled: redis-py swallows a cancellation while it sends."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


@contextlib.contextmanager
def _redis_errors() -> Iterator[None]:
    """Convert errors of Redis to `UpstreamError`."""
    try:
        yield
    except (RedisError, OSError) as error:
        raise UpstreamError("Event log cannot reach Redis") from error


def _stream(thread_id: UUID) -> str:
    return f"bathysphere:{{{thread_id}}}:log"


def _fence(thread_id: UUID) -> str:
    return f"bathysphere:{{{thread_id}}}:fence"


def _size(thread_id: UUID) -> str:
    return f"bathysphere:{{{thread_id}}}:bytes"


def _channel(thread_id: UUID) -> str:
    return f"bathysphere:log:{thread_id}"


def _entries(rows: Any) -> list[Entry]:
    return [
        Entry(int(row.split(b"-", 1)[0]), fields[b"e"], fields.get(b"o", b"").decode())
        for row, fields in rows
    ]


def _batch(data: bytes) -> list[Entry]:
    first, owner, *bodies = data.split(b"\n")
    return [Entry(int(first) + n, body, owner.decode()) for n, body in enumerate(bodies)]


_APPEND = """
local stream, fence, size = KEYS[1], KEYS[2], KEYS[3]
local start, cap, cap_bytes, keep = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local token, owner = tonumber(ARGV[5]), ARGV[8]
if token > 0 then
    if token < tonumber(redis.call('GET', fence) or 0) then return 0 end
    redis.call('SET', fence, token, 'EX', keep)
end
local newest = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)
local last = start
if newest[1] then last = tonumber(string.match(newest[1][1], '^%d+')) end
last = last + tonumber(ARGV[6])
local first = last + 1
local batch = { string.format('%.0f', first), owner }
local bytes = tonumber(redis.call('GET', size) or 0)
for i = 9, #ARGV do
    last = last + 1
    redis.call('XADD', stream, string.format('%.0f-0', last), 'e', ARGV[i], 'o', owner)
    bytes = bytes + #ARGV[i]
    batch[#batch + 1] = ARGV[i]
end
local length = redis.call('XLEN', stream)
while length > 0 and (length > cap or bytes > cap_bytes) do
    local excess = math.max(1, math.min(100, length - cap))
    for _, old in ipairs(redis.call('XRANGE', stream, '-', '+', 'COUNT', excess)) do
        bytes = bytes - #old[2][2]
        redis.call('XDEL', stream, old[1])
        length = length - 1
    end
end
redis.call('SET', size, bytes, 'EX', keep)
redis.call('EXPIRE', stream, keep)
redis.call('PUBLISH', ARGV[7], table.concat(batch, '\\n'))
return string.format('%.0f', last)
"""
