"""Payments as clients write and read them. Amounts are sats."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class PriceView(BaseModel):
    """What a model call costs."""

    step: int = Field(description="For each model call.")
    per_1k_input: int = Field(description="For a thousand tokens to the model.")
    per_1k_output: int = Field(description="For a thousand tokens of its answer.")
    reserved_output: int = Field(description="Tokens of answer charged before; the rest goes back.")


class TermsView(BaseModel):
    """Whether use is paid for, and how."""

    enabled: bool
    mint: str | None = None
    unit: str | None = None
    topup: int | None = None
    price: PriceView | None = None


class SessionOpen(BaseModel):
    """A new session: the person's public key, where refunds go."""

    model_config = ConfigDict(extra="forbid")
    refund_key: str = Field(min_length=66, max_length=66, description="Compressed, in hex.")


class Deposit(BaseModel):
    """A token, for clients that cannot send it in the header `X-Cashu`."""

    model_config = ConfigDict(extra="forbid")
    token: str | None = Field(default=None, max_length=60_000)


class SessionView(BaseModel):
    """An account of a thread."""

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
    """What a deposit did."""

    credited: int
    is_new: bool
    session: SessionView


class RefundView(BaseModel):
    """What went back; the token is locked to the session's refund key."""

    refund_id: str
    session_id: str
    amount: int
    status: Literal["ready", "delivered", "claimed"]
    token: str


class RefundsView(BaseModel):
    """Everything that went back on a thread, and whether more is to come."""

    is_settled: bool
    refunds: list[RefundView]
