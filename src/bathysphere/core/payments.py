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
    """The call is paid for; `answer` is there when it was also made."""

    balance: int
    spent: int
    answer: bytes | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Owed:
    """The call is not paid for, and why."""

    balance: int
    reason: Reason


@dataclass(frozen=True, kw_only=True, slots=True)
class Bill:
    """What a person needs in order to pay; `request` is missing until they have given a key."""

    suggested: int
    mint: str
    unit: str
    request: str | None
    """A NUT-18 payment request, `creqA…`."""


class Purse(Protocol):
    """The money of one thread, as its runs may use it."""

    def quote(self, tokens_in: Callable[[], int]) -> int:
        """The most that a call with so many tokens can cost: what is charged before it."""
        ...

    def cost(self, tokens_in: Callable[[], int], tokens_out: Callable[[], int]) -> int:
        """What a call did cost; tokens are counted only where the price needs them."""
        ...

    async def charge(self, key: str, amount: int) -> Paid | Owed:
        """Pay for a call, once for its key."""
        ...

    async def complete(self, key: str, amount: int, answer: bytes) -> Paid | Owed:
        """The model answered: keep the answer, and of the charge at most `amount`."""
        ...

    async def void(self, key: str) -> None:
        """The call failed: give the charge back."""
        ...

    async def keep(self, key: str) -> None:
        """The call was cancelled while the model answered: the charge stands."""
        ...

    async def deposit(self, token: str) -> int:
        """Take a token in; what it added. Raises a `CallerError` that says why it is refused."""
        ...

    async def bill(self, needed: int) -> Bill:
        """How to pay so that `needed` is there."""
        ...


class NotDurable(ConfigError):
    """A paid run could be charged twice: its steps are not written down before the next begins."""

    code = "not_durable"
