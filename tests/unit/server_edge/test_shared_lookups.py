"""Look-ups shared by those who ask at the same time."""

import asyncio

import pytest

from bathysphere.server.identity.shared_lookups import SharedLookups


class Place:
    """Something that can be looked up, slowly."""

    def __init__(self) -> None:
        self.value: str | Exception = "old"
        self.begun = 0
        self.go = asyncio.Event()

    async def look_up(self, key: str) -> str:
        del key
        self.begun += 1
        seen = self.value
        await self.go.wait()
        if isinstance(seen, Exception):
            raise seen
        return seen


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def test_many_who_ask_at_once_cost_two_look_ups_and_see_every_change_made_before():
    place = Place()
    lookups = SharedLookups(place.look_up)
    first = asyncio.create_task(lookups.get("key"))
    await settle()
    place.value = "new"  # such as a revocation, after the first look-up has begun
    later = [asyncio.create_task(lookups.get("key")) for _ in range(100)]
    await settle()
    place.go.set()
    assert await first == "old"
    assert set(await asyncio.gather(*later)) == {"new"}
    assert place.begun == 2
    assert await lookups.get("key") == "new"
    assert place.begun == 3, "nothing is remembered"
    assert not lookups._running
    assert not lookups._next


async def test_different_keys_do_not_wait_for_each_other():
    place = Place()
    lookups = SharedLookups(place.look_up)
    tasks = [asyncio.create_task(lookups.get(key)) for key in ("a", "b")]
    await settle()
    assert place.begun == 2
    place.go.set()
    await asyncio.gather(*tasks)


async def test_a_failure_reaches_all_who_shared_it_and_one_who_left_disturbs_nobody():
    place = Place()
    place.value = OSError("unreachable")
    lookups = SharedLookups(place.look_up)
    left, *stayed = [asyncio.create_task(lookups.get("key")) for _ in range(3)]
    await settle()
    left.cancel()
    await settle()
    place.go.set()
    for task in stayed:
        with pytest.raises(OSError, match="unreachable"):
            await task
    assert not lookups._running
    assert not lookups._next
