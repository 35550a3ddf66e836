"""The sender of an outbox: delivers what is due, several at a time, and retries.

What is sent, and what a response means, is known by a channel: webhooks or push. Slow and failing
receivers do not hold up others: a receiver and a tenant may use only a part of the process's slots.
"""

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

import httpx
import psycopg
from psycopg_pool import PoolTimeout

from bathysphere.core.cancellation import cancel_all
from bathysphere.core.clock import Clock
from bathysphere.core.errors import CallerError
from bathysphere.engine.delivery.outbox import Delivery, Outbox
from bathysphere.engine.delivery.receivers import Receivers
from bathysphere.tools.errors import FetchRefused

_log = logging.getLogger(__name__)

OnOutcome = Callable[[str], None]
"""Told `delivered`, `retried`, `dead` or `dropped`."""
Verdict = Literal["delivered", "retry", "give up", "drop"]
"""What a response means; what is dropped leaves the outbox although it was not delivered."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """A request to a receiver."""

    url: str
    body: bytes
    headers: Mapping[str, str]


class Channel(Protocol):
    """One kind of messages."""

    @property
    def name(self) -> str:
        """What the log calls one of its messages."""

    async def write(self, delivery: Delivery, now: datetime) -> Message | None:
        """Write what is to be sent; None if nobody needs it any more.

        Raises:
            CallerError: It can never be written: what it is about was deleted.
        """

    async def judge(self, delivery: Delivery, status: int) -> Verdict:
        """Decide what the status of a response means."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SenderOptions:
    """Settings of a sender."""

    poll_seconds: float = 1.0
    slots: int = 16
    slots_per_tenant: int = 8
    slots_per_receiver: int = 2
    attempts: int = 12
    retry_seconds: float = 5.0
    """Pause after the first attempt; doubled after each further one."""
    max_retry_seconds: float = 3600.0
    lease_seconds: float = 10.0
    """How much longer than an attempt a claim lasts, if nothing is recorded."""


class Sender:
    """Sends the messages of an outbox; one per kind and worker process."""

    def __init__(
        self,
        outbox: Outbox,
        receivers: Receivers,
        channel: Channel,
        *,
        clock: Clock,
        options: SenderOptions | None = None,
        on_outcome: OnOutcome = lambda _: None,
    ) -> None:
        self._outbox = outbox
        self._receivers = receivers
        self._channel = channel
        self._clock = clock
        self._options = options or SenderOptions()
        self._on_outcome = on_outcome
        self._sending: dict[asyncio.Task[None], Delivery] = {}

    async def run(self) -> None:
        """Send until cancelled; what is under way is sent again by another process."""
        try:
            while True:
                try:
                    await self._start_due()
                except (psycopg.Error, PoolTimeout) as error:
                    _log.warning("Cannot look for messages (%s): %s", self._channel.name, error)
                await self._wait()
        finally:
            await cancel_all(list(self._sending))

    async def _wait(self) -> None:
        """Wait until a slot becomes free, or for the next look."""
        pause = self._options.poll_seconds * random.uniform(0.8, 1.2)  # noqa: S311  # no secret
        if not self._sending:
            await asyncio.sleep(pause)
            return
        await asyncio.wait(self._sending, timeout=pause, return_when=asyncio.FIRST_COMPLETED)

    async def _start_due(self) -> None:
        while len(self._sending) < self._options.slots:
            delivery = await self._claim()
            if delivery is None:
                return
            task = asyncio.create_task(self._send(delivery))
            self._sending[task] = delivery
            task.add_done_callback(self._finish)

    def _finish(self, task: asyncio.Task[None]) -> None:
        delivery = self._sending.pop(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            # Its lease passes; after the last attempt it is given up.
            _log.error("%s %s failed", self._channel.name, delivery.message_id, exc_info=error)

    async def _claim(self) -> Delivery | None:
        tenants = Counter(one.owner.tenant for one in self._sending.values())
        receivers = Counter((one.owner.tenant, one.receiver) for one in self._sending.values())
        options = self._options
        return await self._outbox.claim(
            # Longer than an attempt takes, so that no two processes send at once.
            lease_seconds=self._receivers.rules.timeout_seconds + options.lease_seconds,
            busy_tenants=[t for t, n in tenants.items() if n >= options.slots_per_tenant],
            busy_receivers=[r for r, n in receivers.items() if n >= options.slots_per_receiver],
        )

    async def _send(self, delivery: Delivery) -> None:
        try:
            verdict, problem = await self._attempt(delivery)
            await self._record(delivery, verdict, problem)
        except (psycopg.Error, PoolTimeout) as error:
            # Its lease passes, and it is sent again with the same id.
            name = self._channel.name
            _log.warning("%s %s: PostgreSQL is unavailable: %s", name, delivery.message_id, error)

    async def _record(self, delivery: Delivery, verdict: Verdict, problem: str) -> None:
        if verdict in ("delivered", "drop"):
            await self._outbox.remove(delivery)
            self._on_outcome("delivered" if verdict == "delivered" else "dropped")
        elif verdict == "retry" and delivery.attempts < self._options.attempts:
            await self._outbox.retry(delivery, seconds=self._pause(delivery), error=problem)
            self._on_outcome("retried")
        else:
            _log.error(
                "%s %s of run %s was given up after %d attempts: %s",
                *(self._channel.name, delivery.message_id, delivery.run_id),
                *(delivery.attempts, problem),
            )
            await self._outbox.give_up(delivery, error=problem)
            self._on_outcome("dead")

    async def _attempt(self, delivery: Delivery) -> tuple[Verdict, str]:
        """Send once; return what is to be done next, and what went wrong."""
        if delivery.attempts > self._options.attempts:
            return "give up", "no attempt came to an end"
        try:
            message = await self._channel.write(delivery, self._clock.now())
        except CallerError as error:  # the run was deleted meanwhile
            return "give up", error.code
        if message is None:
            return "drop", "not needed any more"
        try:
            status = await self._receivers.post(message.url, message.body, message.headers)
        except FetchRefused as error:
            is_final = error.reason != "no_address"
            return "give up" if is_final else "retry", f"refused: {error.reason}"
        except (httpx.HTTPError, TimeoutError) as error:
            return "retry", type(error).__name__
        return await self._channel.judge(delivery, status), f"status {status}"

    def _pause(self, delivery: Delivery) -> float:
        seconds = self._options.retry_seconds * 2.0 ** (delivery.attempts - 1)
        # Spread, so that a receiver that comes back does not get everything at once.
        jitter = random.uniform(0.8, 1.2)  # noqa: S311  # no secret
        return min(seconds, self._options.max_retry_seconds) * jitter
