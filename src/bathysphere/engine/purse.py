"""The purse of one attempt: an attempt that was taken over charges nothing more."""

from collections.abc import Callable
from uuid import UUID

from bathysphere.core.payments import Bill, Owed, Paid, Purse
from bathysphere.engine.database import Pool, reachable
from bathysphere.engine.errors import Superseded


class FencedPurse:
    """A thread's purse in the hands of one attempt at a run."""

    def __init__(self, purse: Purse, pool: Pool, *, run_id: UUID, token: int) -> None:
        self._purse = purse
        self._pool = pool
        self._run_id = run_id
        self._token = token

    def quote(self, tokens_in: Callable[[], int]) -> int:
        """The most that a call can cost."""
        return self._purse.quote(tokens_in)

    def cost(self, tokens_in: Callable[[], int], tokens_out: Callable[[], int]) -> int:
        """What a call did cost."""
        return self._purse.cost(tokens_in, tokens_out)

    async def charge(self, key: str, amount: int) -> Paid | Owed:
        """Pay for a call, once for its key.

        Raises:
            Superseded: Another attempt has the run; it will charge for the step if it gets there.
        """
        with reachable():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(
                    "SELECT 1 FROM engine.runs WHERE run_id = %s AND token = %s",
                    (self._run_id, self._token),
                )
                if await cursor.fetchone() is None:
                    raise Superseded(f"run {self._run_id} was taken over")
            return await self._purse.charge(key, amount)

    async def complete(self, key: str, amount: int, answer: bytes) -> Paid | Owed:
        """Keep the answer. Not fenced: it was given, and whoever took the run over may use it."""
        with reachable():
            return await self._purse.complete(key, amount, answer)

    async def void(self, key: str) -> None:
        """The call failed: give the charge back."""
        with reachable():
            await self._purse.void(key)

    async def keep(self, key: str) -> None:
        """The call was cancelled under way. It stands where the person asked for that.

        Where a worker leaves, or another call of the step waits for the person, the call is made
        again later, under the charge that it has.
        """
        with reachable():
            async with self._pool.connection() as connection:
                cursor = await connection.execute(
                    "SELECT 1 FROM engine.runs WHERE run_id = %s AND cancel IS NOT NULL",
                    (self._run_id,),
                )
                if await cursor.fetchone() is not None:
                    await self._purse.keep(key)

    async def deposit(self, token: str) -> int:
        """Take a token in; what it added."""
        with reachable():
            return await self._purse.deposit(token)

    async def bill(self, needed: int) -> Bill:
        """How to pay so that `needed` is there."""
        with reachable():
            return await self._purse.bill(needed)
