"""Events of threads as they are stored in Redis: append, read and delete them."""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any
from uuid import UUID

from redis.asyncio import Redis

from bathysphere.core.circuit_breaker import CircuitBreaker
from bathysphere.core.clock import Clock
from bathysphere.core.identity import Owner
from bathysphere.engine.events.log import NO_PARTS, Entry, LogLimits
from bathysphere.engine.events.redis_format import APPEND, Keys, Row, stand_in
from bathysphere.engine.events.shared_parts import digests_in, divide, is_complete, used_parts

_PAGE = 1000
_MOST_THREADS = 64
"""Of so many threads a writer remembers which parts are stored; of others it sends them again."""
_MOST_PARTS = 4096
"""Of a thread; after so many it sends all of them again."""
_SUPERSEDED, _UNKNOWN_GENERATION = 0, -1


@dataclass(slots=True)
class _Stored:
    """The parts of a thread that this process knows to be stored, in one generation."""

    generation: int = 0
    digests: set[bytes] = field(default_factory=set)


class RedisStore:
    """The events of all threads in one Redis."""

    def __init__(
        self,
        redis: Redis,
        *,
        keys: Keys,
        breaker: CircuitBreaker,
        clock: Clock,
        cap: int,
        limits: LogLimits,
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._call = breaker.call
        self._clock = clock
        self._cap = cap
        self._limits = limits
        self._append = redis.register_script(APPEND)
        self._stored: OrderedDict[UUID, _Stored] = OrderedDict()

    async def append(
        self, thread_id: UUID, bodies: Sequence[bytes], *, owner: Owner, token: int, skipped: int
    ) -> int:
        """Store and publish an owner's events; return the last id assigned, 0 if superseded.

        Raises:
            UpstreamError: Redis is unavailable.
        """
        divided = [(body, *divide(body)) for body in bodies]
        settings: list[int | str] = [
            int(self._clock.now().timestamp() * 1000),
            self._cap,
            self._limits.thread_bytes,
            self._limits.keep_seconds,
            token,
            skipped,
            self._keys.channel(thread_id),
            owner.digest,
        ]
        stored = self._stored.get(thread_id) or _Stored()
        last = await self._send(thread_id, settings, divided, stored)
        if last == _UNKNOWN_GENERATION:
            stored = _Stored()
            last = await self._send(thread_id, settings, divided, stored)
        if last != _SUPERSEDED:
            self._remember(thread_id, stored)
        return last

    async def _send(
        self,
        thread_id: UUID,
        settings: list[int | str],
        divided: list[tuple[bytes, bytes, dict[bytes, bytes]]],
        stored: _Stored,
    ) -> int:
        """Send what is not stored yet; add it to what is."""
        args: list[int | str | bytes] = [*settings, stored.generation]
        sent: set[bytes] = set()
        for body, text, parts in divided:
            new = parts.keys() - stored.digests - sent
            sent.update(new)
            args += [body, text, stand_in(text)] if parts else [body, b"", b""]
            args.append(len(new))
            args += chain.from_iterable((digest, parts[digest]) for digest in new)
        keys = self._keys.all(thread_id)
        reply = await self._call(lambda: self._append(keys=keys, args=args))
        last, generation = map(int, reply)
        if last > 0:
            stored.generation = generation
            stored.digests |= sent
        return last

    def _remember(self, thread_id: UUID, stored: _Stored) -> None:
        if len(stored.digests) > _MOST_PARTS:
            stored = _Stored()
        self._stored[thread_id] = stored
        self._stored.move_to_end(thread_id)
        if len(self._stored) > _MOST_THREADS:
            self._stored.popitem(last=False)

    async def last_id(self, thread_id: UUID) -> int:
        """Return the id of the newest event, 0 if there is none."""
        rows: Any = await self._call(
            lambda: self._redis.xrevrange(self._keys.stream(thread_id), count=1)
        )
        return Row.of(rows[0]).id if rows else 0

    async def newest(self, thread_id: UUID, *, count: int, up_to: int | None = None) -> list[Entry]:
        """Return the last events up to an id, newest first."""
        newest = "+" if up_to is None else f"{up_to}-0"
        rows: Any = await self._call(
            lambda: self._redis.xrevrange(self._keys.stream(thread_id), newest, count=count)
        )
        return await self._entries(thread_id, [Row.of(row) for row in rows])

    async def after(self, thread_id: UUID, position: int) -> tuple[list[Entry], int]:
        """Return the events after an id, and the id of the last one.

        An event is left out if its parts have been dropped since it was read.
        """
        found: list[Row] = []
        start = position
        while True:
            after = f"({start}-0"
            rows: Any = await self._call(
                partial(self._redis.xrange, self._keys.stream(thread_id), after, count=_PAGE)
            )
            found += map(Row.of, rows)
            if len(rows) < _PAGE:
                break
            start = found[-1].id
        entries = await self._entries(thread_id, found)
        complete = [entry for entry in entries if is_complete(entry.text, entry.parts)]
        return complete, found[-1].id if found else 0

    async def delete(self, *thread_ids: UUID) -> None:
        """Delete the events of threads."""
        pipeline = self._redis.pipeline(transaction=False)
        for thread_id in thread_ids:
            self._stored.pop(thread_id, None)
            pipeline.delete(*self._keys.all(thread_id))
        await self._call(pipeline.execute)

    async def _entries(self, thread_id: UUID, rows: list[Row]) -> list[Entry]:
        slots = [await self._parts_of(thread_id, rows, slot) for slot in (0, 1)]
        return [
            Entry(
                row.id,
                row.text,
                row.owner,
                NO_PARTS if row.slot is None else used_parts(row.text, slots[row.slot]),
            )
            for row in rows
        ]

    async def _parts_of(self, thread_id: UUID, rows: list[Row], slot: int) -> dict[bytes, bytes]:
        """The parts of those rows that have theirs in this slot."""
        key = self._keys.parts(thread_id, slot)
        parts: dict[bytes, bytes] = {}
        texts = [row.text for row in rows if row.slot == slot]
        while wanted := list({d for text in texts for d in digests_in(text)} - parts.keys()):
            bodies: Any = await self._call(partial(self._redis.hmget, key, wanted))
            found = {digest: body for digest, body in zip(wanted, bodies, strict=True) if body}
            parts |= found
            texts = list(found.values())
        return parts
