"""Proofs, blinded messages and blind signatures (NUT-00), and how they go over the wire."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from bathysphere.payments.nuts import curve

MAX_AMOUNT = 2**63 - 1
"""What PostgreSQL's bigint holds; a mint's keys go one denomination further."""


class BadWire(ValueError):
    """Something from the wire does not have the shape that the protocol gives it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Dleq:
    """A mint's proof that it signed with its published key; `r` is for whom the proof is given."""

    e: bytes
    s: bytes
    r: bytes | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Proof:
    """E-cash: a secret with a mint's signature."""

    amount: int
    keyset_id: str
    secret: str
    c: bytes
    dleq: Dleq | None = None
    witness: str | None = None

    @property
    def y(self) -> bytes:
        """The name by which a mint knows the proof: it does not tell the secret."""
        return curve.hash_to_curve(self.secret.encode())

    def wire(self) -> dict[str, Any]:
        """As an input of a swap. Never with the DLEQ: its `r` would link the proof to its past."""
        sent = {"amount": self.amount, "id": self.keyset_id, "secret": self.secret}
        sent["C"] = self.c.hex()
        return sent if self.witness is None else {**sent, "witness": self.witness}

    def to_bytes(self) -> bytes:
        """All of it, for our own keeping."""
        kept = self.wire()
        if self.dleq is not None:
            parts = (("e", self.dleq.e), ("s", self.dleq.s), ("r", self.dleq.r))
            kept["dleq"] = {name: part.hex() for name, part in parts if part is not None}
        return json.dumps(kept, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, kept: bytes) -> Self:
        """What `to_bytes` kept."""
        fields = json.loads(kept)
        parts = fields.get("dleq")
        return cls(
            amount=fields["amount"],
            keyset_id=fields["id"],
            secret=fields["secret"],
            c=bytes.fromhex(fields["C"]),
            dleq=parts and Dleq(**{name: bytes.fromhex(part) for name, part in parts.items()}),
            witness=fields.get("witness"),
        )

    def with_witness(self, witness: str) -> "Proof":
        """The proof together with what opens its lock."""
        return replace(self, witness=witness)


@dataclass(frozen=True, kw_only=True, slots=True)
class BlindedMessage:
    """An output that a mint is asked to sign."""

    amount: int
    keyset_id: str
    b: bytes

    def wire(self) -> dict[str, Any]:
        """As an output of a swap."""
        return {"amount": self.amount, "id": self.keyset_id, "B_": self.b.hex()}


@dataclass(frozen=True, kw_only=True, slots=True)
class BlindSignature:
    """A mint's answer to a blinded message."""

    amount: int
    keyset_id: str
    c: bytes
    dleq: Dleq | None

    @classmethod
    def from_wire(cls, sent: Any) -> Self:
        """Read one signature of an answer; anything unexpected is `BadWire`."""
        fields = wire_map(sent)
        dleq = fields.get("dleq")
        return cls(
            amount=wire_amount(fields.get("amount")),
            keyset_id=wire_text(fields.get("id")),
            c=wire_point(fields.get("C_")),
            dleq=None if dleq is None else _dleq(wire_map(dleq)),
        )


def _dleq(fields: Mapping[str, Any]) -> Dleq:
    return Dleq(e=wire_scalar(fields.get("e")), s=wire_scalar(fields.get("s")))


# ── reading JSON that a stranger wrote ──


def wire_map(value: Any) -> Mapping[str, Any]:
    """A JSON object."""
    if not isinstance(value, dict):
        raise _bad("an object", value)
    return value


def wire_list(value: Any) -> list[Any]:
    """A JSON array."""
    if not isinstance(value, list):
        raise _bad("a list", value)
    return value


def wire_text(value: Any) -> str:
    """A JSON string."""
    if not isinstance(value, str):
        raise _bad("a text", value)
    return value


def wire_number(value: Any) -> int:
    """A JSON integer from 0 on; `true` is none."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _bad("a number", value)
    return value


def wire_amount(value: Any) -> int:
    """An amount that a proof may have."""
    amount = wire_number(value)
    if not 1 <= amount <= MAX_AMOUNT:
        raise _bad("an amount", value)
    return amount


def wire_point(value: Any) -> bytes:
    """A point on the curve, in lower or upper hex."""
    try:
        return curve.point(bytes.fromhex(wire_text(value)))
    except ValueError as error:
        raise _bad("a point", value) from error


def wire_scalar(value: Any) -> bytes:
    """32 bytes in hex."""
    try:
        data = bytes.fromhex(wire_text(value))
    except ValueError as error:
        raise _bad("a scalar", value) from error
    if len(data) != 32:
        raise _bad("a scalar", value)
    return data


def _bad(expected: str, value: object) -> BadWire:
    return BadWire(f"expected {expected}, got {type(value).__name__}")
