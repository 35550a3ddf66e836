"""What every event log does, one behaviour a test. Subclass it and give a `log` fixture.

The fixture's log holds 200 events a thread; `lose_everything` makes it forget all threads, as a
flushed Redis does.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from uuid import UUID, uuid4

from bathysphere.engine.events import Entry, EventLog, Gap

CAP = 200


class EventLogContract:
    """The behaviours."""

    async def lose_everything(self, log: EventLog, threads: Sequence[UUID]) -> None:
        """Forget the threads behind the log's back, as far as the log has one."""
        for thread in threads:
            await log.delete(thread)

    async def test_ids_increase_by_one(self, log: EventLog) -> None:
        """The last id is returned, and readers see all of them in order."""
        thread = uuid4()
        last = await log.append(thread, [b"1", b"2"])
        assert await log.append(thread, [b"3"]) == last + 1
        assert await log.last_id(thread) == last + 1
        entries = await take(log.read(thread), 3)
        assert [entry.id for entry in entries] == [last - 1, last, last + 1]
        assert [entry.body for entry in entries] == [b"1", b"2", b"3"]

    async def test_an_empty_log_has_no_last_id(self, log: EventLog) -> None:
        """Zero means: nothing yet."""
        assert await log.last_id(uuid4()) == 0

    async def test_the_newest_come_first(self, log: EventLog) -> None:
        """As many as were asked for, or as there are."""
        thread = uuid4()
        last = await log.append(thread, [b"1", b"2", b"3"])
        newest = await log.newest(thread, count=2)
        assert [(entry.id, entry.body) for entry in newest] == [(last, b"3"), (last - 1, b"2")]
        assert len(await log.newest(thread, count=9)) == 3
        assert await log.newest(uuid4(), count=9) == []

    async def test_a_reader_goes_on_after_the_id_it_saw(self, log: EventLog) -> None:
        """The event itself is not repeated."""
        thread = uuid4()
        last = await log.append(thread, [b"1", b"2", b"3"])
        assert [e.body for e in await take(log.read(thread, after=last - 2), 2)] == [b"2", b"3"]

    async def test_a_reader_gets_what_comes_later(self, log: EventLog) -> None:
        """Also when it was there before the thread had any event."""
        thread = uuid4()
        reading = asyncio.create_task(take(log.read(thread), 3))
        await asyncio.sleep(0.05)
        await log.append(thread, [b"1"])
        await asyncio.sleep(0.02)
        await log.append(thread, [b"2", b"3"])
        assert [entry.body for entry in await reading] == [b"1", b"2", b"3"]

    async def test_two_readers_see_the_same(self, log: EventLog) -> None:
        """Ids are the thread's, not the reader's."""
        thread = uuid4()
        readers = [asyncio.create_task(take(log.read(thread), 4)) for _ in range(2)]
        for body in (b"1", b"2", b"3", b"4"):
            await log.append(thread, [body])
        first, second = [await reader for reader in readers]
        assert first == second

    async def test_threads_are_apart(self, log: EventLog) -> None:
        """A reader never sees another thread's events."""
        mine, other = uuid4(), uuid4()
        reading = asyncio.create_task(take(log.read(mine), 1))
        await log.append(other, [b"other"])
        await log.append(mine, [b"mine"])
        assert [entry.body for entry in await reading] == [b"mine"]

    async def test_reconnecting_loses_and_doubles_nothing(self, log: EventLog) -> None:
        """A reader that comes and goes at random while events pour in sees each once."""
        thread, total, seen = uuid4(), CAP - 10, list[int]()
        dice = random.Random(7)  # noqa: S311  # a repeatable schedule

        async def write() -> None:
            for n in range(total):
                await log.append(thread, [str(n).encode()])
                if n % 5 == 0:
                    await asyncio.sleep(0.002)

        writing = asyncio.create_task(write())
        after = 0
        async with asyncio.timeout(20):
            while len(seen) < total:
                wanted = min(dice.randint(1, 20), total - len(seen))
                entries = await take(log.read(thread, after=after), wanted)
                seen += [int(entry.body) for entry in entries]
                after = entries[-1].id
        await writing
        assert seen == list(range(total))

    async def test_an_old_position_is_answered_with_a_gap(self, log: EventLog) -> None:
        """The log is capped; a reader who is too far behind learns that it missed something."""
        thread = uuid4()
        first = await log.append(thread, [b"first"])
        for _ in range(10):
            await log.append(thread, [b"x"] * CAP)
        stream = log.read(thread, after=first)
        gap = await anext(stream)
        assert isinstance(gap, Gap)
        entry = await anext(stream)
        assert isinstance(entry, Entry)
        assert entry.id == gap.resumes_at + 1
        await close(stream)

    async def test_a_reader_of_a_lost_log_is_told_and_goes_on(self, log: EventLog) -> None:
        """While it waits and nothing new comes, and with ids above the old ones afterwards."""
        thread = uuid4()
        old = await log.append(thread, [b"old"])
        stream = log.read(thread, after=old - 1)
        assert (await take_from(stream, 1))[0].body == b"old"
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.05)
        await self.lose_everything(log, [thread])
        async with asyncio.timeout(5):
            assert isinstance(await waiting, Gap)
        await asyncio.sleep(0.01)
        new = await log.append(thread, [b"new"])
        assert new > old
        assert (await take_from(stream, 1))[0] == Entry(new, b"new")
        await close(stream)

    async def test_coming_back_to_a_lost_log_is_answered_with_a_gap(self, log: EventLog) -> None:
        """Whether or not it has events again."""
        thread = uuid4()
        old = await log.append(thread, [b"old"])
        await self.lose_everything(log, [thread])
        await asyncio.sleep(0.01)
        stream = log.read(thread, after=old)
        async with asyncio.timeout(5):
            assert isinstance(await anext(stream), Gap)
        await close(stream)

    async def test_events_that_were_dropped_show_as_a_gap(self, log: EventLog) -> None:
        """A writer that could not write says so with its next events."""
        thread = uuid4()
        last = await log.append(thread, [b"1"])
        stream = log.read(thread, after=last)
        await log.append(thread, [b"3"], after_loss=True)
        assert await anext(stream) == Gap(last + 1)
        assert await anext(stream) == Entry(last + 2, b"3")
        await close(stream)

    async def test_a_superseded_attempt_cannot_add_events(self, log: EventLog) -> None:
        """A lower token than the thread has seen is refused."""
        thread = uuid4()
        await log.append(thread, [b"old worker"], token=4)
        last = await log.append(thread, [b"new worker"], token=5)
        assert await log.append(thread, [b"old worker woke up"], token=4) == 0
        assert await log.last_id(thread) == last
        assert await log.append(thread, [b"no attempt's"]) == last + 1

    async def test_a_deleted_thread_is_forgotten(self, log: EventLog) -> None:
        """Its events are gone."""
        thread = uuid4()
        await log.append(thread, [b"1"])
        await log.delete(thread)
        assert await log.last_id(thread) == 0


async def take(stream: AsyncIterator[Entry | Gap], count: int) -> list[Entry]:
    """So many events, then close the stream; a gap is a failure."""
    try:
        return await take_from(stream, count)
    finally:
        await close(stream)


async def take_from(stream: AsyncIterator[Entry | Gap], count: int) -> list[Entry]:
    """So many events; a gap is a failure."""
    entries: list[Entry] = []
    async with asyncio.timeout(5):
        async for item in stream:
            assert isinstance(item, Entry), item
            entries.append(item)
            if len(entries) == count:
                break
    return entries


async def close(stream: AsyncIterator[Entry | Gap]) -> None:
    """End reading."""
    await stream.aclose()  # type: ignore[attr-defined]  # it is an async generator
