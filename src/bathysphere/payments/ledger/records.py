"""The ledger's nouns, and what the code that knows tokens and mints hands in and is given."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, Self

from psycopg import AsyncConnection
from psycopg.rows import DictRow
from psycopg_pool import AsyncConnectionPool

Connection = AsyncConnection[DictRow]
Pool = AsyncConnectionPool[Connection]

SessionStatus = Literal["open", "closing", "closed"]
RefundStatus = Literal["ready", "delivered", "claimed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Payer:
    """Whose money it is: the identity that the server found, never one that a client named."""

    tenant: str
    user: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """An account of one thread, from its opening to its last refund."""

    session_id: str
    thread_id: str
    epoch: int
    payer: Payer
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
        """From a row of `payments.sessions`."""
        return cls(
            payer=Payer(tenant=row["tenant"], user=row["owner"]),
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


@dataclass(frozen=True, kw_only=True, slots=True)
class NewSession:
    """What a session is opened with; the pubkeys are compressed points in hex."""

    session_id: str
    thread_id: str
    payer: Payer
    mint_url: str
    unit: str
    session_pubkey: str
    refund_pubkey: str


@dataclass(frozen=True, slots=True)
class Proof:
    """A proof as the ledger keeps it: its name at the mint, its worth, and the rest as bytes."""

    y: str
    amount: int
    data: bytes


@dataclass(frozen=True, kw_only=True, slots=True)
class Checked:
    """A token that was found good for a session: `face = fee + credited`."""

    face: int
    fee: int
    locktime: datetime
    proofs: tuple[Proof, ...]

    @property
    def credited(self) -> int:
        """What can be spent of it."""
        return self.face - self.fee


@dataclass(frozen=True, slots=True)
class Deposited:
    """What a deposit did; `credited` is 0 when the token was already in this session."""

    credited: int
    is_new: bool
    session: Session


@dataclass(frozen=True, kw_only=True, slots=True)
class ToSettle:
    """A deposit whose session is frozen: what it is worth, and to whom."""

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
    """A swap that may be posted: its body, and what is needed to read the answer."""

    body: bytes
    outputs: bytes


Prepare = Callable[[ToSettle], Prepared]
"""Makes a swap of a deposit; called inside the transaction that writes it down, so no network."""


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
    """A refund as it is handed out."""

    token: str
    ys: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Refund:
    """What goes back to a person, locked to their key."""

    refund_id: str
    session_id: str
    amount: int
    token: str
    ys: tuple[str, ...]
    status: RefundStatus

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> Self:
        """From a row of `payments.refunds`."""
        names = ("refund_id", "session_id", "amount", "token", "status")
        return cls(ys=tuple(row["ys"]), **{name: row[name] for name in names})
