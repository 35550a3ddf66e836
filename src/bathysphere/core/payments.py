"""The interface for paying for model calls.

A `Purse` belongs to the thread and payer of a run. `charge` is called before the model call and is
idempotent by key: if `Paid` has an answer, it is the recorded one, and the model is not called
again. `Owed` means that the call must not be made. After the call, `complete` is called, or `void`
if it failed, or `keep` if it was cancelled in progress. Without a purse nothing is charged.
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
        """Store the answer of a call, and reduce its charge to at most `amount`.

        A cost above the charge is not collected, but recorded as a shortfall.
        """
        ...

    async def void(self, key: str) -> None:
        """Refund the charge of a failed call."""
        ...

    async def keep(self, key: str) -> None:
        """Keep the charge of a call that was cancelled while the model was answering."""
        ...

    async def mark_streamed(self, key: str) -> None:
        """Record that the call was cut off after part of its answer was streamed.

        If the call is repeated, it uses the same charge; otherwise the charge is kept.
        """
        ...

    async def deposit(self, token: str) -> int:
        """Deposit a token and return the amount credited. Raises a `CallerError` if refused."""
        ...

    async def bill(self, needed: int) -> Bill:
        """Return payment instructions to bring the balance to `needed`."""
        ...


class NotDurable(ConfigError):
    """A paid run could be charged twice, because a step is not saved before the next one starts."""

    code = "not_durable"
