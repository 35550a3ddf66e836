"""The journal of an attempt's model calls.

A row is stored before the model is asked and completed before its answer is used. A worker that
dies therefore loses no call: at worst the tokens of one are an estimate. Rows are not fenced,
because the model was asked also if another attempt has taken over the run.
"""

import asyncio
import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from typing import NamedTuple
from uuid import UUID

import psycopg

from bathysphere.core.clock import Clock
from bathysphere.engine.database.pool import Connection, Pool
from bathysphere.engine.records import Run
from bathysphere.models.prices import Price

_log = logging.getLogger(__name__)
_MILLION = 1_000_000


PriceOf = Callable[[str], Price | None]
"""The price of a model by its `provider:name`; None if it has none."""


def no_price(name: str) -> None:
    """Know no price."""


class Remainder(NamedTuple):
    """What an attempt used since its last model call began."""

    tool_calls: int
    seconds: float


NOTHING = Remainder(0, 0.0)


async def record_usage(connection: Connection, run: Run, rest: Remainder) -> None:
    """Move the calls of a run that ended to its usage, and add the remainder."""
    values = (run.run_id, rest.tool_calls, rest.seconds)
    await connection.execute("SELECT engine.record_usage(%s, %s, %s)", values)


@dataclass(slots=True)
class _Call:
    """A model call, and how much of it is stored."""

    call_id: UUID
    model: str
    input_tokens: int
    tool_calls: int
    seconds: float
    output_tokens: int = 0
    is_estimated: bool = True
    is_ended: bool = False
    is_begin_stored: bool = False
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)


class CallJournal:
    """Counts the calls of one attempt at a run. All methods but `count_tool` run on its loop."""

    def __init__(self, pool: Pool, run: Run, *, clock: Clock, price_of: PriceOf = no_price) -> None:
        self._pool = pool
        self._run = run
        self._clock = clock
        self._price_of = price_of
        self._calls: dict[UUID, _Call] = {}
        self._tool_calls = 0
        self._tools_lock = threading.Lock()
        self._since = clock.monotonic()

    def count_tool(self) -> None:
        """Count a tool call, on any thread."""
        with self._tools_lock:
            self._tool_calls += 1

    async def begin(self, call_id: UUID, *, model: str, input_tokens: int) -> None:
        """Record a call that is about to be made; its input is an estimate until it ends."""
        rest = self._take_remainder()
        call = _Call(call_id, model, input_tokens, rest.tool_calls, rest.seconds)
        self._calls[call_id] = call
        await self._try_to_store(call)

    async def end(
        self,
        call_id: UUID,
        *,
        input_tokens: int | None = None,
        output_tokens: int = 0,
        is_estimated: bool = False,
    ) -> None:
        """Record the tokens of a call; without `input_tokens` the estimate remains."""
        call = self._calls.get(call_id)
        if call is None or call.is_ended:
            return
        if input_tokens is not None:
            call.input_tokens = input_tokens
        call.output_tokens, call.is_estimated = output_tokens, is_estimated
        call.is_ended = True
        await self._try_to_store(call)

    async def close(self) -> Remainder:
        """Store what is not stored yet; calls that were cut off keep their estimate.

        Raises:
            OperationalError: PostgreSQL is unavailable; call again.
        """
        for call in list(self._calls.values()):
            call.is_ended = True
            await self._store(call)
        return self._take_remainder()

    async def _try_to_store(self, call: _Call) -> None:
        """Store the call; if PostgreSQL is unavailable, the next event or `close` stores it."""
        try:
            await self._store(call)
        except psycopg.Error as error:  # the call itself must go on
            _log.warning("A model call of run %s is not stored yet: %s", self._run.run_id, error)

    async def _store(self, call: _Call) -> None:
        async with call.lock, self._pool.connection() as connection:
            # In this order, and the first until it succeeds: the row of a call that has not ended
            # is never moved, so neither statement can count it twice when it is repeated.
            if not call.is_begin_stored:
                await self._insert(connection, call)
                call.is_begin_stored = True
            if call.is_ended and call.call_id in self._calls:
                await self._update(connection, call)
                del self._calls[call.call_id]

    async def _insert(self, connection: Connection, call: _Call) -> None:
        cost, currency = self._cost(call)
        values = (
            call.call_id,
            self._run.run_id,
            self._run.owner.tenant,
            self._run.run_id,
            self._run.graph,
            call.model,
            call.input_tokens,
            cost,
            currency,
            call.tool_calls,
            call.seconds,
        )
        await connection.execute(_INSERT, values)

    async def _update(self, connection: Connection, call: _Call) -> None:
        cost, _ = self._cost(call)
        used = (call.input_tokens, call.output_tokens, call.is_estimated, cost)
        await connection.execute(_UPDATE, (*used, call.call_id))

    def _cost(self, call: _Call) -> tuple[Decimal | None, str]:
        price = self._price_of(call.model)
        if price is None:
            return None, ""
        paid = (
            Decimal(str(price.input)) * call.input_tokens
            + Decimal(str(price.output)) * call.output_tokens
        )
        return paid / _MILLION, price.currency

    def _take_remainder(self) -> Remainder:
        now = self._clock.monotonic()
        with self._tools_lock:
            rest = Remainder(self._tool_calls, now - self._since)
            self._tool_calls, self._since = 0, now
        return rest


# The name is the run's: a person who has just been deleted, with their runs, must not come back.
_INSERT = """
INSERT INTO engine.model_calls
       (call_id, run_id, tenant, owner, graph, model, input_tokens, cost, currency, tool_calls,
        seconds)
VALUES (%s, %s, %s, COALESCE((SELECT owner FROM engine.runs WHERE run_id = %s), 'deleted'),
        %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (call_id) DO NOTHING
"""
_UPDATE = """
UPDATE engine.model_calls
   SET input_tokens = %s, output_tokens = %s, is_estimated = %s, cost = %s, is_ended = true
 WHERE call_id = %s
"""
