"""Proofs, blinded messages and blind signatures (NUT-00), and their wire format."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from bathysphere.payments.nuts import curve

MAX_AMOUNT = 2**63 - 1
"""The maximum of PostgreSQL's bigint; a mint's keys go one denomination further."""


class BadWire(ValueError):
    """Received data does not have the format that the protocol requires."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Dleq:
    """A mint's proof that it signed with its published key; `r` lets a recipient verify it."""

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
        """The mint's identifier of the proof, which does not reveal the secret."""
        return curve.hash_to_curve(self.secret.encode())

    def wire(self) -> dict[str, Any]:
        """Serialize as a swap input. Never with the DLEQ: its `r` would link it to its issuance."""
        fields = {"amount": self.amount, "id": self.keyset_id, "secret": self.secret}
        fields["C"] = self.c.hex()
        return fields if self.witness is None else {**fields, "witness": self.witness}

    def to_bytes(self) -> bytes:
        """Serialize the whole proof for storage."""
        fields = self.wire()
        if self.dleq is not None:
            parts = (("e", self.dleq.e), ("s", self.dleq.s), ("r", self.dleq.r))
            fields["dleq"] = {name: part.hex() for name, part in parts if part is not None}
        return json.dumps(fields, separators=(",", ":")).encode()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Parse the output of `to_bytes`."""
        fields = json.loads(data)
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
        """Return a copy with the witness that unlocks it."""
        return replace(self, witness=witness)


@dataclass(frozen=True, kw_only=True, slots=True)
class BlindedMessage:
    """An output for the mint to sign."""

    amount: int
    keyset_id: str
    b: bytes

    def wire(self) -> dict[str, Any]:
        """Serialize as a swap output."""
        return {"amount": self.amount, "id": self.keyset_id, "B_": self.b.hex()}


@dataclass(frozen=True, kw_only=True, slots=True)
class BlindSignature:
    """A mint's signature on a blinded message."""

    amount: int
    keyset_id: str
    c: bytes
    dleq: Dleq | None

    @classmethod
    def from_wire(cls, value: Any) -> Self:
        """Parse one signature of a response; raises `BadWire` for anything unexpected."""
        fields = wire_map(value)
        dleq = fields.get("dleq")
        return cls(
            amount=wire_amount(fields.get("amount")),
            keyset_id=wire_text(fields.get("id")),
            c=wire_point(fields.get("C_")),
            dleq=None if dleq is None else _dleq(wire_map(dleq)),
        )


def _dleq(fields: Mapping[str, Any]) -> Dleq:
    return Dleq(e=wire_scalar(fields.get("e")), s=wire_scalar(fields.get("s")))


# ── parsing untrusted JSON ──


def wire_map(value: Any) -> Mapping[str, Any]:
    """Check that a value is a JSON object."""
    if not isinstance(value, dict):
        raise _bad("an object", value)
    return value


def wire_list(value: Any) -> list[Any]:
    """Check that a value is a JSON array."""
    if not isinstance(value, list):
        raise _bad("a list", value)
    return value


def wire_text(value: Any) -> str:
    """Check that a value is a JSON string."""
    if not isinstance(value, str):
        raise _bad("a string", value)
    return value


def wire_number(value: Any) -> int:
    """Check that a value is a non-negative JSON integer, and not a boolean."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _bad("a non-negative integer", value)
    return value


def wire_amount(value: Any) -> int:
    """Check that a value is a valid amount of a proof."""
    amount = wire_number(value)
    if not 1 <= amount <= MAX_AMOUNT:
        raise _bad("an amount", value)
    return amount


def wire_point(value: Any) -> bytes:
    """Parse a point on the curve, in lower- or upper-case hex."""
    try:
        return curve.point(bytes.fromhex(wire_text(value)))
    except ValueError as error:
        raise _bad("a point", value) from error


def wire_scalar(value: Any) -> bytes:
    """Parse 32 bytes in hex."""
    try:
        data = bytes.fromhex(wire_text(value))
    except ValueError as error:
        raise _bad("a scalar", value) from error
    if len(data) != 32:
        raise _bad("a scalar", value)
    return data


def _bad(expected: str, value: object) -> BadWire:
    return BadWire(f"Expected {expected}, got {type(value).__name__}")
