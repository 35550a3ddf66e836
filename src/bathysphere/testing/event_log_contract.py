"""Contract tests for event logs. Subclass and provide a `log` fixture.

The log must hold 200 events and 100 kB per thread; `lose_everything` makes it lose all threads,
like a flushed Redis.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from uuid import UUID, uuid4

from bathysphere.core.identity import Owner
from bathysphere.engine.events.log import Entry, Event, EventLog, Gap

CAP = 200
CAP_BYTES = 100_000
ME = Owner(tenant="acme", user="ada")
SOMEBODY = Owner(tenant="zenith", user="eve")


class EventLogContract:
    """The contract of event logs."""

    async def lose_everything(self, log: EventLog, threads: Sequence[UUID]) -> None:
        """Lose the threads without going through the log, if possible."""
        for thread in threads:
            await log.delete(thread)

    async def test_ids_increase_by_one(self, log: EventLog) -> None:
        """The last id is returned, and readers see all of them in order."""
        thread = uuid4()
        last = await log.append(thread, [b"1", b"2"], owner=ME)
        assert await log.append(thread, [b"3"], owner=ME) == last + 1
        assert await log.last_id(thread) == last + 1
        entries = await take(log.read(thread, owner=ME), 3)
        assert [entry.id for entry in entries] == [last - 1, last, last + 1]
        assert [entry.body for entry in entries] == [b"1", b"2", b"3"]

    async def test_an_empty_log_has_no_last_id(self, log: EventLog) -> None:
        """Zero means that there are no events yet."""
        assert await log.last_id(uuid4()) == 0

    async def test_the_newest_come_first(self, log: EventLog) -> None:
        """At most as many as were asked for, and none after an id that was given."""
        thread = uuid4()
        last = await log.append(thread, [b"1", b"2", b"3"], owner=ME)
        newest = await log.newest(thread, owner=ME, count=2)
        assert [(entry.id, entry.body) for entry in newest] == [(last, b"3"), (last - 1, b"2")]
        assert len(await log.newest(thread, owner=ME, count=9)) == 3
        earlier = await log.newest(thread, owner=ME, count=1, up_to=last - 1)
        assert [entry.body for entry in earlier] == [b"2"]
        assert await log.newest(uuid4(), owner=ME, count=9) == []

    async def test_a_reader_goes_on_after_the_id_it_saw(self, log: EventLog) -> None:
        """The event itself is not repeated."""
        thread = uuid4()
        last = await log.append(thread, [b"1", b"2", b"3"], owner=ME)
        assert [e.body for e in await take(log.read(thread, owner=ME, after=last - 2), 2)] == [
            b"2",
            b"3",
        ]

    async def test_a_reader_gets_what_comes_later(self, log: EventLog) -> None:
        """Also if it started before the thread had any events."""
        thread = uuid4()
        reading = asyncio.create_task(take(log.read(thread, owner=ME), 3))
        await asyncio.sleep(0.05)
        await log.append(thread, [b"1"], owner=ME)
        await asyncio.sleep(0.02)
        await log.append(thread, [b"2", b"3"], owner=ME)
        assert [entry.body for entry in await reading] == [b"1", b"2", b"3"]

    async def test_two_readers_see_the_same(self, log: EventLog) -> None:
        """Ids belong to the thread, not to the reader."""
        thread = uuid4()
        readers = [asyncio.create_task(take(log.read(thread, owner=ME), 4)) for _ in range(2)]
        for body in (b"1", b"2", b"3", b"4"):
            await log.append(thread, [body], owner=ME)
        first, second = [await reader for reader in readers]
        assert first == second

    async def test_threads_are_apart(self, log: EventLog) -> None:
        """A reader never sees another thread's events."""
        mine, other = uuid4(), uuid4()
        reading = asyncio.create_task(take(log.read(mine, owner=ME), 1))
        await log.append(other, [b"other"], owner=ME)
        await log.append(mine, [b"mine"], owner=ME)
        assert [entry.body for entry in await reading] == [b"mine"]

    async def test_reconnecting_loses_and_doubles_nothing(self, log: EventLog) -> None:
        """A reader that reconnects at random during writes sees each event once."""
        thread, total, seen = uuid4(), CAP - 10, list[int]()
        dice = random.Random(7)  # noqa: S311  # a repeatable schedule

        async def write() -> None:
            for n in range(total):
                await log.append(thread, [str(n).encode()], owner=ME)
                if n % 5 == 0:
                    await asyncio.sleep(0.002)

        writing = asyncio.create_task(write())
        after = 0
        async with asyncio.timeout(20):
            while len(seen) < total:
                wanted = min(dice.randint(1, 20), total - len(seen))
                entries = await take(log.read(thread, owner=ME, after=after), wanted)
                seen += [int(entry.body) for entry in entries]
                after = entries[-1].id
        await writing
        assert seen == list(range(total))

    async def test_an_old_position_is_answered_with_a_gap(self, log: EventLog) -> None:
        """The log is capped; a reader that is too far behind gets a gap."""
        thread = uuid4()
        first = await log.append(thread, [b"first"], owner=ME)
        for _ in range(10):
            await log.append(thread, [b"x"] * CAP, owner=ME)
        stream = log.read(thread, owner=ME, after=first)
        gap = await anext(stream)
        assert isinstance(gap, Gap)
        entry = await anext(stream)
        assert isinstance(entry, Entry)
        assert entry.id == gap.resumes_at + 1
        await close(stream)

    async def test_a_reader_of_a_lost_log_is_told_and_goes_on(self, log: EventLog) -> None:
        """Even while idle; later events have higher ids than the lost ones."""
        thread = uuid4()
        old = await log.append(thread, [b"old"], owner=ME)
        stream = log.read(thread, owner=ME, after=old - 1)
        assert (await take_from(stream, 1))[0].body == b"old"
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.05)
        await self.lose_everything(log, [thread])
        async with asyncio.timeout(5):
            assert isinstance(await waiting, Gap)
        await asyncio.sleep(0.01)
        new = await log.append(thread, [b"new"], owner=ME)
        assert new > old
        assert (await take_from(stream, 1))[0] == Entry(new, b"new", ME.digest)
        await close(stream)

    async def test_coming_back_to_a_lost_log_is_answered_with_a_gap(self, log: EventLog) -> None:
        """Whether or not the log has new events."""
        thread = uuid4()
        old = await log.append(thread, [b"old"], owner=ME)
        await self.lose_everything(log, [thread])
        await asyncio.sleep(0.01)
        stream = log.read(thread, owner=ME, after=old)
        async with asyncio.timeout(5):
            assert isinstance(await anext(stream), Gap)
        await close(stream)

    async def test_events_that_were_dropped_show_as_a_gap(self, log: EventLog) -> None:
        """A writer that lost events reports this with its next ones."""
        thread = uuid4()
        last = await log.append(thread, [b"1"], owner=ME)
        stream = log.read(thread, owner=ME, after=last)
        await log.append(thread, [b"3"], owner=ME, after_loss=True)
        assert await anext(stream) == Gap(last + 1)
        assert await anext(stream) == Entry(last + 2, b"3", ME.digest)
        await close(stream)

    async def test_a_superseded_attempt_cannot_add_events(self, log: EventLog) -> None:
        """A fencing token lower than the last one is rejected."""
        thread = uuid4()
        await log.append(thread, [b"old worker"], owner=ME, token=4)
        last = await log.append(thread, [b"new worker"], owner=ME, token=5)
        assert await log.append(thread, [b"old worker woke up"], owner=ME, token=4) == 0
        assert await log.last_id(thread) == last
        assert await log.append(thread, [b"no attempt's"], owner=ME) == last + 1

    async def test_a_reader_gets_only_its_own_events(self, log: EventLog) -> None:
        """Regardless of other writers: before and during reading, and after a delete."""
        thread = uuid4()
        await log.append(thread, [b"theirs"], owner=SOMEBODY)
        reading = asyncio.create_task(take(log.read(thread, owner=ME), 2))
        await asyncio.sleep(0.05)
        await log.append(thread, [b"mine"], owner=ME)
        await log.append(thread, [b"theirs"], owner=SOMEBODY)
        await log.append(thread, [b"mine too"], owner=ME)
        assert [entry.body for entry in await reading] == [b"mine", b"mine too"]
        newest = await log.newest(thread, owner=ME, count=9)
        assert [entry.body for entry in newest] == [b"mine too", b"mine"]

    async def test_a_stream_kept_over_a_deletion_shows_nothing_of_the_next_owner(
        self, log: EventLog
    ) -> None:
        """The id of a deleted thread may be reused by another owner."""
        thread = uuid4()
        stream = log.read(thread, owner=ME)
        waiting = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.05)
        await log.delete(thread)
        await log.append(thread, [b"theirs"], owner=SOMEBODY)
        await log.append(thread, [b"theirs"], owner=SOMEBODY)
        done, _ = await asyncio.wait([waiting], timeout=0.3)
        assert not done
        waiting.cancel()
        await asyncio.wait([waiting])

    async def test_a_thread_is_capped_in_bytes(self, log: EventLog) -> None:
        """The oldest events are dropped first; a reader that is behind gets a gap."""
        thread = uuid4()
        first = await log.append(thread, [b"first"], owner=ME)
        for _ in range(8):
            await log.append(thread, [b"x" * (CAP_BYTES // 4)], owner=ME)
        held = await log.newest(thread, owner=ME, count=CAP)
        assert sum(len(entry.body) for entry in held) <= CAP_BYTES
        assert len(held) >= 3
        stream = log.read(thread, owner=ME, after=first)
        assert isinstance(await anext(stream), Gap)
        await close(stream)

    async def test_states_are_read_as_they_were_written(self, log: EventLog) -> None:
        """Though they share most of their messages, and the oldest are dropped."""
        thread, written = uuid4(), dict[int, bytes]()
        chance = random.Random(11)  # noqa: S311  # a repeatable history
        messages: list[str] = []
        for number in range(120):
            if chance.random() < 0.15:
                messages = messages[chance.randrange(20) :]
            messages.append(f"{number} " * chance.choice((1, 100, 900)))
            bodies = [state(messages), b"%d" % number]
            last = await log.append(thread, bodies, owner=ME)
            written |= {last - 1: bodies[0], last: bodies[1]}
            held = await log.newest(thread, owner=ME, count=CAP)
            assert [entry.id for entry in held] == list(range(last, last - len(held), -1))
            assert len(held) >= 2
            assert {entry.id: entry.body for entry in held}.items() <= written.items()
            after = chance.choice(held[1:]).id
            entries = await take(log.read(thread, owner=ME, after=after), last - after)
            assert [entry.body for entry in entries] == [written[e.id] for e in entries]

    async def test_a_state_is_whole_after_a_loss(self, log: EventLog) -> None:
        """The writer stores again what it stored before."""
        thread = uuid4()
        body = state([f"{number} " * 300 for number in range(20)])
        for lose in (self.lose_everything, self.lose_everything, _delete):
            await log.append(thread, [body], owner=ME)
            await log.append(thread, [body], owner=ME)
            await lose(log, [thread])
            await asyncio.sleep(0.01)
            await log.append(thread, [body, body], owner=ME)
            assert [e.body for e in await log.newest(thread, owner=ME, count=9)] == [body, body]

    async def test_an_event_can_be_read_after_it_was_dropped(self, log: EventLog) -> None:
        """A reader that has it keeps what it consists of."""
        thread = uuid4()
        body = state(["old " * 300])
        await log.append(thread, [body], owner=ME)
        [entry] = await log.newest(thread, owner=ME, count=1)
        for number in range(CAP):
            await log.append(thread, [state([f"{number} " * 300])], owner=ME)
        assert entry.body == body

    async def test_a_deleted_thread_is_forgotten(self, log: EventLog) -> None:
        """Its events are gone."""
        thread = uuid4()
        await log.append(thread, [b"1"], owner=ME)
        await log.delete(thread)
        assert await log.last_id(thread) == 0


def state(messages: Sequence[str]) -> bytes:
    """A state's event."""
    data = {"messages": [{"type": "ai", "content": words} for words in messages]}
    return Event(channel="values", run_id="r", data=data).encode()


async def _delete(log: EventLog, threads: Sequence[UUID]) -> None:
    await log.delete(*threads)


async def take(stream: AsyncIterator[Entry | Gap], count: int) -> list[Entry]:
    """Read a number of events, then close the stream; fails on a gap."""
    try:
        return await take_from(stream, count)
    finally:
        await close(stream)


async def take_from(stream: AsyncIterator[Entry | Gap], count: int) -> list[Entry]:
    """Read a number of events; fails on a gap."""
    entries: list[Entry] = []
    async with asyncio.timeout(5):
        async for item in stream:
            assert isinstance(item, Entry), item
            entries.append(item)
            if len(entries) == count:
                break
    return entries


async def close(stream: AsyncIterator[Entry | Gap]) -> None:
    """Close the stream."""
    await stream.aclose()  # type: ignore[attr-defined]  # it is an async generator
