"""Schemas of payment requests and responses. Amounts are in sats."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class PriceView(BaseModel):
    """Prices of a model call."""

    step: int = Field(description="Price per model call.")
    per_1k_input: int = Field(description="Price per 1,000 input tokens.")
    per_1k_output: int = Field(description="Price per 1,000 output tokens.")
    reserved_output: int = Field(
        description="Output tokens charged in advance; unused ones are refunded."
    )


class RateView(BaseModel):
    """Approximate value of a sat, as the operator gives it."""

    per_sat: float = Field(description="Value of one sat.")
    currency: str = Field(description="Currency code (ISO 4217).")


class TermsView(BaseModel):
    """Whether payments are enabled, and their terms."""

    enabled: bool
    mint: str | None = None
    unit: str | None = None
    topup: int | None = None
    price: PriceView | None = None
    rate: RateView | None = None


class SessionOpen(BaseModel):
    """A new session, with the public key to which refunds are locked."""

    model_config = ConfigDict(extra="forbid")
    refund_key: str = Field(
        min_length=66, max_length=66, description="Compressed public key, in hex."
    )


class Deposit(BaseModel):
    """A token, for clients that cannot send the `X-Cashu` header."""

    model_config = ConfigDict(extra="forbid")
    token: str | None = Field(default=None, max_length=60_000)


class SessionView(BaseModel):
    """A payment session of a thread."""

    session_id: str
    thread_id: str
    epoch: int
    status: Literal["open", "closing", "closed"]
    mint: str
    unit: str
    session_key: str
    refund_key: str
    credited: int
    spent: int
    refunded: int
    balance: int
    expires_at: str | None
    request: str | None = Field(default=None, description="A NUT-18 payment request.")


class DepositView(BaseModel):
    """Result of a deposit."""

    credited: int
    is_new: bool
    session: SessionView


class RefundView(BaseModel):
    """A refund; the token is locked to the session's refund key."""

    refund_id: str
    session_id: str
    amount: int
    status: Literal["ready", "delivered", "claimed"]
    token: str


class RefundsView(BaseModel):
    """All refunds of a thread, and whether they are complete."""

    is_settled: bool
    refunds: list[RefundView]
