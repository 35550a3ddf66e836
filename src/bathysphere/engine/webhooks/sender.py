"""The sender of webhooks: delivers what is due, several at a time, and retries.

A webhook is delivered when its receiver responds with a 2xx status. Slow and failing receivers do
not hold up others: a receiver and a tenant may use only a part of the process's slots.
"""

import asyncio
import logging
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

import httpx
import psycopg
from psycopg_pool import PoolTimeout

from bathysphere.core.cancellation import cancel_all
from bathysphere.core.clock import Clock
from bathysphere.core.errors import CallerError
from bathysphere.engine.webhooks.outbox import Delivery, Outbox
from bathysphere.engine.webhooks.receivers import Receivers
from bathysphere.engine.webhooks.signing import WebhookSigner
from bathysphere.tools.errors import FetchRefused

_log = logging.getLogger(__name__)

WriteBody = Callable[[Delivery, datetime], Awaitable[bytes]]
"""Writes the body of a webhook, as its owner may read it, with the time of sending."""
OnOutcome = Callable[[str], None]
"""Told `delivered`, `retried` or `dead`."""


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
    """Sends webhooks; one per worker process."""

    def __init__(
        self,
        outbox: Outbox,
        receivers: Receivers,
        *,
        signer: WebhookSigner,
        write_body: WriteBody,
        clock: Clock,
        options: SenderOptions | None = None,
        on_outcome: OnOutcome = lambda _: None,
    ) -> None:
        self._outbox = outbox
        self._receivers = receivers
        self._signer = signer
        self._write_body = write_body
        self._clock = clock
        self._options = options or SenderOptions()
        self._on_outcome = on_outcome
        self._sending: dict[asyncio.Task[None], Delivery] = {}

    async def run(self) -> None:
        """Send webhooks until cancelled; those under way are sent again by another process."""
        try:
            while True:
                try:
                    await self._start_due()
                except (psycopg.Error, PoolTimeout) as error:
                    _log.warning("Cannot look for webhooks: %s", error)
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
            _log.error("Webhook %s failed", delivery.message_id, exc_info=error)

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
        problem: str | None
        try:
            if delivery.attempts > self._options.attempts:
                problem, is_final = "no attempt came to an end", True
            else:
                problem, is_final = await self._attempt(delivery)
            if problem is None:
                await self._outbox.remove(delivery)
                self._on_outcome("delivered")
            elif is_final or delivery.attempts >= self._options.attempts:
                _log.error(
                    "Webhook %s of run %s was given up after %d attempts: %s",
                    *(delivery.message_id, delivery.run_id, delivery.attempts, problem),
                )
                await self._outbox.give_up(delivery, error=problem)
                self._on_outcome("dead")
            else:
                await self._outbox.retry(delivery, seconds=self._pause(delivery), error=problem)
                self._on_outcome("retried")
        except (psycopg.Error, PoolTimeout) as error:
            # Its lease passes, and it is sent again with the same id.
            _log.warning("Webhook %s: PostgreSQL is unavailable: %s", delivery.message_id, error)

    async def _attempt(self, delivery: Delivery) -> tuple[str | None, bool]:
        """Send once; return what went wrong, and whether another attempt is pointless."""
        now = self._clock.now()
        try:
            body = await self._write_body(delivery, now)
        except CallerError as error:  # the run was deleted meanwhile
            return error.code, True
        tenant = delivery.owner.tenant
        headers = self._signer.headers(tenant, delivery.message_id, now, body)
        try:
            status = await self._receivers.post(delivery.url, body, headers)
        except FetchRefused as error:
            return f"refused: {error.reason}", error.reason != "no_address"
        except (httpx.HTTPError, TimeoutError) as error:
            return type(error).__name__, False
        return (None if 200 <= status < 300 else f"status {status}"), False

    def _pause(self, delivery: Delivery) -> float:
        seconds = self._options.retry_seconds * 2.0 ** (delivery.attempts - 1)
        # Spread, so that a receiver that comes back does not get everything at once.
        jitter = random.uniform(0.8, 1.2)  # noqa: S311  # no secret
        return min(seconds, self._options.max_retry_seconds) * jitter
