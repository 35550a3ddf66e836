"""Tokens (NUT-00): proofs as a string that can be passed on, versions 3 and 4.

Decoding is strict: unknown fields, invalid numbers and bytes of the wrong length raise `BadToken`.
The mint URL in a token is only data; nothing connects to it.
"""

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Any

from bathysphere.payments.nuts import cbor
from bathysphere.payments.nuts.proofs import (
    BadWire,
    Dleq,
    Proof,
    wire_amount,
    wire_list,
    wire_map,
    wire_text,
)

V3, V4 = "cashuA", "cashuB"
_KEYSET_BYTES = (8, 33)
_V4_FIELDS = {"t", "m", "u", "d"}
_V4_GROUP_FIELDS = {"i", "p"}
_V4_PROOF_FIELDS = {"a", "s", "c", "d", "w"}
_SHORT_BYTES = 8


class BadToken(ValueError):
    """The text is not a valid token of a supported version."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Token:
    """The contents of a token. Keyset ids are as written: in version 4 they may be short."""

    mint: str
    unit: str
    proofs: tuple[Proof, ...]
    memo: str | None = None

    @property
    def amount(self) -> int:
        """The sum of the proofs."""
        return sum(proof.amount for proof in self.proofs)


# ── version 4 ──


def encode_v4(token: Token, *, short_ids: bool = True) -> str:
    """Encode the token as `cashuB…`."""
    return V4 + _base64(encode_v4_bytes(token, short_ids=short_ids))


def encode_v4_bytes(token: Token, *, short_ids: bool = True) -> bytes:
    """Encode the CBOR body of a version 4 token."""
    groups: dict[str, list[cbor.Value]] = {}
    for proof in token.proofs:
        groups.setdefault(proof.keyset_id, []).append(_proof_v4(proof))
    body: dict[str, cbor.Value] = {
        "t": [
            {"i": bytes.fromhex(keyset_id)[: _SHORT_BYTES if short_ids else None], "p": proofs}
            for keyset_id, proofs in groups.items()
        ]
    }
    if token.memo is not None:
        body["d"] = token.memo
    return cbor.encode({**body, "m": token.mint, "u": token.unit})


def _proof_v4(proof: Proof) -> cbor.Value:
    fields: dict[str, cbor.Value] = {"a": proof.amount, "s": proof.secret, "c": proof.c}
    if proof.dleq is not None and proof.dleq.r is not None:
        fields["d"] = {"e": proof.dleq.e, "s": proof.dleq.s, "r": proof.dleq.r}
    if proof.witness is not None:
        fields["w"] = proof.witness
    return fields


def decode_v4(text: str) -> Token:
    """Decode `cashuB…`."""
    try:
        body = _fields(cbor.decode(_unbase64(text, V4)), _V4_FIELDS)
        groups = [_read_group_v4(group) for group in wire_list(body.get("t"))]
        memo = body.get("d")
        return Token(
            mint=wire_text(body.get("m")),
            unit=wire_text(body.get("u")),
            proofs=tuple(proof for group in groups for proof in group),
            memo=None if memo is None else wire_text(memo),
        )
    except (BadWire, cbor.BadCbor) as error:
        raise BadToken(str(error)) from error


def _read_group_v4(written: Any) -> list[Proof]:
    fields = _fields(written, _V4_GROUP_FIELDS)
    keyset_id = _keyset_id(fields.get("i"))
    return [_read_proof_v4(proof, keyset_id) for proof in wire_list(fields.get("p"))]


def _read_proof_v4(written: Any, keyset_id: str) -> Proof:
    fields = _fields(written, _V4_PROOF_FIELDS)
    dleq, witness = fields.get("d"), fields.get("w")
    return Proof(
        amount=wire_amount(fields.get("a")),
        keyset_id=keyset_id,
        secret=wire_text(fields.get("s")),
        c=_bytes(fields.get("c"), 33),
        dleq=None if dleq is None else _read_dleq_v4(dleq),
        witness=None if witness is None else wire_text(witness),
    )


def _read_dleq_v4(written: Any) -> Dleq:
    fields = _fields(written, {"e", "s", "r"})
    return Dleq(**{name: _bytes(fields.get(name), 32) for name in ("e", "s", "r")})


def _keyset_id(value: Any) -> str:
    if not isinstance(value, bytes) or len(value) not in _KEYSET_BYTES:
        message = "Keyset id must have 8 or 33 bytes"
        raise BadWire(message)
    return value.hex()


def _bytes(value: Any, size: int) -> bytes:
    if not isinstance(value, bytes) or len(value) != size:
        message = f"Expected {size} bytes"
        raise BadWire(message)
    return value


def _fields(value: Any, known: set[str]) -> dict[str, Any]:
    fields = dict(wire_map(value))
    if not fields.keys() <= known:
        message = f"Unknown fields: {', '.join(sorted(fields.keys() - known))}"
        raise BadWire(message)
    return fields


# ── version 3: deprecated, and never accepted as payment ──


def encode_v3(token: Token) -> str:
    """Encode the token as `cashuA…`, with one mint."""
    proofs = [
        {"amount": p.amount, "id": p.keyset_id, "secret": p.secret, "C": p.c.hex()}
        for p in token.proofs
    ]
    body = {"token": [{"mint": token.mint, "proofs": proofs}], "unit": token.unit}
    if token.memo is not None:
        body["memo"] = token.memo
    return V3 + _base64(json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode())


def decode_v3(text: str) -> Token:
    """Decode `cashuA…` with one mint."""
    try:
        body = wire_map(json.loads(_unbase64(text, V3)))
        [entry] = wire_list(body.get("token"))
        memo = body.get("memo")
        return Token(
            mint=wire_text(wire_map(entry).get("mint")),
            unit=wire_text(body.get("unit", "sat")),
            proofs=tuple(map(_read_proof_v3, wire_list(wire_map(entry).get("proofs")))),
            memo=None if memo is None else wire_text(memo),
        )
    except (ValueError, RecursionError) as error:
        raise BadToken(str(error)) from error


def _read_proof_v3(written: Any) -> Proof:
    fields = wire_map(written)
    return Proof(
        amount=wire_amount(fields.get("amount")),
        keyset_id=wire_text(fields.get("id")),
        secret=wire_text(fields.get("secret")),
        c=bytes.fromhex(wire_text(fields.get("C"))),
    )


# ── base64url, with or without padding ──


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _unbase64(text: str, prefix: str) -> bytes:
    if not text.startswith(prefix):
        message = f"Token must start with {prefix}"
        raise BadToken(message)
    body = text[len(prefix) :]
    bare = body.rstrip("=")
    if len(body) not in (len(bare), len(bare) + -len(bare) % 4):
        message = "Incorrect padding"
        raise BadToken(message)
    try:
        data = base64.b64decode(bare + "=" * (-len(bare) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        message = "Invalid base64url"
        raise BadToken(message) from error
    if _base64(data) != bare:
        message = "Invalid base64url"
        raise BadToken(message)
    return data
