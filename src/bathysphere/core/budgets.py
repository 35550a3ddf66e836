"""Budgets: what a user or tenant may use per month, and whether the current run may go on.

The engine says who checks; the layer that enforces limits asks before each model call.
"""

from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from decimal import Decimal
from typing import Literal, NamedTuple

TOKENS = "tokens"


class SpentBudget(NamedTuple):
    """A budget that is used up."""

    scope: Literal["user", "tenant"]
    amount: Decimal
    unit: str
    """`tokens`, or a currency."""

    @property
    def sentence(self) -> str:
        """What happened, for a person."""
        return f"The budget of this {self.scope} is used up: {self.amount:,f} {self.unit} per month"


BudgetCheck = Callable[[], Awaitable[SpentBudget | None]]
budget_check: ContextVar[BudgetCheck | None] = ContextVar("bathysphere_budget", default=None)
"""Returns the budget of the current run's owner that is used up."""


async def spent_budget() -> SpentBudget | None:
    """The budget of the current run's owner that is used up, if any."""
    check = budget_check.get()
    return None if check is None else await check()
