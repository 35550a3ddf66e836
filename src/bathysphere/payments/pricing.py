"""Prices per model call and per thousand tokens. Amounts are whole units of the mint."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """The price of a model call.

    The maximum cost is charged before the call: its counted input tokens plus `reserved_output`
    tokens of output. After the call the charge is reduced to the actual cost.
    """

    step: int = 1
    per_1k_input: int = 0
    per_1k_output: int = 0
    reserved_output: int = 4096

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if getattr(self, name) < 0:
                raise ValueError(f"price.{name} must not be negative, got {getattr(self, name)}")
        if self.per_1k_output and not self.reserved_output:
            raise ValueError("price.reserved_output must be at least 1 if output has a price")
        if not (self.step or self.per_1k_input or self.per_1k_output):
            raise ValueError("Price must be greater than zero: to charge nothing, disable payments")

    @property
    def counts_tokens(self) -> bool:
        """Whether the price depends on tokens."""
        return bool(self.per_1k_input or self.per_1k_output)

    @property
    def max_output(self) -> int | None:
        """The maximum number of output tokens that a charge covers; None if output is free."""
        return self.reserved_output if self.per_1k_output else None

    def quote(self, tokens_in: Callable[[], int]) -> int:
        """Return the maximum cost of a call."""
        return self.cost(tokens_in, lambda: self.reserved_output)

    def cost(self, tokens_in: Callable[[], int], tokens_out: Callable[[], int]) -> int:
        """Return the cost of a call, rounded up once; at least 1."""
        if not self.counts_tokens:
            return self.step
        thousandths = self.per_1k_input * tokens_in() + self.per_1k_output * tokens_out()
        return max(1, self.step + -(-thousandths // 1000))
