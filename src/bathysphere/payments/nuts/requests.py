"""Payment requests (NUT-18): amount, mint and required lock, encoded as `creqA…`."""

import base64
import binascii
from dataclasses import dataclass
from typing import Any

from bathysphere.payments.nuts import cbor
from bathysphere.payments.nuts.proofs import BadWire, wire_list, wire_map, wire_number, wire_text

PREFIX = "creqA"


class BadRequest(ValueError):
    """The text is not a valid payment request."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LockWanted:
    """The lock that the payment must have (`nut10`)."""

    key: str
    tags: tuple[tuple[str, ...], ...] = ()
    kind: str = "P2PK"

    def tag(self, name: str) -> tuple[str, ...] | None:
        """Return the values of a tag, or None."""
        return next((tag[1:] for tag in self.tags if tag[0] == name), None)


@dataclass(frozen=True, kw_only=True, slots=True)
class PaymentRequest:
    """A request without a transport: the payment is returned over the same channel."""

    id: str
    unit: str
    mints: tuple[str, ...]
    amount: int | None = None
    single_use: bool | None = None
    description: str | None = None
    lock: LockWanted | None = None

    def encode(self) -> str:
        """Encode the request as `creqA…`."""
        return PREFIX + base64.urlsafe_b64encode(cbor.encode(self._body())).decode().rstrip("=")

    def _body(self) -> cbor.Value:
        fields: dict[str, cbor.Value] = {
            "i": self.id,
            "a": self.amount,
            "u": self.unit,
            "s": self.single_use,
            "m": list(self.mints),
            "d": self.description,
            "nut10": self._lock(),
        }
        return {name: value for name, value in fields.items() if value is not None}

    def _lock(self) -> cbor.Value:
        if self.lock is None:
            return None
        tags: list[cbor.Value] = [list(tag) for tag in self.lock.tags]
        return {"k": self.lock.kind, "d": self.lock.key, "t": tags}


def decode_request(text: str) -> PaymentRequest:
    """Decode a request; unused fields (transports, preferences) are ignored."""
    try:
        fields = wire_map(cbor.decode(_unbase64(text), undefined=True))
        lock, amount = fields.get("nut10"), fields.get("a")
        return PaymentRequest(
            id=wire_text(fields.get("i")),
            unit=wire_text(fields.get("u")),
            mints=tuple(map(wire_text, wire_list(fields.get("m")))),
            amount=None if amount is None else wire_number(amount),
            single_use=_flag(fields.get("s")),
            description=_optional_text(fields.get("d")),
            lock=None if lock is None else _read_lock(lock),
        )
    except (BadWire, cbor.BadCbor) as error:
        raise BadRequest(str(error)) from error


def _read_lock(written: Any) -> LockWanted:
    fields = wire_map(written)
    tags = tuple(tuple(map(wire_text, wire_list(tag))) for tag in wire_list(fields.get("t") or []))
    return LockWanted(kind=wire_text(fields.get("k")), key=wire_text(fields.get("d")), tags=tags)


def _flag(value: Any) -> bool | None:
    if value is not None and not isinstance(value, bool):
        message = "Expected true or false"
        raise BadWire(message)
    return value


def _optional_text(value: Any) -> str | None:
    return None if value is None else wire_text(value)


def _unbase64(text: str) -> bytes:
    if not text.startswith(PREFIX):
        message = f"Payment request must start with {PREFIX}"
        raise BadRequest(message)
    # Wallets use both alphabets, with and without padding.
    body = text[len(PREFIX) :].rstrip("=").replace("+", "-").replace("/", "_")
    try:
        return base64.b64decode(body + "=" * (-len(body) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        message = "Invalid base64url"
        raise BadRequest(message) from error
