"""The purse of one attempt, which cannot charge after another attempt took over the run."""

from collections.abc import Callable
from uuid import UUID

from bathysphere.core.payments import Bill, Owed, Paid, Purse
from bathysphere.engine.database.pool import Pool, storage_errors
from bathysphere.engine.fencing import HOLDS_RUN, superseded


class FencedPurse:
    """A thread's purse, for one attempt at a run."""

    def __init__(self, purse: Purse, pool: Pool, *, run_id: UUID, token: int) -> None:
        self._purse = purse
        self._pool = pool
        self._run_id = run_id
        self._token = token

    @property
    def max_output(self) -> int | None:
        """The maximum output tokens that a charge covers."""
        return self._purse.max_output

    def quote(self, tokens_in: Callable[[], int]) -> int:
        """Return the maximum cost of a call."""
        return self._purse.quote(tokens_in)

    def cost(self, tokens_in: Callable[[], int], tokens_out: Callable[[], int]) -> int:
        """Return the actual cost of a call."""
        return self._purse.cost(tokens_in, tokens_out)

    async def charge(self, key: str, amount: int) -> Paid | Owed:
        """Pay for a call, once per key.

        Raises:
            Superseded: Another attempt has the run; it will charge for the step if it gets there.
        """
        with storage_errors():
            async with self._pool.connection() as connection:
                held = {"run": self._run_id, "token": self._token}
                cursor = await connection.execute(HOLDS_RUN, held)
                if await cursor.fetchone() is None:
                    raise superseded(self._run_id)
            return await self._purse.charge(key, amount)

    async def complete(self, key: str, amount: int, answer: bytes) -> Paid | Owed:
        """Store the answer. Not fenced: the attempt that took over the run may use it."""
        with storage_errors():
            return await self._purse.complete(key, amount, answer)

    async def void(self, key: str) -> None:
        """Refund the charge of a failed call."""
        with storage_errors():
            await self._purse.void(key)

    async def keep(self, key: str) -> None:
        """Keep the charge of a call that was cancelled in progress, if the person cancelled it.

        If the worker shuts down, or another call of the step waits for the person, the call is
        made again later under the same charge. If it never is, the charge is settled when the
        account is closed: a call that streamed is not refunded (`mark_streamed`).
        """
        with storage_errors():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(
                    "SELECT 1 FROM engine.runs WHERE run_id = %s AND cancel IS NOT NULL",
                    (self._run_id,),
                )
                if await cursor.fetchone() is not None:
                    await self._purse.keep(key)

    async def mark_streamed(self, key: str) -> None:
        """Record that the call was cut off after part of its answer was streamed."""
        with storage_errors():
            await self._purse.mark_streamed(key)

    async def deposit(self, token: str) -> int:
        """Deposit a token; return the amount it added."""
        with storage_errors():
            return await self._purse.deposit(token)

    async def bill(self, needed: int) -> Bill:
        """Return how to pay so that `needed` is available."""
        with storage_errors():
            return await self._purse.bill(needed)
