"""The channels that a process listens to, on a connection of their own.

In redis-py, each task that uses a broken connection connects it again. If two do so at the same
time, the task that reads fails, or waits on a connection that has been replaced. Here, only
`connect` connects. A channel that is added or removed while there is no connection need not be
sent, because the next connection subscribes to all of them.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from redis.asyncio import ConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

LOST = (RedisError, OSError, RuntimeError, AttributeError)
"""What redis-py raises on a lost connection; the last two if another task closes it meanwhile."""


class RedisSubscription:
    """Listens to channels. Calls of `connect`, `message` and `close` must not overlap."""

    def __init__(self, redis: Redis, *, channels: Callable[[], Sequence[str]]) -> None:
        pool = redis.connection_pool
        settings = {**pool.connection_kwargs, "retry": Retry(NoBackoff(), 0, supported_errors=())}
        self._redis = Redis(
            connection_pool=ConnectionPool(connection_class=pool.connection_class, **settings)
        )
        self._channels = channels
        self._pubsub: Any = None

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection, as far as is known."""
        return self._pubsub is not None and self._pubsub.connection.is_connected

    async def connect(self) -> None:
        """Subscribe to all channels on a new connection."""
        await self.close()
        pubsub: Any = self._redis.pubsub()
        try:
            await pubsub.subscribe(*self._channels())
        except BaseException:
            await pubsub.aclose()
            await self.close()
            raise
        self._pubsub = pubsub

    async def message(self) -> Any:
        """Wait for a message, or for the confirmation of a subscription."""
        if not self.is_connected:
            raise ConnectionError("not connected")
        return await self._pubsub.get_message(timeout=None)

    async def add(self, channel: str) -> None:
        """Subscribe to another channel; its confirmation is a message."""
        if self.is_connected:
            await self._send(self._pubsub, self._pubsub.subscribe(channel))

    async def remove(self, channel: str) -> None:
        """Unsubscribe from a channel."""
        if self.is_connected:
            await self._send(self._pubsub, self._pubsub.unsubscribe(channel))

    async def _send(self, pubsub: Any, command: Awaitable[None]) -> None:
        """Send a command. If that fails, close the connection: the task that listens notices."""
        try:
            await command
        except LOST:
            if pubsub.connection is not None:
                await pubsub.connection.disconnect(nowait=True)

    async def close(self) -> None:
        """Close the connection, and any whose opening was abandoned."""
        pubsub, self._pubsub = self._pubsub, None
        if pubsub is not None:
            await pubsub.aclose()
        await self._redis.connection_pool.disconnect()
