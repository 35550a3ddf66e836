"""Keysets (NUT-01, NUT-02): a mint's keys by amount, with their id and fee.

A version 2 id commits to the keys, unit, fee and expiry: none of them can change under a known id.
A version 1 id commits to the keys only.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from bathysphere.payments.nuts.proofs import (
    BadWire,
    wire_map,
    wire_number,
    wire_point,
    wire_text,
)

_SHORT = 16
_LENGTHS = {"00": 16, "01": 66}


@dataclass(frozen=True, kw_only=True, slots=True)
class Keyset:
    """A set of keys of a mint, one per denomination."""

    id: str
    unit: str
    active: bool
    input_fee_ppk: int
    keys: Mapping[int, bytes]
    final_expiry: int | None = None

    def computed_id(self) -> str:
        """Compute the id from the contents; a mint that reports a different one is not trusted."""
        if self.id.startswith("00"):
            return keyset_id_v1(self.keys)
        return keyset_id_v2(
            self.keys, self.unit, input_fee_ppk=self.input_fee_ppk, final_expiry=self.final_expiry
        )

    @property
    def short_id(self) -> str:
        """The 8-byte id used in tokens."""
        return self.id[:_SHORT]

    def split(self, amount: int) -> list[int]:
        """Split an amount into the fewest denominations of this keyset, ascending."""
        rest, parts = amount, []
        for value in sorted(self.keys, reverse=True):
            count, rest = divmod(rest, value)
            parts += [value] * count
        if rest or amount < 0:
            message = f"Cannot make {amount} from this keyset's denominations"
            raise ValueError(message)
        return parts[::-1]


def keyset_id_v1(keys: Mapping[int, bytes]) -> str:
    """Compute a version 1 id: `00` and the first 7 bytes of the hash of the keys."""
    return "00" + hashlib.sha256(b"".join(keys[a] for a in sorted(keys))).hexdigest()[:14]


def keyset_id_v2(
    keys: Mapping[int, bytes], unit: str, *, input_fee_ppk: int, final_expiry: int | None
) -> str:
    """Compute a version 2 id: `01` and the hash of keys, unit, fee (unless 0) and expiry."""
    text = ",".join(f"{amount}:{keys[amount].hex()}" for amount in sorted(keys))
    text += f"|unit:{unit.lower()}"
    if input_fee_ppk:
        text += f"|input_fee_ppk:{input_fee_ppk}"
    if final_expiry is not None:
        text += f"|final_expiry:{final_expiry}"
    return "01" + hashlib.sha256(text.encode()).hexdigest()


def keys_from_wire(value: Any) -> dict[int, bytes]:
    """Parse `{"1": "02…", …}`: amounts as decimal strings, keys as compressed points."""
    keys = {}
    for amount, key in wire_map(value).items():
        text = wire_text(key)
        if not (amount.isascii() and amount.isdecimal() and str(int(amount)) == amount != "0"):
            message = f"Invalid amount in keyset: {amount[:20]!r}"
            raise BadWire(message)
        keys[int(amount)] = wire_point(text)
    if not keys:
        message = "Keyset has no keys"
        raise BadWire(message)
    return keys


def keyset_from_wire(listed: Any, keys: Any) -> Keyset:
    """Combine a mint's two responses about a keyset and verify it against its id."""
    fields = wire_map(listed)
    expiry = fields.get("final_expiry")
    keyset = Keyset(
        id=wire_text(fields.get("id")).lower(),
        unit=wire_text(fields.get("unit")),
        active=fields.get("active") is True,
        input_fee_ppk=wire_number(fields.get("input_fee_ppk") or 0),
        keys=keys_from_wire(keys),
        final_expiry=None if expiry is None else wire_number(expiry),
    )
    if _LENGTHS.get(keyset.id[:2]) != len(keyset.id) or keyset.computed_id() != keyset.id:
        message = "Keyset id does not match its contents"
        raise BadWire(message)
    return keyset


class Keysets:
    """All keysets of one mint."""

    def __init__(self, keysets: Iterable[Keyset]) -> None:
        self._by_id = {keyset.id: keyset for keyset in keysets}

    def __iter__(self) -> Iterator[Keyset]:
        return iter(self._by_id.values())

    def __len__(self) -> int:
        return len(self._by_id)

    def get(self, keyset_id: str) -> Keyset | None:
        """Return the keyset with a full id, or with an unambiguous short id."""
        if keyset_id in self._by_id or len(keyset_id) != _SHORT:
            return self._by_id.get(keyset_id)
        found = [keyset for keyset in self if keyset.short_id == keyset_id]
        return found[0] if len(found) == 1 else None

    def active(self, unit: str) -> Keyset | None:
        """Return the keyset for new outputs: the active one of the unit with the lowest fee."""
        usable = [keyset for keyset in self if keyset.active and keyset.unit == unit]
        return min(usable, key=lambda keyset: (keyset.input_fee_ppk, keyset.id), default=None)


def input_fee(keysets: Iterable[Keyset]) -> int:
    """Compute the mint's fee for a swap, given the keyset of each input."""
    return (sum(keyset.input_fee_ppk for keyset in keysets) + 999) // 1000
