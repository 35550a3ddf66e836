"""Token buckets for rate limits, in memory or in Redis.

In Redis a request is one script, so that any number of API processes share one bucket; while Redis
is unavailable, each process counts on its own.
"""

import logging
from collections import OrderedDict
from dataclasses import dataclass
from typing import Protocol

from redis.asyncio import Redis
from redis.exceptions import RedisError

from bathysphere.core.circuit_breaker import CircuitBreaker
from bathysphere.core.clock import Clock
from bathysphere.core.errors import UpstreamError

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rate:
    """A sustained rate (`per_second`) with a `burst`."""

    per_second: float
    burst: int


class Buckets(Protocol):
    """Token buckets by key."""

    async def take(self, key: str, count: int = 1) -> float:
        """Take `count` tokens (at most `burst`); return 0, or the seconds to wait."""
        ...

    async def give_back(self, key: str) -> None:
        """Put one token back."""
        ...


class MemoryBuckets:
    """The buckets of one process; beyond `max_keys` the least recently used are dropped."""

    def __init__(self, rate: Rate, *, clock: Clock, max_keys: int = 100_000) -> None:
        self._rate = rate
        self._clock = clock
        self._max_keys = max_keys
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def take(self, key: str, count: int = 1) -> float:
        """Take `count` tokens (at most `burst`); return 0, or the seconds to wait."""
        count = min(count, self._rate.burst)
        now = self._clock.monotonic()
        tokens, since = self._buckets.pop(key, (float(self._rate.burst), now))
        tokens = min(self._rate.burst, tokens + (now - since) * self._rate.per_second)
        wait = 0.0 if tokens >= count else (count - tokens) / self._rate.per_second
        self._buckets[key] = (tokens if wait else tokens - count, now)
        if len(self._buckets) > self._max_keys:
            self._buckets.popitem(last=False)
        return wait

    async def give_back(self, key: str) -> None:
        """Put one token back."""
        if key in self._buckets:
            tokens, since = self._buckets[key]
            self._buckets[key] = (tokens + 1, since)


class RedisBuckets:
    """Buckets shared by all API processes."""

    def __init__(
        self, redis: Redis, rate: Rate, *, clock: Clock, prefix: str = "bathysphere:rate:"
    ) -> None:
        self._rate = rate
        self._prefix = prefix
        self._take = redis.register_script(_TAKE)
        self._breaker = CircuitBreaker("Redis", errors=(RedisError, OSError), clock=clock)
        self._fallback = MemoryBuckets(rate, clock=clock)

    async def take(self, key: str, count: int = 1) -> float:
        """Take `count` tokens (at most `burst`); return 0, or the seconds to wait."""
        count = min(count, self._rate.burst)
        try:
            return await self._call(key, count)
        except UpstreamError as error:
            _log.warning("Rate limits are counted in this process only: %s", error)
            return await self._fallback.take(key, count)

    async def give_back(self, key: str) -> None:
        """Put one token back."""
        try:
            await self._call(key, -1)
        except UpstreamError:
            await self._fallback.give_back(key)

    async def _call(self, key: str, count: int) -> float:
        arguments = [self._rate.per_second, self._rate.burst, count]
        keys = [f"{self._prefix}{key}"]
        waiting = await self._breaker.call(lambda: self._take(keys=keys, args=arguments))
        return int(waiting) / 1000


# Uses the time of the Redis server: clocks of API processes differ.
_TAKE = """
local rate, burst, count = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local held = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens, at = tonumber(held[1]) or burst, tonumber(held[2]) or now
tokens = math.min(burst, tokens + math.max(0, now - at) * rate / 1000)
local wait = 0
if tokens >= count then tokens = math.min(burst, tokens - count)
else wait = math.ceil((count - tokens) / rate * 1000) end
redis.call('HSET', KEYS[1], 'tokens', tostring(tokens), 'at', tostring(now))
redis.call('PEXPIRE', KEYS[1], math.ceil(burst / rate * 1000) + 1000)
return wait
"""
