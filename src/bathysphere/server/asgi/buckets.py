"""Token buckets: how much a caller may ask for at once and in the long run.

One protocol, in memory and on Redis. In Redis a request is one script, so that any number of API
processes share one bucket; when Redis is away each process counts for itself.
"""

import logging
from collections import OrderedDict
from dataclasses import dataclass
from typing import Protocol

from redis.asyncio import Redis
from redis.exceptions import RedisError

from bathysphere.core.clock import Clock

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class Rate:
    """`burst` at once, `per_second` in the long run."""

    per_second: float
    burst: int


class Buckets(Protocol):
    """Takes one token from a caller's bucket."""

    async def take(self, key: str) -> float:
        """Take one; 0 when there was one, else the seconds until there is."""
        ...


class MemoryBuckets:
    """The buckets of one process; the least used are forgotten beyond `most`."""

    def __init__(self, rate: Rate, *, clock: Clock, most: int = 100_000) -> None:
        self._rate = rate
        self._clock = clock
        self._most = most
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    async def take(self, key: str) -> float:
        """Take one; 0 when there was one, else the seconds until there is."""
        now = self._clock.monotonic()
        tokens, since = self._buckets.pop(key, (float(self._rate.burst), now))
        tokens = min(self._rate.burst, tokens + (now - since) * self._rate.per_second)
        wait = 0.0 if tokens >= 1 else (1 - tokens) / self._rate.per_second
        self._buckets[key] = (tokens - 1 if tokens >= 1 else tokens, now)
        if len(self._buckets) > self._most:
            self._buckets.popitem(last=False)
        return wait


class RedisBuckets:
    """Buckets that all API processes share."""

    def __init__(self, redis: Redis, rate: Rate, *, clock: Clock) -> None:
        self._rate = rate
        self._take = redis.register_script(_TAKE)
        self._alone = MemoryBuckets(rate, clock=clock)

    async def take(self, key: str) -> float:
        """Take one; 0 when there was one, else the seconds until there is."""
        arguments = [self._rate.per_second, self._rate.burst]
        try:
            milliseconds = await self._take(keys=[f"bathysphere:rate:{key}"], args=arguments)
        except (RedisError, OSError) as error:
            _log.warning("rate limits are counted in this process only: %s", error)
            return await self._alone.take(key)
        return int(milliseconds) / 1000


# The server's own time: clocks of API processes differ.
_TAKE = """
local rate, burst = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local held = redis.call('HMGET', KEYS[1], 'tokens', 'at')
local tokens, at = tonumber(held[1]) or burst, tonumber(held[2]) or now
tokens = math.min(burst, tokens + math.max(0, now - at) * rate / 1000)
local wait = 0
if tokens >= 1 then tokens = tokens - 1 else wait = math.ceil((1 - tokens) / rate * 1000) end
redis.call('HSET', KEYS[1], 'tokens', tostring(tokens), 'at', tostring(now))
redis.call('PEXPIRE', KEYS[1], math.ceil(burst / rate * 1000) + 1000)
return wait
"""
