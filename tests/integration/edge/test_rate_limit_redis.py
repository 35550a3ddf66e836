"""The same buckets in Redis, shared by processes."""

import asyncio
import secrets

import pytest
from redis.asyncio import Redis

from bathysphere.core.clock import SystemClock
from bathysphere.server.asgi.token_bucket import Rate, RedisBuckets

pytestmark = pytest.mark.services
REDIS = "redis://127.0.0.1:6379/0"


async def test_two_processes_share_one_bucket():
    key = secrets.token_hex(8)
    async with Redis.from_url(REDIS) as redis:
        one, two = (
            RedisBuckets(redis, Rate(per_second=0.5, burst=4), clock=SystemClock()) for _ in "ab"
        )
        async with asyncio.TaskGroup() as group:
            takes = [group.create_task(one.take(key)) for _ in range(4)]
            takes += [group.create_task(two.take(key)) for _ in range(4)]
        waits = [take.result() for take in takes]
        assert sorted(bool(wait) for wait in waits) == [False] * 4 + [True] * 4
        assert 1 < max(waits) <= 2
        assert 0 < await redis.pttl(f"bathysphere:rate:{key}") <= 9000


async def test_a_bucket_fills_up_again():
    key = secrets.token_hex(8)
    async with Redis.from_url(REDIS) as redis:
        buckets = RedisBuckets(redis, Rate(per_second=20, burst=1), clock=SystemClock())
        assert await buckets.take(key) == 0
        wait = await buckets.take(key)
        assert 0 < wait <= 0.05
        await asyncio.sleep(wait + 0.02)
        assert await buckets.take(key) == 0


async def test_several_are_taken_together_and_one_can_be_given_back():
    key = secrets.token_hex(8)
    async with Redis.from_url(REDIS) as redis:
        buckets = RedisBuckets(redis, Rate(per_second=0.1, burst=4), clock=SystemClock())
        assert await buckets.take(key, 3) == 0
        assert await buckets.take(key, 2) > 0
        await buckets.give_back(key)
        assert await buckets.take(key, 2) == 0
        assert await buckets.take(key, 100) > 30


async def test_without_redis_a_process_counts_for_itself():
    async with Redis.from_url("redis://127.0.0.1:1/0") as redis:
        buckets = RedisBuckets(redis, Rate(per_second=1, burst=2), clock=SystemClock())
        assert [await buckets.take("k") > 0 for _ in range(3)] == [False, False, True]
