"""The event log: numbered events of a thread, so that a reader can resume where it left off.

Ids are integers that increase by one within a thread. A log is short and may vanish: PostgreSQL is
the source of truth. A reader whose next event is gone gets a `Gap`, reloads the thread's state and
reads on; it never hangs and never misses an event silently. A new log starts at the time in
milliseconds, so its ids are higher than any assigned before.

Every event carries the digest of its owner, and a reader names its owner: events of other owners
are dropped here. If a thread is deleted and its id is reused by someone else, a stream that stayed
open shows nothing of it.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal, Protocol, Self
from uuid import UUID

import orjson

from bathysphere.core.identity import Owner
from bathysphere.core.json_text import dumps
from bathysphere.engine.events.shared_parts import Parts, join

Channel = Literal[
    "lifecycle", "input", "messages", "values", "updates", "tools", "custom", "checkpoints", "tasks"
]


@dataclass(frozen=True, kw_only=True, slots=True)
class LogLimits:
    """How much of a log is kept. A reader further behind gets the thread's state instead."""

    keep_seconds: int = 3600
    """How long the events of an idle thread are kept."""
    thread_bytes: int = 8_000_000
    """Of the events of a thread as they are read; stored, they take less."""
    memory_bytes: int = 24_000_000
    """Of all threads together, where the log is in memory."""


DEFAULT_LIMITS = LogLimits()
NO_PARTS: Parts = MappingProxyType({})


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
    """An event with its id in its thread's log; it is put together and decoded on demand."""

    id: int
    text: bytes
    """Its JSON, with marks for `parts`. What is not part of its data is never in a part."""
    owner: str = ""
    """The digest of the event's owner, which is never empty."""
    parts: Parts = field(default_factory=lambda: NO_PARTS, compare=False, repr=False)
    """What the marks stand for, and parts of other events."""

    @property
    def body(self) -> bytes:
        """The event's line of JSON."""
        return join(self.text, self.parts) if self.parts else self.text

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
