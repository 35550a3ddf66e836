"""Data types of the ledger, shared with the code that handles tokens and mints."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Self

from psycopg import AsyncConnection
from psycopg.rows import DictRow
from psycopg_pool import AsyncConnectionPool

from bathysphere.core.identity import Owner

Connection = AsyncConnection[DictRow]
Pool = AsyncConnectionPool[Connection]

SessionStatus = Literal["open", "closing", "closed"]
RefundStatus = Literal["ready", "delivered", "claimed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """A payment account of one thread, from opening to the last refund."""

    session_id: str
    thread_id: str
    epoch: int
    payer: Owner
    mint_url: str
    unit: str
    session_pubkey: str
    refund_pubkey: str
    status: SessionStatus
    credited: int
    spent: int
    refunded: int
    balance: int
    expires_at: datetime | None
    is_frozen: bool

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Build from a row of `payments.sessions`."""
        return cls(
            payer=Owner(tenant=row["tenant"], user=row["owner"]),
            is_frozen=row["frozen_at"] is not None,
            **{name: row[name] for name in _SESSION},
        )


_SESSION = (
    "session_id",
    "thread_id",
    "epoch",
    "mint_url",
    "unit",
    "session_pubkey",
    "refund_pubkey",
    "status",
    "credited",
    "spent",
    "refunded",
    "balance",
    "expires_at",
)
SESSION_COLUMNS = ", ".join(("tenant", "owner", "frozen_at", *_SESSION))


@dataclass(frozen=True, kw_only=True, slots=True)
class NewSession:
    """Parameters of a new session; the public keys are compressed points in hex."""

    session_id: str
    thread_id: str
    payer: Owner
    mint_url: str
    unit: str
    session_pubkey: str
    refund_pubkey: str


@dataclass(frozen=True, slots=True)
class Proof:
    """A stored proof: its `Y` at the mint, its amount, and the serialized proof."""

    y: str
    amount: int
    data: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Checked:
    """A token accepted for a session: `face = fee + credited`."""

    face: int
    fee: int
    locktime: datetime
    proofs: tuple[Proof, ...]

    @property
    def credited(self) -> int:
        """The spendable amount."""
        return self.face - self.fee


@dataclass(frozen=True, slots=True)
class Deposited:
    """The result of a deposit; `credited` is 0 if the token was already in this session."""

    credited: int
    is_new: bool
    session: Session


@dataclass(frozen=True, kw_only=True, slots=True)
class ToSettle:
    """A deposit of a frozen session, divided into earnings, refund and fee."""

    swap_id: str
    attempt: int
    session_id: str
    deposit_id: str
    refund_pubkey: str
    earn: int
    refund: int
    fee: int
    proofs: tuple[Proof, ...]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A swap ready to post: its body, and the outputs needed to read the response."""

    body: bytes
    outputs: bytes


Prepare = Callable[[ToSettle], Prepared]
"""Prepares the swap of a deposit; called inside a transaction, so it must not use the network."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Swap:
    """A swap under lease, with its secrets."""

    swap_id: str
    attempt: int
    status: Literal["prepared", "stuck"]
    session_id: str
    deposit_id: str
    refund_pubkey: str
    body: bytes
    outputs: bytes
    earn: int
    refund: int
    fee: int
    tries: int
    locktime: datetime
    pending_at: datetime | None
    lease: str


@dataclass(frozen=True, slots=True)
class RefundToken:
    """A refund as a token, with the `Y` of its proofs."""

    token: str
    ys: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Refund:
    """A refund, locked to the payer's key."""

    refund_id: str
    session_id: str
    amount: int
    token: str
    ys: tuple[str, ...]
    status: RefundStatus

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """Build from a row of `payments.refunds`."""
        return cls(ys=tuple(row["ys"]), **{name: row[name] for name in _REFUND})


_REFUND = ("refund_id", "session_id", "amount", "token", "status")
REFUND_COLUMNS = ", ".join(("ys", *_REFUND))
