"""Prices: so much a model call, so much a thousand tokens. Amounts are whole units of the mint."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """What a model call costs.

    Before the call the most it may cost is charged: its own tokens as they are counted, and
    `reserved_output` tokens of answer. After it, what it did cost stays and the rest is given back.
    """

    step: int = 1
    per_1k_input: int = 0
    per_1k_output: int = 0
    reserved_output: int = 4096

    def __post_init__(self) -> None:
        for name in self.__slots__:
            if getattr(self, name) < 0:
                raise ValueError(f"price.{name} must not be negative, got {getattr(self, name)}")
        if not (self.step or self.per_1k_input or self.per_1k_output):
            raise ValueError("a price of nothing: turn payments off instead")

    @property
    def counts_tokens(self) -> bool:
        """Whether tokens matter at all."""
        return bool(self.per_1k_input or self.per_1k_output)

    def quote(self, tokens_in: Callable[[], int]) -> int:
        """The most that a call can cost."""
        return self.cost(tokens_in, lambda: self.reserved_output)

    def cost(self, tokens_in: Callable[[], int], tokens_out: Callable[[], int]) -> int:
        """What a call costs, rounded up once; never nothing."""
        if not self.counts_tokens:
            return self.step
        thousandths = self.per_1k_input * tokens_in() + self.per_1k_output * tokens_out()
        return max(1, self.step + -(-thousandths // 1000))
