"""The event log on Redis Streams, shared by all processes.

Appending is one script: it numbers the events, adds them, caps the stream and publishes them, so a
batch costs one round trip. A process has one subscription connection for all its readers; a reader
subscribes first and reads the stream second, so nothing falls between. Redis may be flushed or
restarted: a marker key that the hub looks at tells it, and readers find their gap.
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
from bathysphere.engine.events import Batch, Entry, EventLog, Gap, continue_from

_log = logging.getLogger(__name__)
_MARKER = "bathysphere:log-marker"
_LOOKS = 32  # at a time: redis-py refuses the 101st connection, and all readers may look at once
_NOBODY = UUID(int=0)  # always subscribed to: redis-py does not listen while it has no channel


@dataclass(eq=False, slots=True)
class _Reader:
    """Batches that were published since it last looked; None means: look at the stream."""

    batches: deque[list[Entry] | None] = field(default_factory=lambda: deque(maxlen=256))
    woken: asyncio.Event = field(default_factory=asyncio.Event)
    has_lost: bool = False

    def push(self, batch: list[Entry] | None) -> None:
        if len(self.batches) == self.batches.maxlen:
            self.batches.clear()
            batch = None
        self.batches.append(batch)
        self.woken.set()


class RedisEventLog(EventLog):
    """A stream for each thread. Use as an async context manager."""

    def __init__(
        self,
        redis: Redis,
        *,
        clock: Clock,
        cap: int = 10_000,
        keep_seconds: int = 3600,
        look_seconds: float = 1.0,
    ) -> None:
        self._redis = redis
        self._clock = clock
        self._cap = cap
        self._keep = keep_seconds
        self._look = look_seconds
        self._readers: dict[UUID, set[_Reader]] = {}
        self._append = redis.register_script(_APPEND)
        self._pubsub: Any = None
        self._subscribing = asyncio.Lock()
        self._looking = asyncio.Semaphore(_LOOKS)
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
            # A reader that leaves later must not open it again to unsubscribe.
            pubsub, self._pubsub = self._pubsub, None
            await pubsub.aclose()

    async def append(
        self,
        thread_id: UUID,
        bodies: Sequence[bytes],
        *,
        token: int = 0,
        after_loss: bool = False,
    ) -> int:
        """Add events; return the last id given."""
        start = int(self._clock.now().timestamp() * 1000)
        keys = [_stream(thread_id), _fence(thread_id)]
        settings: list[int | str] = [
            start,
            self._cap,
            self._keep,
            token,
            int(after_loss),
            _channel(thread_id),
        ]
        with _upstream():
            return int(await self._append(keys=keys, args=[*settings, *bodies]))

    async def last_id(self, thread_id: UUID) -> int:
        """The id of the newest event, 0 when the log is empty."""
        newest = await self.newest(thread_id, count=1)
        return newest[0].id if newest else 0

    async def newest(self, thread_id: UUID, *, count: int) -> list[Entry]:
        """The last events, the newest first."""
        with _upstream():
            rows: Any = await self._redis.xrevrange(_stream(thread_id), count=count)
        return _entries(rows)

    async def batches(self, thread_id: UUID, *, after: int = 0) -> AsyncGenerator[Batch, None]:
        """All that is held after an id, then what comes, without end, as it came."""
        reader = _Reader()
        position = after
        with _upstream():
            await self._subscribe(thread_id, reader)
        try:
            while not _is_cancelled():
                await reader.woken.wait()
                if reader.has_lost and not position:
                    # It has seen nothing, but there may have been something to see.
                    yield [Gap(0)]
                reader.has_lost = False
                while reader.batches:
                    told = reader.batches.popleft()
                    if batch := await self._try_items(thread_id, told, position, reader):
                        position = batch[-1].position
                        yield batch
                reader.woken.clear()
            raise asyncio.CancelledError
        finally:
            await self._unsubscribe(thread_id, reader)

    async def delete(self, thread_id: UUID) -> None:
        """Forget the thread."""
        with _upstream():
            await self._redis.delete(_stream(thread_id), _fence(thread_id))
        self._wake([thread_id])

    async def _try_items(
        self, thread_id: UUID, batch: list[Entry] | None, position: int, reader: _Reader
    ) -> Batch:
        """As `_items`; while Redis is away there is nothing, and we look again later."""
        try:
            with _upstream():
                return await self._items(thread_id, batch, position)
        except UpstreamError:
            await asyncio.sleep(self._look)
            reader.push(None)
            return []

    async def _items(self, thread_id: UUID, batch: list[Entry] | None, position: int) -> Batch:
        if batch is not None:
            if batch[-1].id <= position:
                return []
            if position and batch[0].id <= position + 1:
                return [entry for entry in batch if entry.id > position]
        async with self._looking:
            return await self._look_after(thread_id, position)

    async def _look_after(self, thread_id: UUID, position: int) -> Batch:
        entries: list[Entry] = []
        start = position
        while True:
            rows: Any = await self._redis.xrange(_stream(thread_id), f"({start}-0", count=1000)
            entries += _entries(rows)
            if len(rows) < 1000:
                break
            start = entries[-1].id
        # Newer events than we just looked for are no gap: their batch is on its way to us.
        looks = position and not entries  # who has read nothing yet can miss nothing
        last = min(position, await self.last_id(thread_id)) if looks else 0
        return continue_from(entries, position, last=last)

    async def _subscribe(self, thread_id: UUID, reader: _Reader) -> None:
        async with self._subscribing:
            if self._pubsub is None:
                await self._check_marker()
                self._pubsub = self._redis.pubsub()
                await self._pubsub.subscribe(_channel(_NOBODY))
                self._tasks = {
                    asyncio.create_task(self._listen()),
                    asyncio.create_task(self._watch()),
                }
            if (readers := self._readers.get(thread_id)) is not None:
                readers.add(reader)
                reader.push(None)
                return
            # Redis's word that we are subscribed makes the reader look: once, and not too early.
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
        """Hand published batches to the readers; after a break, have them look themselves."""
        while not _is_cancelled():
            try:
                message = await self._pubsub.get_message(timeout=None)
                if message is None:
                    continue
                thread_id = UUID(bytes(message["channel"]).decode().rsplit(":", 1)[1])
                if message["type"] == "subscribe":
                    # Also sent when the connection was lost and came back.
                    self._wake([thread_id])
                elif message["type"] == "message":
                    batch = _batch(message["data"])
                    for reader in self._readers.get(thread_id, ()):
                        reader.push(batch)
            except RedisError as error:
                _log.warning("the event log lost Redis: %s", error)
                await asyncio.sleep(self._look)
                self._wake(list(self._readers))

    async def _watch(self) -> None:
        while not _is_cancelled():
            await asyncio.sleep(self._look)
            try:
                if await self._check_marker():
                    self._wake(list(self._readers), has_lost=True)
            except RedisError as error:
                _log.warning("the event log cannot see Redis: %s", error)
                self._marker = b""

    async def _check_marker(self) -> bool:
        """Whether Redis forgot everything since the last look."""
        found: Any = await self._redis.get(_MARKER)
        if found is None:
            await self._redis.set(_MARKER, secrets.token_hex(8), nx=True)
            found = await self._redis.get(_MARKER)
        changed = found != self._marker
        self._marker = found or b""
        return bool(changed)

    def _wake(self, threads: Sequence[UUID], *, has_lost: bool = False) -> None:
        for thread_id in threads:
            for reader in self._readers.get(thread_id, ()):
                reader.has_lost |= has_lost
                reader.push(None)


def _is_cancelled() -> bool:
    """Whether this task was cancelled: redis-py keeps that to itself when it was just sending."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


