"""Paying for model calls: what code that calls a model asks before, and says after.

A `Purse` is handed to a run for its thread and its payer. `charge` comes before the model call and
is once for its key: `Paid` with an answer is the answer of the first time, which the model is not
asked for again. `Owed` means that the call must not be made. After the call comes `complete`, or
`void` when it failed, or `keep` when it was cancelled under way. Without a purse nothing is paid.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from bathysphere.core.errors import ConfigError

Reason = Literal["insufficient", "expired", "no_session", "voided"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Paid:
    """The call is paid for; `answer` is set if it was already made."""

    balance: int
    spent: int
    answer: bytes | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Owed:
    """The call is not paid for, with the reason."""

    balance: int
    reason: Reason


@dataclass(frozen=True, kw_only=True, slots=True)
class Bill:
    """Payment instructions; `request` is None until the payer has provided a refund key."""

    suggested: int
    mint: str
    unit: str
    request: str | None
    """A NUT-18 payment request, `creqA…`."""


class Purse(Protocol):
    """The balance of one thread, as its runs may use it."""

    @property
    def max_output(self) -> int | None:
        """The maximum number of output tokens that a charge covers; None if output is free."""
        ...

    def quote(self, tokens_in: Callable[[], int]) -> int:
        """Return the maximum cost of a call, which is charged before it."""
        ...

    def cost(self, tokens_in: Callable[[], int], tokens_out: Callable[[], int]) -> int:
        """Return the actual cost of a call; tokens are counted only if the price needs them."""
        ...

    async def charge(self, key: str, amount: int) -> Paid | Owed:
        """Pay for a call, once per key."""
        ...

    async def complete(self, key: str, amount: int, answer: bytes) -> Paid | Owed:
        """The model answered: keep the answer, and of the charge at most `amount`.

        What the call cost beyond its charge is not taken, but written down as a shortfall.
        """
        ...

    async def void(self, key: str) -> None:
        """Refund the charge of a failed call."""
        ...

    async def keep(self, key: str) -> None:
        """Keep the charge of a call that was cancelled while the model was answering."""
        ...

    async def mark_streamed(self, key: str) -> None:
        """The call was cut off after part of its answer was streamed.

        Made again, it has its charge; never made again, the charge stands.
        """
        ...

    async def deposit(self, token: str) -> int:
        """Deposit a token and return the amount credited. Raises a `CallerError` if refused."""
        ...

    async def bill(self, needed: int) -> Bill:
        """Return payment instructions to bring the balance to `needed`."""
        ...


class NotDurable(ConfigError):
    """A paid run could be charged twice: its steps are not saved before the next begins."""

    code = "not_durable"