@contextlib.contextmanager
def _upstream() -> Iterator[None]:
    """Redis's errors, as what they are to the rest of the engine."""
    try:
        yield
    except (RedisError, OSError) as error:
        raise UpstreamError("the event log cannot reach Redis") from error


def _stream(thread_id: UUID) -> str:
    return f"bathysphere:{{{thread_id}}}:events"


def _fence(thread_id: UUID) -> str:
    return f"bathysphere:{{{thread_id}}}:fence"


def _channel(thread_id: UUID) -> str:
    return f"bathysphere:events:{thread_id}"


def _entries(rows: Any) -> list[Entry]:
    return [Entry(int(row.split(b"-", 1)[0]), fields[b"e"]) for row, fields in rows]


def _batch(data: bytes) -> list[Entry]:
    first, *bodies = data.split(b"\n")
    return [Entry(int(first) + n, body) for n, body in enumerate(bodies)]


_APPEND = """
local stream, fence = KEYS[1], KEYS[2]
local start, cap, keep, token = tonumber(ARGV[1]), ARGV[2], ARGV[3], tonumber(ARGV[4])
if token > 0 then
    if token < tonumber(redis.call('GET', fence) or 0) then return 0 end
    redis.call('SET', fence, token, 'EX', keep)
end
local newest = redis.call('XREVRANGE', stream, '+', '-', 'COUNT', 1)
local last = start
if newest[1] then last = tonumber(string.match(newest[1][1], '^%d+')) end
last = last + tonumber(ARGV[5])
local first = last + 1
local batch = { string.format('%.0f', first) }
for i = 7, #ARGV do
    last = last + 1
    redis.call('XADD', stream, string.format('%.0f-0', last), 'e', ARGV[i])
    batch[#batch + 1] = ARGV[i]
end
redis.call('XTRIM', stream, 'MAXLEN', '~', cap)
redis.call('EXPIRE', stream, keep)
redis.call('PUBLISH', ARGV[6], table.concat(batch, '\\n'))
return string.format('%.0f', last)
"""
